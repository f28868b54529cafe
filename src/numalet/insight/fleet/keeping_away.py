"""Keep pods away from trap nodes, and undo it: a plan, and patches.

An annotation of the Node records the change, and only that is undone: a node cordoned by an
administrator stays cordoned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from numalet.insight.fleet.traps import KeptAway, Trap

ANNOTATION: Final = "numalet.dev/kept-away"
"""The change that this program made to a Node: the value of a ``KeepAway``."""
TAINT_KEY: Final = "numalet.dev/trap"


class KeepAway(Enum):
    CORDON = "cordon"
    TAINT = "taint"


def plan(traps: Sequence[Trap], how: KeepAway, most: int, *, can_change: bool = True) -> KeptAway:
    """Plan the changes for these traps, in their order, for at most ``most`` nodes."""
    useless = [each.node for each in traps if not each.fitting]
    return KeptAway(
        how=how.value,
        is_dry_run=True,
        can_change=can_change,
        nodes=useless[:most],
        over_the_cap=useless[most:],
        still_used=[each.node for each in traps if each.fitting],
        changed=[],
    )


def patch(node: Mapping[str, Any], how: KeepAway) -> dict[str, Any] | None:
    """Return a JSON merge patch of this Node, unless it already keeps pods away."""
    spec = node.get("spec") or {}
    taints = list(spec.get("taints") or ())
    if spec.get("unschedulable") or any(each.get("key") == TAINT_KEY for each in taints):
        return None
    if how is KeepAway.CORDON:
        return _patch(node, how.value, {"unschedulable": True})
    # A merge patch replaces lists as a whole, so it contains the other taints.
    return _patch(
        node, how.value, {"taints": [*taints, {"key": TAINT_KEY, "effect": "NoSchedule"}]}
    )


def undoing(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a JSON merge patch that undoes this program's change, if there is one."""
    annotations = (node.get("metadata") or {}).get("annotations") or {}
    if ANNOTATION not in annotations:
        return None
    if annotations[ANNOTATION] == KeepAway.CORDON.value:
        return _patch(node, None, {"unschedulable": None})
    taints = (node.get("spec") or {}).get("taints") or ()
    kept = [each for each in taints if each.get("key") != TAINT_KEY]
    return _patch(node, None, {"taints": kept or None})


def _patch(
    node: Mapping[str, Any], annotation: str | None, spec: Mapping[str, Any]
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"annotations": {ANNOTATION: annotation}}
    # With the resourceVersion, the API server refuses the patch after a change by others.
    version = (node.get("metadata") or {}).get("resourceVersion")
    if version:
        metadata["resourceVersion"] = version
    return {"metadata": metadata, "spec": dict(spec)}
