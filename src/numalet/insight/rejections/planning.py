"""What is to be done now about rejected pods, and what is to be remembered until the next time.

The memory is small and may be lost: what has to outlive a breaker stands on the objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from numalet.insight.fleet.assessing import Assessor
from numalet.insight.rejections.actions import Action, Prune
from numalet.insight.rejections.facts import BreakerFacts
from numalet.insight.rejections.owners import TopOwner
from numalet.insight.rejections.rejected_pod import RejectedPod
from numalet.insight.rejections.rules import BreakerRules

StormKey: TypeAlias = tuple[TopOwner, str]
"""An owner and the digest of a shape."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerState:
    """What is remembered between two times. Moments are seconds since 1970.

    ``again_at_seconds`` is when something may be due although nothing has changed; None: never.
    """

    issued: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    again_at_seconds: float | None = None


def planned(
    before: BreakerState,
    rejections: Iterable[RejectedPod],
    facts: BreakerFacts,
    now_seconds: float,
    rules: BreakerRules,
    assessor: Assessor,
) -> tuple[BreakerState, tuple[Action, ...]]:
    """What is remembered next, and what is to be done now, in the order in which to do it.

    ``rejections`` are all rejected pods that there are at this moment. An action whose effect is
    not seen in the facts is planned again after ``retry_seconds``, so that a failed one needs no
    report; one that was carried out changes nothing when it comes a second time. ``assessor`` is
    the same one at every time: it remembers what nodes were asked.
    """
    by_storm: dict[StormKey, list[RejectedPod]] = {}
    for each in rejections:
        if rules.scope.covers(each):
            by_storm.setdefault((each.owner, each.shape), []).append(each)
    actions: list[Action] = []
    for (owner, _), pods in sorted(by_storm.items()):
        if len(pods) < rules.storm_budget:
            continue
        pods.sort(key=lambda each: (each.rejected_at_seconds, each.uid))
        actions += [
            Prune(
                namespace=each.namespace,
                name=each.name,
                uid=each.uid,
                resource_version=each.resource_version,
                owner=owner,
                why=each.reason,
            )
            for each in pods[: -rules.kept_failed_pods]
            if each.never_started and each.chain and each.chain[0].kind == "ReplicaSet"
        ]
    return replace(before, again_at_seconds=None), tuple(actions)
