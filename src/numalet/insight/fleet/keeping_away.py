"""Keeping pods away from trap nodes, and undoing that: a plan, and the patches that carry it out.

The plan names nodes only; the patch of each is made from its Node object as it is at that moment,
and holds its resourceVersion, so that a change by others in between is refused by the API server
and not overwritten. What was done stands in an annotation of the Node: only that is undone, so that
a node that an administrator has cordoned stays cordoned.

A node on which some shape still fits is left alone, because that shape would be kept away too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from numalet.core.model.value import Value
from numalet.insight.fleet.traps import Trap

ANNOTATION: Final = "numalet.dev/kept-away"
"""What this program has done to a Node: the value of a ``KeepAway``."""
TAINT_KEY: Final = "numalet.dev/trap"


class KeepAway(Enum):
    """How pods are kept away from a node."""

    CORDON = "cordon"
    TAINT = "taint"


class KeepAwayPlan(Value):
    """``nodes`` are to be changed; ``over_the_cap`` and ``still_used`` are left as they are.

    Pods of some shape still fit on those of ``still_used``.
    """

    how: KeepAway
    nodes: tuple[str, ...]
    over_the_cap: tuple[str, ...]
    still_used: tuple[str, ...]


def plan(traps: Sequence[Trap], how: KeepAway, most: int) -> KeepAwayPlan:
    """What to do about these traps, in their order, to so many nodes at most."""
    useless = [each.node for each in traps if not each.fitting]
    return KeepAwayPlan(
        how,
        tuple(useless[:most]),
        tuple(useless[most:]),
        tuple(each.node for each in traps if each.fitting),
    )


def patch(node: Mapping[str, Any], how: KeepAway) -> dict[str, Any] | None:
    """A JSON merge patch of this Node object; None if pods are kept away from it already."""
    spec = node.get("spec") or {}
    taints = list(spec.get("taints") or ())
    if spec.get("unschedulable") or any(each.get("key") == TAINT_KEY for each in taints):
        return None
    if how is KeepAway.CORDON:
        return _patch(node, how.value, {"unschedulable": True})
    return _patch(
        node, how.value, {"taints": [*taints, {"key": TAINT_KEY, "effect": "NoSchedule"}]}
    )


def undoing(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """A JSON merge patch that undoes what this program has done; None if that is nothing."""
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
    version = (node.get("metadata") or {}).get("resourceVersion")
    if version:
        metadata["resourceVersion"] = version
    return {"metadata": metadata, "spec": dict(spec)}
