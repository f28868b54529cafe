"""Count the rejected pods of an owner and shape, in all and by node, within a window.

A rejected pod counts from the time when it was first seen, also after its deletion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from numalet.core.model.value import Value, replace
from numalet.insight.rejections.rejected_pod import RejectedPod, TopOwner
from numalet.insight.rejections.rules import BreakerRules

StormKey: TypeAlias = tuple[TopOwner, str]
"""An owner and the digest of a shape."""


class Counted(Value):
    at_seconds: float
    key: StormKey
    node: str


Window: TypeAlias = Mapping[str, Counted]
"""Existing rejected pods by uid, and deleted ones not older than the window."""
NO_WINDOW: Final[Window] = MappingProxyType({})


def counted(
    before: Window, rejections: Iterable[RejectedPod], now_seconds: float, rules: BreakerRules
) -> Window:
    """Return the current window, ordered by time."""
    after: dict[str, Counted] = {}
    for each in rejections:
        # The first sighting counts: a pod stays in the list for hours and must not be counted again
        # at every plan.
        after[each.uid] = before.get(each.uid) or Counted(
            each.rejected_at_seconds, (each.owner, each.shape), each.node
        )
    for uid, known in before.items():
        if uid not in after and known.at_seconds > now_seconds - rules.window_seconds:
            after[uid] = known
    # A kubelet's clock may be ahead, or this clock was set back: a time in the future would keep
    # the rejection in the window for too long.
    for uid, known in after.items():
        if known.at_seconds > now_seconds:
            after[uid] = replace(known, at_seconds=now_seconds)
    return dict(sorted(after.items(), key=lambda each: (each[1].at_seconds, each[0])))


class Storm(Value, kw_only=True):
    """Rejections of one owner and shape.

    ``recent`` are those within the window, in their order. ``is_over_budget``: they are too many;
    ``was_over_budget``: among all known ones, a window of this length ever contained too many.
    """

    key: StormKey
    recent: Sequence[Counted]
    is_over_budget: bool
    was_over_budget: bool
    last_at_seconds: float

    def by_node(self, since_seconds: Mapping[str, float]) -> dict[str, int]:
        """Count the recent rejections by node, after a separate time for some nodes."""
        counts: dict[str, int] = {}
        for each in self.recent:
            if each.at_seconds > since_seconds.get(each.node, float("-inf")):
                counts[each.node] = counts.get(each.node, 0) + 1
        return counts


def storms(window: Window, now_seconds: float, rules: BreakerRules) -> dict[StormKey, Storm]:
    """Return the rejections of each owner and shape, sorted by key, also below the budget."""
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
    # Pairs that are a budget apart: each is a window with just enough rejections.
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
