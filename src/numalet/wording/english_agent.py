"""Sentences about the agent: its start, its books, its surroundings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "agent/root-unusable": "the root folder can not be used: {error}",
    "agent/root-not-ours": (
        "the root folder belongs to user {owner} and has mode {mode}; it must belong to user"
        " {user}, and nobody else may write in it: chown and chmod 0700 it, or name another --root"
    ),
    "agent/others-files": (
        "in {path} are files of other users ({others}); remove them, or name another --root"
    ),
    "agent/root-in-use": (
        "{path} has never been a root folder of an agent, and other things are in it ({others});"
        " name a new folder, or an empty one"
    ),
    "agent/books-held": (
        "process {holder} holds the books; one agent alone, or commands of 'numalet run' alone,"
        " can work with a root folder"
    ),
    "agent/start-refused": "the node does not start with this configuration: {text}",
    "agent/state-invalid": (
        "{text}\nWhat became different follows. To keep what still fits, run"
        " 'numalet state rebase --write {root}' with the agent's configuration, or start the"
        " agent with --on-invalid-state=rebase"
    ),
    "agent/record-lost": ("container {container} of pod {uid} lost what {file} promised it: {why}"),
    "agent/books-lost-hold": (
        "{pod} runs, but what its containers were promised is not in the books ({containers});"
        " that can not come from a crash, so somebody changed the state files. Restore them, or"
        " end the pod, or start with --on-invalid-state=rebase to have it placed anew"
    ),
    "agent/described-machine": (
        "programs can not be pinned on a machine that is only described ({machine}, {nodes} NUMA"
        " nodes); take --runtime fake to try it, or leave out -m"
    ),
    "agent/kubelet-pins": (
        "{owner} pins CPUs or memory itself, and two owners undo each other's work; stop it, or"
        " set its cpuManagerPolicy and memoryManagerPolicy to none, or only look on with"
        " --ownership observe"
    ),
    "agent/other-owner": "another owner of CPUs or memory is at work: {owner}; observing only",
    "agent/books-unwritable": "the books can not be written, so nothing is decided",
    "agent/journal-unwritable": "the journal can not be written",
    "agent/drift-not-mended": (
        "the kernel does not hold every cgroup to what was promised; the events of the pods say"
        " which setting, and every look tries again"
    ),
    "agent/pods-unpromised": (
        "pods go on running although what they were promised does not fit the machine any more;"
        " 'numalet ps' marks them"
    ),
    "agent/connections-refused": (
        "new connections have to wait: {error}; {limit} files may be open at once (ulimit -n,"
        " LimitNOFILE of a unit)"
    ),
    "agent/runtime-failed": "the runtime failed and is tried again",
    "agent/kubelet-config-unknown": (
        "the configuration of the kubelet in {root} is not known, so whether it would start with"
        " its state files is not told; name it with -c"
    ),
    "kubelet/would-not-start": (
        "a kubelet v1.32 with the configuration {config} would not start with these state files:"
        " {text}"
    ),
    "kubelet/cpus-differ": "the kubelet promised CPUs {promised}, and CPUs {found} are in force",
    "kubelet/memory-nodes-differ": (
        "the kubelet promised memory of NUMA nodes {promised}, and NUMA nodes {found} are in force"
    ),
    "kubelet/memory-misplaced": (
        "{bytes} bytes of its memory are on other NUMA nodes than {promised}, which the kubelet"
        " promised"
    ),
    "kubelet/state-changed": "the kubelet wrote {files}",
    "kubelet/state-removed": "state files of the kubelet were removed: {files}",
    "kubelet/started": "a kubelet started in {root}: {kubelet}",
    "kubelet/not-running": "no kubelet runs in {root}, though its state files are there",
    "kubelet/keeps-restarting": (
        "the kubelet in {root} was started again and again in the last {minutes} minutes"
    ),
    "agent/other-root": (
        "other programs run under the books of this folder; they do not know those in {root}, so"
        " both may get the same CPUs and the same memory"
    ),
    "agent/other-users-books": (
        "process {pid} of user {user} pins under the books in {other}, which do not know those in"
        " {root}: until it ends the same CPUs and memory may be given out twice"
    ),
    "agent/other-books": (
        "process {pid} of user {user} pins under the books in {other}, which do not know those in"
        " {root}, so both would give out the same CPUs and memory; end it first"
    ),
    "agent/manifests-missing": (
        "the manifest folder does not exist; the agent waits for it, as a kubelet does"
    ),
    "manifests/bug": (
        "reading the file came upon a bug ({problem}); other files are not concerned, and the log"
        " of the agent says more"
    ),
    "manifests/first-alone": (
        "a file is one pod: the first document is taken, and {others} after it are not looked at"
    ),
    "runtime/failed": "the runtime failed: {error}",
}
