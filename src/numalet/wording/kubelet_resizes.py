"""The kubelet's own words about a resize that it does not make: reason and message.

They are those of the condition ``PodResizePending``. Kubelet: ``canResizePod``, v1.32 to v1.35;
``podResizesAdmitHandler.Admit``, v1.36.
"""

from __future__ import annotations

from typing import Final

from numalet.core.config.releases.release import ReleaseRules
from numalet.core.model import resources
from numalet.core.node.resizing import Deferred, Infeasible, MoreThanCapacity
from numalet.wording import kubelet

PENDING: Final = "PodResizePending"

_MANAGERS: Final = {
    resources.CPU: ("CPU Manager", "static"),
    resources.MEMORY: ("Memory Manager", "Static"),
}


def reason(refused: Infeasible | Deferred) -> str:
    """The reason of the condition."""
    return "Infeasible" if isinstance(refused, Infeasible) else "Deferred"


def message(refused: Infeasible | Deferred, rules: ReleaseRules) -> str:
    """The message of the condition in the words of this release."""
    if isinstance(refused, Deferred):
        return kubelet.message(refused.why)
    why = refused.why
    if isinstance(why, MoreThanCapacity):
        return (
            f"Node didn't have enough capacity: {why.resource}, requested: {why.requested},"
            f" capacity: {why.capacity}"
        )
    manager, policy = _MANAGERS[why.resource]
    named = f'policy "{policy}"' if rules.resizes_are_refused_by_what_changes else "static policy"
    return f"Resize is infeasible for Guaranteed Pods alongside {manager} {named}"
