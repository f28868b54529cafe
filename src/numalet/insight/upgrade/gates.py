"""Feature gates of a release, and those with an effect on decisions."""

from __future__ import annotations

from typing import Final

from numalet.core.config import feature_gates
from numalet.core.config.releases.release import Gate
from numalet.core.config.releases.table import RELEASES

_OPTION_GATES: Final = (
    feature_gates.CPU_MANAGER_POLICY_OPTIONS,
    feature_gates.CPU_MANAGER_POLICY_ALPHA_OPTIONS,
    feature_gates.CPU_MANAGER_POLICY_BETA_OPTIONS,
    feature_gates.TOPOLOGY_MANAGER_POLICY_OPTIONS,
    feature_gates.TOPOLOGY_MANAGER_POLICY_ALPHA_OPTIONS,
    feature_gates.TOPOLOGY_MANAGER_POLICY_BETA_OPTIONS,
)


def deciding() -> tuple[str, ...]:
    """Return the gates on which rules and options of any release depend; sorted."""
    whens = [when for release in RELEASES for when in release.rules.values()]
    of_rules = {gate for when in whens for gate in (*when.on, *when.off)}
    return tuple(sorted({*_OPTION_GATES, *of_rules}))


def standing(gate: Gate | None) -> str:
    """Describe a gate, for example ``beta, on``."""
    if gate is None:
        return "not known"
    return f"{gate.stage.value}, {'locked to ' if gate.is_locked else ''}{_on(gate)}"


def _on(gate: Gate) -> str:
    return "on" if gate.is_on else "off"
