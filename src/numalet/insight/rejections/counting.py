"""How many pods of an owner and shape were rejected, in all and by one node, within a window.

A rejected pod counts from when it was first known, also after it was deleted. The moment of a
kubelet whose clock is ahead, or from before a clock was set back, is no later than now.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.model.value import Value, replace
from numalet.insight.rejections.owners import TopOwner
from numalet.insight.rejections.rejected_pod import RejectedPod
from numalet.insight.rejections.rules import BreakerRules

StormKey: TypeAlias = tuple[TopOwner, str]
"""An owner and the digest of a shape."""


class Counted(Value):
    """One rejection, when it was, and which node it was."""

    at_seconds: float
    key: StormKey
    node: str


Window: TypeAlias = Mapping[str, Counted]
"""By the uid of the pod: all that exist, and those that are gone and not older than the window."""
NO_WINDOW: Final[Window] = MappingProxyType({})


def counted(
    before: Window, rejections: Iterable[RejectedPod], now_seconds: float, rules: BreakerRules
) -> Window:
    """The window as it is now, in the order of the moments."""
    after: dict[str, Counted] = {}
    for each in rejections:
        after[each.uid] = before.get(each.uid) or Counted(
            each.rejected_at_seconds, (each.owner, each.shape), each.node
        )
    for uid, known in before.items():
        if uid not in after and known.at_seconds > now_seconds - rules.window_seconds:
            after[uid] = known
    for uid, known in after.items():
        if known.at_seconds > now_seconds:
            after[uid] = replace(known, at_seconds=now_seconds)
    return dict(sorted(after.items(), key=lambda each: (each[1].at_seconds, each[0])))


class Storm(Value, kw_only=True):
    """Rejections of one owner and shape.

    ``recent`` are those within the window, in their order; ``is_over_budget`` says whether they
    are too many, ``was_over_budget`` whether as many were ever as close together, of all that are
    known.
    """

    key: StormKey
    recent: Sequence[Counted]
    is_over_budget: bool
    was_over_budget: bool
    last_at_seconds: float

    def by_node(self, since_seconds: Mapping[str, float]) -> dict[str, int]:
        """How many of the recent ones each node rejected, after a moment of its own if it has one.

        Nodes without any are left out.
        """
        counts: dict[str, int] = {}
        for each in self.recent:
            if each.at_seconds > since_seconds.get(each.node, float("-inf")):
                counts[each.node] = counts.get(each.node, 0) + 1
        return counts


def storms(window: Window, now_seconds: float, rules: BreakerRules) -> dict[StormKey, Storm]:
    """The rejections of each owner and shape, by key in order, however many they are."""
    moments: dict[StormKey, list[Counted]] = {}
    for each in window.values():
        moments.setdefault(each.key, []).append(each)
    return {key: _storm(key, every, now_seconds, rules) for key, every in sorted(moments.items())}


def _storm(
    key: StormKey, every: Sequence[Counted], now_seconds: float, rules: BreakerRules
) -> Storm:
    since = now_seconds - rules.window_seconds
    recent = tuple([each for each in every if each.at_seconds > since])
    budget = rules.storm_budget
    pairs = zip(every, every[budget - 1 :], strict=False)
    return Storm(
        key=key,
        recent=recent,
        is_over_budget=len(recent) >= budget,
        was_over_budget=any(
            last.at_seconds - first.at_seconds < rules.window_seconds for first, last in pairs
        ),
        last_at_seconds=every[-1].at_seconds,
    )
