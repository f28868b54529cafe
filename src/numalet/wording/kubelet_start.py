"""The kubelet's exact text when it does not start.

The classes of the findings contain the kubelet's texts; this module adds its prefixes. Kubelet:
``memorymanager`` and ``cpumanager``, ``Start``, v1.32.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Final

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.findings.config import (
    ConfigGateLockedInFlag,
    ConfigGateNeedsInFlag,
    ConfigGateUnknownInFlag,
    GateLocked,
    GateNeeds,
    GateUnknown,
)
from numalet.core.findings.state_files import StateFileNotRestored
from numalet.core.model import go_text
from numalet.core.model.findings import Finding

ROOT_DIR = "/var/lib/kubelet"

_GATES_BY_FLAG: Final = "failed to set feature gates from initial flags-based config: "
_GATES_BY_FILE: Final = (
    "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
)
_OF_FLAGS: Final = (ConfigGateUnknownInFlag, ConfigGateLockedInFlag, ConfigGateNeedsInFlag)
_OF_GATES: Final = (GateUnknown, GateLocked, GateNeeds)
UNDECODED: Final = "failed to decode: "
_MOST_GATES: Final = 5
_PREFIXES: Final = {
    StartStage.KUBE_RESERVED: "--kube-reserved value failed to parse: ",
    StartStage.SYSTEM_RESERVED: "--system-reserved value failed to parse: ",
    StartStage.NODE_ALLOCATABLE: "invalid Node Allocatable configuration. ",
}


def text(refused: StartRefused, root_dir: str = ROOT_DIR) -> str:
    """Return the kubelet's final error as it logs it."""
    match refused.stage:
        case StartStage.CPU_MANAGER_START:
            return f"start cpu manager error: {_state(refused.findings[0], 'CPU', root_dir)}"
        case StartStage.MEMORY_MANAGER_START:
            return f"start memory manager error: {_state(refused.findings[0], 'memory', root_dir)}"
        case StartStage.NUMALET | StartStage.UNDECIDED:
            # The kubelet has no text: it would crash, hang, or start in a way that we cannot
            # simulate.
            return str(refused.findings[0])
        case StartStage.CONFIG_DECODE:
            return _of_gates(refused.findings)
        case StartStage.CONFIG_VALIDATION:
            return go_text.joined_errors(_texts(refused))
        case stage:
            return _PREFIXES.get(stage, "") + " ".join(_texts(refused))


def complaint(who: str, refused: StartRefused, root_dir: str = ROOT_DIR) -> str:
    """Say that this kubelet would not start, with its error; or that this is undecided."""
    if refused.is_undecided:
        return f"{who}: {refused.findings[0]}"
    return f"{who} would not start: {text(refused, root_dir)}"


def by_chance(refused: StartRefused) -> tuple[str, ...]:
    """Return every possible final error of the kubelet, if chance decides; its text first.

    It sets feature gates in random order, collects the locked ones, and stops at the first unknown
    one. For more than a few gates only one order is shown.
    """
    said = text(refused)
    if refused.stage is not StartStage.CONFIG_DECODE or len(refused.findings) > _MOST_GATES:
        return (said,)
    if isinstance(refused.findings[0], GateNeeds):
        return (said,)
    orders = permutations(refused.findings)
    return tuple(dict.fromkeys((said, *(_of_gates(order) for order in orders))))


def _of_gates(findings: Sequence[Finding]) -> str:
    """Return the error for feature gates in this order, or for the check before them."""
    if isinstance(findings[0], _OF_FLAGS):
        prefix = _GATES_BY_FLAG
    else:
        prefix = _GATES_BY_FILE if isinstance(findings[0], _OF_GATES) else UNDECODED
    end = next((at for at, each in enumerate(findings, 1) if isinstance(each, GateUnknown)), None)
    return prefix + go_text.joined_errors(each.in_kubelet_words for each in findings[:end])


def _texts(refused: StartRefused) -> list[str]:
    """Return the kubelet's texts of the findings; numalet's if the kubelet lacks them."""
    return [each.in_kubelet_words or str(each) for each in refused.findings]


def _state(finding: Finding, manager: str, root_dir: str) -> str:
    if not isinstance(finding, StateFileNotRestored):
        return finding.in_kubelet_words
    path = f"{root_dir}/{manager.lower()}_manager_state"
    return (
        f"could not restore state from checkpoint: {finding.in_kubelet_words}, please drain this"
        f' node and delete the {manager} manager checkpoint file "{path}" before restarting Kubelet'
    )
