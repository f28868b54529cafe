"""Findings about the state files of the CPU, Memory and Device Manager."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numalet.core.findings.phrases import CHECKSUM
from numalet.core.model.findings import Finding, WarningFinding

_REBASE: Final = (
    "stop the kubelet and run 'numalet state rebase DIR --write' with this configuration, which "
    "keeps every record that still fits"
)


class StateFileRefused(Finding):
    """The kubelet does not start with this state file."""

    why = (
        "A state file must be complete, have the configured policy, and match machine and "
        "configuration; the kubelet repairs nothing in it."
    )


class StateFileNotRestored(StateFileRefused):
    """The kubelet cannot restore the file; the others are restored, but rejected afterwards."""


class CpuStateEmptyDefault(StateFileRefused):
    code = "cpu-state/empty-default"
    sentence = (
        "The CPU manager's state file has an empty default CPU set, although pods {pods} hold "
        "CPUs; at least one CPU must remain. Delete the file."
    )
    fix = "drain the node and delete cpu_manager_state; then leave one more CPU in the pool"
    kubelet_text = "default cpuset cannot be empty"
    pods: Sequence[str]


class CpuStateReservedNotInDefault(StateFileRefused):
    code = "cpu-state/reserved-not-in-default"
    sentence = (
        "The CPU manager's state file has the default CPU set {default!r}; it must include all "
        "reserved CPUs ({reserved}). If they were changed, delete the file."
    )
    fix = _REBASE
    kubelet_text = 'not all reserved cpus: "{reserved}" are present in defaultCpuSet: "{default}"'
    reserved: str
    default: str


class CpuStateReservedInDefault(StateFileRefused):
    code = "cpu-state/reserved-in-default"
    sentence = (
        "The CPU manager's state file has the default CPU set {default!r}; with "
        "strict-cpu-reservation it must not include the reserved CPUs {reserved}. If the option "
        "was just enabled, delete the file."
    )
    fix = _REBASE
    kubelet_text = (
        'some of strictly reserved cpus: "{reserved}" are present in defaultCpuSet: "{default}"'
    )
    reserved: str
    default: str


class CpuStateOverlap(StateFileRefused):
    code = "cpu-state/overlap"
    sentence = (
        "The CPU manager's state file assigns the CPUs {cpus} to container {container} of pod "
        "{pod}, but some of them are also in the default CPU set {default!r}."
    )
    fix = _REBASE
    kubelet_text = (
        'pod: {pod}, container: {container} cpuset: "{cpus}" overlaps with default cpuset '
        '"{default}"'
    )
    pod: str
    container: str
    cpus: str
    default: str


class CpuStateOtherCpus(StateFileRefused):
    code = "cpu-state/other-cpus"
    sentence = (
        "The CPU manager's state file covers the CPUs {found}; on this machine and with this "
        "configuration they must be {available}."
    )
    fix = _REBASE
    kubelet_text = (
        'current set of available CPUs "{available}" doesn\'t match with CPUs in state "{found}"'
    )
    available: str
    found: str


class DeviceStateNotJson(WarningFinding):
    code = "device-state/not-json"
    sentence = (
        "The device manager's checkpoint cannot be decoded: {error}. The kubelet ignores it and "
        "treats all devices as free."
    )
    why = "The file must be JSON that Go decodes."
    error: str


class DeviceStateCorrupted(WarningFinding):
    code = "device-state/corrupted"
    sentence = (
        "The device manager's checkpoint has checksum {checksum}, but its content has checksum "
        "{expected}. The kubelet ignores it and treats all devices as free."
    )
    why = CHECKSUM
    checksum: int
    expected: int


class MemoryStateNotJson(StateFileNotRestored):
    code = "memory-state/not-json"
    sentence = "The memory manager's state file cannot be decoded: {error}."
    fix = "drain the node and delete memory_manager_state, which is damaged"
    kubelet_text = "{error}"
    error: str


class MemoryStateCorrupted(StateFileNotRestored):
    code = "memory-state/corrupted"
    sentence = (
        "The memory manager's state file has checksum {checksum}, but its content has checksum "
        "{expected}: another program than a kubelet changed it, or it has another format."
    )
    fix = "drain the node and delete memory_manager_state, which is damaged"
    kubelet_text = "checkpoint is corrupted"
    checksum: int
    expected: int


class MemoryStateDataCorrupted(MemoryStateCorrupted):
    code = "memory-state/data-corrupted"
    sentence = (
        "The memory manager's state file has dataChecksum {checksum}, but its member 'data' has "
        "checksum {expected}. From release 1.37 on the kubelet reads only this member."
    )
    kubelet_text = "could not load v3 checkpoint: checkpoint is corrupted"


class MemoryStateEarlyLayout(StateFileNotRestored):
    code = "memory-state/early-layout"
    sentence = (
        "The memory manager's state file has the layout from before the first release (groups are "
        "called 'nodes'). Its checksum {checksum} is right for that layout; the kubelet does not "
        "read it and reports it as corrupted."
    )
    fix = "drain the node and delete memory_manager_state: an early kubelet wrote it"
    kubelet_text = "checkpoint is corrupted"
    checksum: int


class MemoryStateOtherPolicy(StateFileNotRestored):
    code = "memory-state/other-policy"
    sentence = (
        "The memory manager's state file has policy {found!r}; the configuration has "
        "{configured!r}. Delete the file to change the policy."
    )
    fix = _REBASE
    kubelet_text = (
        "[memorymanager] configured policy {configured:q} differs from state checkpoint policy "
        "{found:q}"
    )
    configured: str
    found: str


class MemoryStateNoMachineState(StateFileRefused):
    code = "memory-state/no-machine-state"
    sentence = "The memory manager's state file assigns memory to pods {pods}, but has no node map."
    fix = "drain the node and delete memory_manager_state, which is damaged"
    kubelet_text = "[memorymanager] machine state can not be empty when it has memory assignments"
    pods: Sequence[str]


class MemoryStateUnknownNode(StateFileRefused):
    code = "memory-state/unknown-node"
    sentence = (
        "The memory manager's state file assigns {type} on NUMA node {node} to container "
        "{container} of pod {pod}; this machine does not have that node."
    )
    fix = _REBASE
    kubelet_text = (
        "[memorymanager] (pod: {pod}, container: {container}) the memory assignment uses the NUMA "
        "that does not exist"
    )
    pod: str
    container: str
    node: int
    type: str


class MemoryStateUnknownType(StateFileRefused):
    code = "memory-state/unknown-type"
    sentence = (
        "The memory manager's state file assigns {type} on NUMA node {node} to container "
        "{container} of pod {pod}; that node does not have memory of this type."
    )
    fix = _REBASE
    kubelet_text = (
        "[memorymanager] (pod: {pod}, container: {container}) the memory assignment uses memory "
        "resource that does not exist"
    )
    pod: str
    container: str
    node: int
    type: str


class MemoryStateDiffers(StateFileRefused):
    code = "memory-state/differs"
    sentence = (
        "The memory manager's state file does not match this machine and configuration: {what} of "
        "NUMA node {node} is {found}, expected {expected}."
    )
    fix = _REBASE
    kubelet_text = "[memorymanager] the expected machine state is different from the real one"
    what: str
    node: int | None
    found: object
    expected: object


class MemoryStateWouldCrash(StateFileRefused):
    code = "memory-state/would-crash"
    sentence = (
        "Rejected, because the kubelet would crash at this start: the memory manager's state file "
        "has the NUMA nodes {node} and {other} in one group, but node {other} does not have pages "
        "of the type {type}. The kubelet starts again after the file is deleted."
    )
    fix = _REBASE
    node: int
    type: str
    other: int


class CpuStateNotJson(StateFileNotRestored):
    code = "cpu-state/not-json"
    sentence = "The CPU manager's state file cannot be decoded: {error}."
    fix = "drain the node and delete cpu_manager_state, which is damaged"
    kubelet_text = "{error}"
    error: str


class CpuStateCorrupted(StateFileNotRestored):
    code = "cpu-state/corrupted"
    sentence = (
        "The CPU manager's state file has checksum {checksum}, but its content has checksum "
        "{expected}."
    )
    fix = "drain the node and delete cpu_manager_state, which is damaged"
    kubelet_text = "checkpoint is corrupted"
    checksum: int
    expected: int


class CpuStateDataCorrupted(CpuStateCorrupted):
    code = "cpu-state/data-corrupted"
    sentence = (
        "The CPU manager's state file has dataChecksum {checksum}, but its member 'data' has "
        "checksum {expected}. From release 1.37 on the kubelet reads only this member."
    )
    kubelet_text = "could not load v4 checkpoint: checkpoint is corrupted"


class CpuStateOtherPolicy(StateFileNotRestored):
    code = "cpu-state/other-policy"
    sentence = (
        "The CPU manager's state file has policy {found!r}; the configuration has {configured!r}. "
        "Delete the file to change the policy."
    )
    fix = _REBASE
    kubelet_text = "configured policy {configured:q} differs from state checkpoint policy {found:q}"
    configured: str
    found: str


class CpuStateUnknownContainerId(StateFileNotRestored):
    code = "cpu-state/unknown-container-id"
    sentence = (
        "The CPU manager's state file has the first format, and container {container_id!r} holds "
        "CPUs by its ID. The kubelet starts only if the container runtime knows this ID."
    )
    fix = (
        "if the container runtime does not have this container, drain the node and delete the file"
    )
    kubelet_text = "{step}: containerID '{container_id}' not found in initial containers list"
    container_id: str
    step: str
    """The kubelet's step in its own words, which differ between releases."""


