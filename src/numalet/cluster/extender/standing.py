"""Whether this extender answers, and whether its readiness probe says yes.

not everything is listed    neither: half a cluster would pass for a small one
another replica is active   neither: two would each know only their own promises
the API server is away      it answers from the last view; the probe says yes for a while
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from numalet.cluster.live import LiveCluster

OLDEST_VIEW_SECONDS: Final = 300.0
NOT_KNOWN: Final = "the cluster is not known yet"
NOT_ACTIVE: Final = "another replica is active"


class Standing:
    """Asked again for each request; ``leads`` says whether this replica is the active one."""

    def __init__(
        self, live: LiveCluster, oldest_view_seconds: float, leads: Callable[[], bool] | None = None
    ) -> None:
        self._live = live
        self._oldest_view_seconds = oldest_view_seconds
        self.leads = leads or (lambda: True)

    @property
    def is_active(self) -> bool:
        """Whether this replica is the one that answers; always without a lease."""
        return self.leads()

    def why_silent(self) -> str:
        """Why no call is answered; empty if calls are answered."""
        if not self._live.is_ready:
            return NOT_KNOWN
        return "" if self.is_active else NOT_ACTIVE

    def why_not_ready(self) -> str:
        """Why the readiness probe says no; empty if it says yes."""
        silent = self.why_silent()
        if silent:
            return "; ".join((silent, *map(str, self._live.problems)))
        age = self._live.age_seconds
        if age <= self._oldest_view_seconds:
            return ""
        return "; ".join((f"the view is {age:.0f} s old", *map(str, self._live.problems)))
