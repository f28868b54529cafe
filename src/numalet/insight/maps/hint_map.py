"""The hints of one decision as a table: node sets by answers, and the merge.

All outputs draw this value. Node sets are tuples of ids.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.model.value import Value


class HintStatus(Enum):
    """The answer of one provider on one node set."""

    PREFERRED = "preferred"
    OFFERED = "offered"
    """Offered, unknown whether preferred."""
    NOT_PREFERRED = "not preferred"
    NOT_OFFERED = "not offered"
    NOT_LISTED = "not listed"
    """Not evaluated, because there are too many sets."""
    ANY = "any"
    """The provider has no preference."""


class HintCell(Value):
    """One answer on one set; ``brief`` and ``why`` are set if it is not offered."""

    status: HintStatus
    brief: str = ""
    why: str = ""


class HintColumn(Value):
    """One answer of a provider for some resources; ``note`` applies to all its sets."""

    title: str
    note: str = ""


class HintSet(Value, kw_only=True):
    """One node set: a cell per column; ``rank`` counts from 1 among the results of the merge."""

    nodes: tuple[int, ...]
    cells: tuple[HintCell, ...]
    rank: int | None = None
    is_chosen: bool = False


class HintMap(Value, kw_only=True):
    """All answers for a subject, which is a container or the pod.

    ``sets`` are the sets to show, best first; ``more_offered`` and ``more_not_offered`` count the
    others by whether every provider offers them. Without ``chosen``, any node will do. ``order`` is
    the criterion of the merge, ``verdict`` the result of the policy.
    """

    subject: str
    columns: tuple[HintColumn, ...]
    sets: tuple[HintSet, ...]
    more_offered: int
    more_not_offered: int
    chosen: tuple[int, ...] | None
    is_preferred: bool
    is_accepted: bool
    order: str
    verdict: str
