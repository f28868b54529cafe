"""The kubelet's own text when it does not start, to the letter.

For the stages before the managers start see ``kubelet_config``; here are the state files.
Kubelet: ``memorymanager`` and ``cpumanager``, ``Start``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText
from numalet.wording import english, kubelet_config, kubelet_cpu

ROOT_DIR = "/var/lib/kubelet"

_CAUSES: Mapping[str, str] = {
    "memory-state/not-json": "{error}",
    "memory-state/corrupted": "checkpoint is corrupted",
    "memory-state/early-layout": "checkpoint is corrupted",
    "memory-state/other-policy": (
        "[memorymanager] configured policy {configured:q} differs from state checkpoint policy"
        " {found:q}"
    ),
    "cpu-state/not-json": "{error}",
    "cpu-state/corrupted": "checkpoint is corrupted",
    "cpu-state/other-policy": (
        "configured policy {configured:q} differs from state checkpoint policy {found:q}"
    ),
    "cpu-state/unknown-container-id": (
        "error migrating v1 checkpoint state to v2 checkpoint state: containerID"
        " '{container_id}' not found in initial containers list"
    ),
    "cpu-state/bad-default": "could not parse default cpu set {cpus:q}: {error}",
    "cpu-state/bad-cpus": (
        "could not parse cpuset {cpus:q} for container {container:q} in pod {pod:q}: {error}"
    ),
}
"""Why a file could not be restored. What comes from the file is quoted as Go quotes it."""

_STATES: Mapping[str, str] = {
    **kubelet_cpu.STATES,
    "memory-state/no-machine-state": (
        "[memorymanager] machine state can not be empty when it has memory assignments"
    ),
    "memory-state/unknown-node": (
        "[memorymanager] (pod: {pod}, container: {container}) the memory assignment uses the NUMA"
        " that does not exist"
    ),
    "memory-state/unknown-type": (
        "[memorymanager] (pod: {pod}, container: {container}) the memory assignment uses memory"
        " resource that does not exist"
    ),
    "memory-state/differs": (
        "[memorymanager] the expected machine state is different from the real one"
    ),
}
"""Why a restored state is not accepted."""


def text(refused: StartRefused, root_dir: str = ROOT_DIR) -> str:
    """The error with which the kubelet ends, as it logs it."""
    match refused.stage:
        case StartStage.CPU_MANAGER_START:
            return f"start cpu manager error: {_state(refused.findings[0], 'CPU', root_dir)}"
        case StartStage.MEMORY_MANAGER_START:
            return f"start memory manager error: {_state(refused.findings[0], 'memory', root_dir)}"
        case StartStage.NUMALET:
            # No text of the kubelet's: it would crash, hang, or start where we can not follow.
            return english.of_finding(refused.findings[0])
        case StartStage.CPU_MANAGER if refused.findings[0].code in kubelet_cpu.START:
            finding = refused.findings[0]
            return kubelet_cpu.START[finding.code].format(**finding.fields)
        case _:
            return kubelet_config.start_text(refused)


def _state(finding: Finding, manager: str, root_dir: str) -> str:
    if finding.code in _STATES:
        return _STATES[finding.code].format(**finding.fields)
    fields = {
        name: GoText(value) if isinstance(value, str) else value
        for name, value in finding.fields.items()
    }
    cause = _CAUSES[finding.code].format(**fields)
    path = f"{root_dir}/{manager.lower()}_manager_state"
    return (
        f"could not restore state from checkpoint: {cause}, please drain this node and delete the"
        f' {manager} manager checkpoint file "{path}" before restarting Kubelet'
    )
