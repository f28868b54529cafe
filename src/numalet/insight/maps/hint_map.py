"""The hints of one decision as they are drawn: node sets by answers, and the merge beside them.

One value for every surface. Node sets are tuples of ids.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.model.value import Value


class HintStatus(Enum):
    """What one provider says of one node set."""

    PREFERRED = "preferred"
    OFFERED = "offered"
    """Offered, and it is not known whether it is preferred."""
    NOT_PREFERRED = "not preferred"
    NOT_OFFERED = "not offered"
    NOT_LISTED = "not listed"
    """Too many sets to list all of them."""
    ANY = "any"
    """The provider has no preference."""


class HintCell(Value):
    """What one answer says of one set: ``brief`` and ``why`` are set where it is not offered."""

    status: HintStatus
    brief: str = ""
    why: str = ""


class HintColumn(Value):
    """One answer, of a provider for some resources; ``note`` says what holds for all its sets."""

    title: str
    note: str = ""


class HintSet(Value, kw_only=True):
    """One node set: a cell per column; ``rank`` counts from 1 among the results of the merge."""

    nodes: tuple[int, ...]
    cells: tuple[HintCell, ...]
    rank: int | None = None
    is_chosen: bool = False


class HintMap(Value, kw_only=True):
    """All that was answered for a subject, a container or the pod.

    ``sets`` are those worth showing, best first; ``more_offered`` and ``more_not_offered`` count
    the others by whether every provider offers them. ``chosen`` None is any node. ``order`` says by
    what the merge ranks, ``verdict`` what the policy made of it.
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
