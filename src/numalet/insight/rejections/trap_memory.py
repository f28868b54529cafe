"""The history of a trap: how often it had the taint, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from numalet.core.model.value import Value, replace
from numalet.insight.rejections.patches import EndMark
from numalet.insight.rejections.rules import BreakerRules

TrapKey: TypeAlias = tuple[str, str]
"""A node and the digest of a shape."""

FIRST_PAUSE_SECONDS: Final = 10.0
LONGEST_PAUSE_SECONDS: Final = 600.0
_FREE_LIFTS: Final = 3
"""Number of times that a taint is removed as soon as there is room; later, after a pause."""
_MOST_DOUBLINGS: Final = 20


class TrapMemory(Value, kw_only=True):
    """Times are seconds since 1970.

    ``times`` is how often the node got the taint for this shape. Since the last plan of it,
    ``was_seen``: the node had it; ``was_refused``: the engine refused the shape there.
    ``lifted_at_seconds`` is not set while the taint is planned to stay.
    """

    times: int
    tainted_at_seconds: float
    until_seconds: float
    was_seen: bool = False
    was_refused: bool = False
    lifted_at_seconds: float | None = None

    def taint_seconds(self, rules: BreakerRules) -> float:
        return min(_doubled(rules.taint_seconds, self.times), rules.longest_taint_seconds)

    def may_be_lifted(self, now_seconds: float) -> bool:
        """Return whether room that the engine sees now ends the taint."""
        # The engine's admission means something only if it refused the shape before.
        if self.was_refused and self.times <= _FREE_LIFTS:
            return True
        pause = min(_doubled(FIRST_PAUSE_SECONDS, self.times), LONGEST_PAUSE_SECONDS)
        return now_seconds >= self.tainted_at_seconds + pause

    def is_awaited(self, now_seconds: float, rules: BreakerRules) -> bool:
        """Return whether the taint was planned recently and may still appear."""
        age = now_seconds - self.tainted_at_seconds
        # If it was seen and is missing, others removed it.
        is_to_come = self.lifted_at_seconds is None and not self.was_seen
        return is_to_come and 0 <= age < rules.retry_seconds


def newly_tainted(times: int, now_seconds: float, rules: BreakerRules) -> TrapMemory:
    """Return the history of a node that gets the taint now, for the ``times``-th time."""
    made = TrapMemory(times=times, tainted_at_seconds=now_seconds, until_seconds=now_seconds)
    return replace(made, until_seconds=now_seconds + made.taint_seconds(rules))


def kept(
    before: Mapping[TrapKey, TrapMemory],
    marked: Mapping[str, EndMark],
    now_seconds: float,
    rules: BreakerRules,
) -> dict[TrapKey, TrapMemory]:
    """Drop histories that are too old, and add those of marked nodes without one."""
    traps: dict[TrapKey, TrapMemory] = {}
    for key, each in before.items():
        end = each.until_seconds if each.lifted_at_seconds is None else each.lifted_at_seconds
        if now_seconds - rules.longest_taint_seconds < end:
            traps[key] = each
    for node, mark in marked.items():
        known = before.get((node, mark.shape))
        # The breaker was restarted: the mark alone says that the node had the taint.
        if known is None:
            since = min(now_seconds, mark.until_seconds - rules.taint_seconds)
            known = TrapMemory(times=1, tainted_at_seconds=since, until_seconds=mark.until_seconds)
        traps[node, mark.shape] = replace(known, until_seconds=mark.until_seconds, was_seen=True)
    return traps


def _doubled(seconds: float, times: int) -> float:
    return seconds * 2.0 ** min(times - 1, _MOST_DOUBLINGS)
