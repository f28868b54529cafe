"""What a manifest says that the agent can not run, or runs otherwise, in English."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SENTENCES: Mapping[str, str] = MappingProxyType(
    {
        "record/containers": (
            "the containers of the record ({names}) are not those of a pod: each needs a name of "
            "its own, init containers come first, and at least one app container is there"
        ),
        "record/damaged-line": (
            "the checksum of line {line} is wrong; restore the file, or delete the line: its pods"
            " are then as in earlier lines, and pods without one are ended"
        ),
        "record/not-json": "the record of a pod is no JSON: {problem}",
        "record/unknown-container": (
            "something happened to {name}, but the pod has no such container, or the record names "
            "it twice"
        ),
        "workload/annotations-size": (
            "the annotations have {size_bytes} bytes together; {most_bytes} are allowed"
        ),
        "workload/deadline": (
            "{field} is set, but deadlines are not enforced here; remove it, or end the command "
            "with timeout(1)"
        ),
        "workload/env-from": (
            "{field} is set, and there are no config maps and secrets here; write the variables "
            "under env"
        ),
        "workload/ephemeral-containers": (
            "{field} is set, and such containers are not run here; use a container of its own"
        ),
        "workload/grace-period": (
            "the termination grace period is {value}; 0 to {most} seconds are allowed"
        ),
        "workload/id": "{value} is no id of a user or group; {least} to {most} are allowed",
        "workload/ignored": (
            "ignored, as containers run as programs of the host and on this node only: {names}"
        ),
        "workload/kind": "the {member} is {value}; only {expected!r} can be run",
        "workload/label-name": (
            "{value} is no name of a label or an annotation; letters, digits, '-', '_' and '.' are "
            "allowed, 63 at most, with a letter or digit at both ends, and a domain and '/' before"
        ),
        "workload/label-value": (
            "{value} is no value of a label; letters, digits, '-', '_' and '.' are allowed, 63 at "
            "most, with a letter or digit at both ends"
        ),
        "workload/lifecycle-hooks": (
            "{field} is set, and hooks are not run here: the program would begin or end otherwise "
            "than it expects; let the command do the work of the hook"
        ),
        "workload/mounts": (
            "{field} is set, and nothing is mounted here: the program would find the host's own "
            "files at that path; name the host's path in the command, and drop the mount"
        ),
        "workload/no-command": (
            "the container {container!r} has neither a command nor args; there is no image that "
            "would name a program, so write a command"
        ),
        "workload/nul": "{value} has a NUL character in it, which no program can be given",
        "workload/not-json": (
            "{value} can not be kept: numbers of 64 bits, texts of Unicode characters, lists and "
            "objects can"
        ),
        "workload/probe": (
            "{name} is not run: the container counts as started and ready as soon as it runs, and "
            "is started again only when it ends"
        ),
        "workload/protection": (
            "not enforced, as the program runs on the host without a container around it: {names}"
        ),
        "workload/relative-path": "the working directory {value} does not begin with '/'",
        "workload/resource-claims": (
            "{field} is set, and claims are not allotted here; ask for a device by its resource "
            "name under limits"
        ),
        "workload/restart-policy": ("{value} is no restart policy; these are: {allowed}"),
        "workload/restart-rules": (
            "{field} is set for this container, and only the pod's restartPolicy is followed here"
        ),
        "workload/root": (
            "runAsNonRoot is true, but the container would run with {user}; set runAsUser to "
            "another id than 0"
        ),
        "workload/scheduling-gates": (
            "{field} is set, so the pod should not run yet, and nothing here removes the gates"
        ),
        "workload/system": "the pod is for {value}; only linux programs can be run",
        "workload/uid": (
            "{value} is no uid that can be part of a file's name; letters, digits, '-' and single "
            "'.' are allowed, {most} of them at most, with a letter or digit at both ends"
        ),
        "workload/value-from": (
            "the variable {name} takes its value from {source}, which does not exist here; write "
            "the value"
        ),
        "workload/variable-name": (
            "{value} is no name of a variable; letters, digits, '_', '-' and '.' are allowed, and "
            "no digit at the beginning"
        ),
    }
)
