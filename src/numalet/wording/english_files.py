"""Sentences about files and folders of the command line."""

from __future__ import annotations

from collections.abc import Mapping

SENTENCES: Mapping[str, str] = {
    "files/no-such-directory": (
        "there is no directory {path!r}; create it first, or name one with state files"
    ),
    "files/no-such-path": (
        "there is no file or directory {path!r}; name a kubelet's root directory, a copy of its"
        " state files, or one such file"
    ),
    "files/unwritable": "{path!r} can not be written: {error}; nothing was changed",
    "files/unfinished": (
        "{path!r} can not be given back its former content: {error}; files that belong together are"
        " of different moments until the next start finishes the write"
    ),
    "files/foreign-intent": (
        "{path!r} says which files were being written, and was not written by numalet as this user;"
        " see whose it is, and remove it"
    ),
    "files/others-own": (
        "{path!r} belongs to user {owner}, who could change what root runs or writes there; make"
        " root its owner (chown root), or name a place that is root's all the way down"
    ),
    "files/others-write": (
        "{path!r} has mode {mode}, so other users could change what root runs or writes there;"
        " remove that right (chmod go-w), or use a path on which root owns every folder"
    ),
    "files/extra-missing": (
        "this command needs the package {module!r}, which is not installed;"
        " install numalet with what the agent needs: pip install 'numalet[agent]'"
    ),
    "cli/usage": "{problem}",
    "files/output-unwritable": "the output can not be written: {error}",
    "files/record-name": (
        "--record {path!r}: the name of a file of recorded scenarios must end with .jsonl"
    ),
    "files/no-regular-file": "{path!r} is no regular file, so it can not be read as a state file",
    "files/not-a-file": (
        "{path!r} is no regular file, so it can not be replaced as a whole; name a file"
    ),
    "files/unknown-uid": (
        "--forget {uid!r}: no pod with this uid is in the state files; known are {known}"
    ),
    "files/recording-needs-manifests": (
        "--record can not record a simulation that begins with state files which hold"
        " assignments of pods ({pods}); begin without --state-dir, or with an empty one"
    ),
    "files/scenario-and-pieces": (
        "{option} does not go together with the scenario file {path!r}, which has its own machine,"
        " configuration and pods; leave one of them out"
    ),
    "files/no-config-file": (
        "{option} {value!r} conflicts with --no-config-file, which describes a kubelet"
        " without any configuration file; leave one of them out"
    ),
    "files/several-scenarios": (
        "{path!r} holds {count} documents, some of them scenarios; simulate accepts exactly one"
        " scenario (use replay for many)"
    ),
    "files/no-pods": "no pod manifests were given; name at least one file with pods",
}
