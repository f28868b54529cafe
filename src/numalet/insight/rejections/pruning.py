"""Delete rejected pods that a ReplicaSet has replaced, except the newest ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from numalet.insight.rejections.actions import Prune
from numalet.insight.rejections.rejected_pod import RejectedPod
from numalet.insight.rejections.rules import BreakerRules

_APPS: Final = "apps"
_REPLACING_KINDS: Final = frozenset({"ReplicaSet", "Deployment"})


def plan(storms: Iterable[Sequence[RejectedPod]], rules: BreakerRules) -> Iterator[Prune]:
    """Yield the pods to delete, of each storm the oldest first."""
    for pods in storms:
        in_order = sorted(pods, key=lambda each: (each.rejected_at_seconds, each.uid))
        for each in in_order[: max(0, len(in_order) - rules.kept_failed_pods)]:
            if is_replaced(each):
                yield Prune(
                    namespace=each.namespace,
                    name=each.name,
                    uid=each.uid,
                    resource_version=each.resource_version,
                    owner=each.owner,
                    why=f"rejected ({each.reason}) and replaced; the newest "
                    f"{rules.kept_failed_pods} of the same shape stay",
                )


def is_replaced(pod: RejectedPod) -> bool:
    """Return whether a ReplicaSet, with at most a Deployment above it, makes the pod."""
    # A ReplicaSet ignores failed pods. A Job counts them to give up after a limit, and custom
    # resources may do anything. A container that ever ran may have left logs and an exit code.
    return (
        pod.never_started
        and pod.chain_is_whole
        and bool(pod.chain)
        and pod.chain[0].kind == "ReplicaSet"
        and all(each.group == _APPS and each.kind in _REPLACING_KINDS for each in pod.chain)
    )