class CpuStateBadDefault(StateFileNotRestored):
    code = "cpu-state/bad-default"
    sentence = "The CPU manager's state file has the default CPU set {cpus!r}: {error}."
    fix = "drain the node and delete cpu_manager_state, which is damaged"
    kubelet_text = "could not parse default cpu set {cpus:q}: {error}"
    cpus: str
    error: str


class CpuStateBadDefaultSpelled(CpuStateBadDefault):
    kubelet_text = "could not parse default CPU set {cpus:q}: {error}"


class CpuStateBadCpus(StateFileNotRestored):
    code = "cpu-state/bad-cpus"
    sentence = (
        "The CPU manager's state file assigns container {container} of pod {pod} the CPU set "
        "{cpus!r}: {error}."
    )
    fix = "drain the node and delete cpu_manager_state, which is damaged"
    kubelet_text = (
        "could not parse cpuset {cpus:q} for container {container:q} in pod {pod:q}: {error}"
    )
    cpus: str
    container: str
    pod: str
    error: str


class CpuStateBadBaseline(StateFileNotRestored):
    code = "cpu-state/bad-baseline"
    sentence = (
        "The CPU manager's state file gives container {container} of pod {pod} the first CPU set "
        "{cpus!r}: {error}."
    )
    fix = "drain the node and delete cpu_manager_state, which is damaged"
    kubelet_text = (
        "could not parse Baseline cpuset {cpus:q} for container {container:q} in pod {pod:q}: "
        "{error}"
    )
    cpus: str
    container: str
    pod: str
    error: str
