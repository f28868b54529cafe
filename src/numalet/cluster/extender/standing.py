"""Whether this extender answers calls, and whether it is ready.

It does neither before everything is listed (half a cluster would seem small), nor while another
replica is active (each knows only its own promises). If the API server is away, it answers from the
last view, and is ready for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from numalet.cluster.live import LiveCluster

OLDEST_VIEW_SECONDS: Final = 300.0
NOT_KNOWN: Final = "the cluster is not known yet"
NOT_ACTIVE: Final = "another replica is active"


class Standing:
    """Evaluated for each request; ``leads``: this replica is the active one."""

    def __init__(
        self, live: LiveCluster, oldest_view_seconds: float, leads: Callable[[], bool] | None = None
    ) -> None:
        self._live = live
        self._oldest_view_seconds = oldest_view_seconds
        self.leads = leads or (lambda: True)

    @property
    def is_active(self) -> bool:
        """Whether this replica answers; always without a lease."""
        return self.leads()

    def why_silent(self) -> str:
        """Return why calls are refused; empty if they are answered."""
        if not self._live.is_ready:
            return NOT_KNOWN
        return "" if self.is_active else NOT_ACTIVE

    def why_not_ready(self) -> str:
        """Return why the readiness probe fails; empty if it succeeds."""
        silent = self.why_silent()
        if silent:
            return "; ".join((silent, *map(str, self._live.problems)))
        age = self._live.age_seconds
        # For some minutes an old view is better than no extender: without one the scheduler would
        # place pods by sums alone.
        if age <= self._oldest_view_seconds:
            return ""
        return "; ".join((f"the view is {age:.0f} s old", *map(str, self._live.problems)))
