"""The kubelet's own text when it does not start, to the letter.

What it says of each thing that is wrong stands beside the class of the finding; here are the
prefixes that it puts around. Kubelet: ``memorymanager`` and ``cpumanager``, ``Start``, v1.32.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.findings.config import ConfigGateLockedInFlag, ConfigGateUnknownInFlag
from numalet.core.findings.state_files import StateFileNotRestored
from numalet.core.model import go_text
from numalet.core.model.findings import Finding

ROOT_DIR = "/var/lib/kubelet"

_GATES_BY_FLAG: Final = "failed to set feature gates from initial flags-based config: "
_GATES_BY_FILE: Final = (
    "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
)
_PREFIXES: Final = {
    StartStage.KUBE_RESERVED: "--kube-reserved value failed to parse: ",
    StartStage.SYSTEM_RESERVED: "--system-reserved value failed to parse: ",
    StartStage.NODE_ALLOCATABLE: "invalid Node Allocatable configuration. ",
}


def text(refused: StartRefused, root_dir: str = ROOT_DIR) -> str:
    """The error with which the kubelet ends, as it logs it."""
    match refused.stage:
        case StartStage.CPU_MANAGER_START:
            return f"start cpu manager error: {_state(refused.findings[0], 'CPU', root_dir)}"
        case StartStage.MEMORY_MANAGER_START:
            return f"start memory manager error: {_state(refused.findings[0], 'memory', root_dir)}"
        case StartStage.NUMALET:
            # No text of the kubelet's: it would crash, hang, or start where we can not follow.
            return str(refused.findings[0])
        case StartStage.CONFIG_DECODE:
            prefix = _GATES_BY_FLAG if _is_of_flags(refused.findings[0]) else _GATES_BY_FILE
            return prefix + go_text.joined_errors(_texts(refused))
        case StartStage.CONFIG_VALIDATION:
            return go_text.joined_errors(_texts(refused))
        case stage:
            return _PREFIXES.get(stage, "") + " ".join(_texts(refused))


def _texts(refused: StartRefused) -> list[str]:
    """The kubelet's texts of the findings, or numalet's where the kubelet has none."""
    return [each.in_kubelet_words or str(each) for each in refused.findings]


def _is_of_flags(finding: Finding) -> bool:
    return isinstance(finding, ConfigGateUnknownInFlag | ConfigGateLockedInFlag)


def _state(finding: Finding, manager: str, root_dir: str) -> str:
    if not isinstance(finding, StateFileNotRestored):
        return finding.in_kubelet_words
    path = f"{root_dir}/{manager.lower()}_manager_state"
    return (
        f"could not restore state from checkpoint: {finding.in_kubelet_words}, please drain this"
        f' node and delete the {manager} manager checkpoint file "{path}" before restarting Kubelet'
    )
