"""What the agent reports of a kubelet on its machine."""

from __future__ import annotations

from numalet.core.model.findings import NoteFinding, WarningFinding


class KubeletWouldNotStart(WarningFinding):
    code = "kubelet/would-not-start"
    sentence = (
        "a kubelet v1.32 with the configuration {config} would not start with these state files: "
        "{text}"
    )
    text: str
    config: str


class KubeletCpusDiffer(WarningFinding):
    code = "kubelet/cpus-differ"
    sentence = "the kubelet assigned CPUs {promised}, but CPUs {found} are in force"
    promised: str
    found: str


class KubeletMemoryNodesDiffer(WarningFinding):
    code = "kubelet/memory-nodes-differ"
    sentence = (
        "the kubelet assigned memory of NUMA nodes {promised}, but NUMA nodes {found} are in force"
    )
    promised: str
    found: str


class KubeletMemoryMisplaced(WarningFinding):
    code = "kubelet/memory-misplaced"
    sentence = (
        "{bytes} bytes of its memory are on other NUMA nodes than {promised}, which the kubelet "
        "assigned"
    )
    bytes: int
    promised: str


class KubeletStateChanged(NoteFinding):
    code = "kubelet/state-changed"
    sentence = "the kubelet wrote {files}"
    files: str


class KubeletStateRemoved(NoteFinding):
    code = "kubelet/state-removed"
    sentence = "state files of the kubelet were removed: {files}"
    files: str


class KubeletStarted(NoteFinding):
    code = "kubelet/started"
    sentence = "a kubelet started in {root}: {kubelet}"
    kubelet: str
    root: str


class KubeletNotRunning(WarningFinding):
    code = "kubelet/not-running"
    sentence = "no kubelet runs in {root}, though its state files are there"
    root: str


class KubeletKeepsRestarting(WarningFinding):
    code = "kubelet/keeps-restarting"
    sentence = "the kubelet in {root} has restarted repeatedly in the last {minutes} minutes"
    root: str
    minutes: int
