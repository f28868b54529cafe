"""Sentences about the agent: its start, its node state, the machine around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

SENTENCES: Final[Mapping[str, str]] = {
    "agent/root-unusable": "the root folder can not be used: {error}",
    "agent/root-not-ours": (
        "the root folder belongs to user {owner} and has mode {mode}; it must belong to user"
        " {user}, who alone may write to it: chown and chmod 0700 it, or name another --root"
    ),
    "agent/others-files": (
        "in {path} are files of other users ({others}); remove them, or name another --root"
    ),
    "agent/root-in-use": (
        "{path} has never been a root folder of an agent, and other things are in it ({others});"
        " name a new folder, or an empty one"
    ),
    "agent/books-held": (
        "process {holder} uses this root folder; it can serve either one agent or commands of"
        " 'numalet run'"
    ),
    "agent/start-refused": "the node does not start with this configuration: {text}",
    "agent/state-invalid": (
        "{text}\nWhat became different follows. To keep what still fits, run"
        " 'numalet state rebase --write {root}' with the agent's configuration, or start the"
        " agent with --on-invalid-state=rebase"
    ),
    "agent/record-lost": ("container {container} of pod {uid} lost what {file} promised it: {why}"),
    "agent/books-lost-hold": (
        "{pod} is running, but the state files have no allocation for its containers"
        " ({containers}); a crash can not cause that, so the files were changed. Restore them,"
        " or end the pod, or start with --on-invalid-state=rebase to have it placed anew"
    ),
    "agent/described-machine": (
        "programs can not be pinned on a machine that is only described ({machine}, {nodes} NUMA"
        " nodes); use --runtime fake to try it, or leave out -m"
    ),
    "agent/kubelet-pins": (
        "{owner} pins CPUs or memory itself, and two owners undo each other's work; stop it, or"
        " set its cpuManagerPolicy and memoryManagerPolicy to none, or only watch it with"
        " --ownership observe"
    ),
    "agent/other-owner": "something else already pins CPUs or memory: {owner}; observing only",
    "agent/books-unwritable": "the node state can not be written, so no pods are admitted",
    "agent/journal-unwritable": "the journal can not be written",
    "agent/drift-not-mended": (
        "some cgroups are not as they should be, and could not be corrected; the events of the"
        " pods name the settings, and every resync tries again"
    ),
    "agent/pods-unpromised": (
        "pods keep running although their allocations no longer fit the machine;"
        " 'numalet ps' marks them"
    ),
    "agent/connections-refused": (
        "new connections have to wait: {error}; {limit} files may be open at once (ulimit -n,"
        " LimitNOFILE of a unit)"
    ),
    "agent/runtime-failed": "the runtime failed; the agent tries again",
    "agent/kubelet-config-unknown": (
        "the configuration of the kubelet in {root} is not known, so the agent can not say whether"
        " it would start with its state files; pass it with -c"
    ),
    "kubelet/would-not-start": (
        "a kubelet v1.32 with the configuration {config} would not start with these state files:"
        " {text}"
    ),
    "kubelet/cpus-differ": "the kubelet assigned CPUs {promised}, but CPUs {found} are in force",
    "kubelet/memory-nodes-differ": (
        "the kubelet assigned memory of NUMA nodes {promised}, but NUMA nodes {found} are in force"
    ),
    "kubelet/memory-misplaced": (
        "{bytes} bytes of its memory are on other NUMA nodes than {promised}, which the kubelet"
        " assigned"
    ),
    "kubelet/state-changed": "the kubelet wrote {files}",
    "kubelet/state-removed": "state files of the kubelet were removed: {files}",
    "kubelet/started": "a kubelet started in {root}: {kubelet}",
    "kubelet/not-running": "no kubelet runs in {root}, though its state files are there",
    "kubelet/keeps-restarting": (
        "the kubelet in {root} has restarted repeatedly in the last {minutes} minutes"
    ),
    "agent/other-root": (
        "programs also run with the node state in this folder, which does not know about {root};"
        " both may get the same CPUs and memory"
    ),
    "agent/other-users-books": (
        "process {pid} of user {user} allocates CPUs and memory from {other}, without knowing about"
        " {root}: until it ends, the same ones may be allocated twice"
    ),
    "agent/other-books": (
        "process {pid} of user {user} allocates CPUs and memory from {other}, without knowing about"
        " {root}, so the same ones could be allocated twice; end it first"
    ),
    "agent/manifests-missing": (
        "the manifest folder does not exist; the agent waits for it, as a kubelet does"
    ),
    "manifests/bug": (
        "a bug in numalet kept the file from being read ({problem}); other files are not affected,"
        " and the log of the agent has the details"
    ),
    "manifests/first-alone": (
        "a file holds one pod: the first document is used, and {others} after it are ignored"
    ),
    "runtime/failed": "the runtime failed: {error}",
}
