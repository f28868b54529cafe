"""The marks of the breaker on objects that it changed: the end, and the shape.

The mark of a Node is the value of its taint, so that ``kubectl`` shows the end. The taint of
``numalet fleet`` has the same key and no value; the breaker never changes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from numalet.core.cluster.cluster import Taint, TaintEffect
from numalet.core.model.value import Value
from numalet.insight.fleet.keeping_away import TAINT_KEY

TRAP_WHY: Final = "numalet.dev/trap-why"
"""Annotation of a Node: why it has the taint, in words."""
SUSPENDED_UNTIL: Final = "numalet.dev/suspended-until"
SUSPENDED_FOR: Final = "numalet.dev/suspended-for"
"""Annotations of a Job: the latest end, and the shape of its pods."""
RECREATED_FROM: Final = "numalet.dev/recreated-from"
RECREATE_ATTEMPT: Final = "numalet.dev/recreate-attempt"
"""Annotations of a recreated bare pod: the uid of its predecessor, and the attempt."""

_MOMENT: Final = "%Y%m%dT%H%M%SZ"


class EndMark(Value):
    """The end of a change, in seconds since 1970, and the shape for which it was made."""

    until_seconds: float
    shape: str


def moment_text(seconds: float) -> str:
    return datetime.fromtimestamp(int(seconds), UTC).strftime(_MOMENT)


def moment(text: str) -> float | None:
    """Parse a time into seconds since 1970, if the text is valid."""
    try:
        return datetime.strptime(text, _MOMENT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def trap_value(mark: EndMark) -> str:
    return f"{moment_text(mark.until_seconds)}.{mark.shape}"


def trap_mark(value: str) -> EndMark | None:
    """Parse the value of a taint, if the breaker wrote it."""
    text, _, shape = value.partition(".")
    until = moment(text)
    return None if until is None else EndMark(until, shape)


def on_node(taints: Iterable[Taint]) -> EndMark | None:
    """Return the breaker's mark among the taints of a node, if there is one."""
    for each in taints:
        if each.key == TAINT_KEY and each.effect is TaintEffect.NO_SCHEDULE:
            mark = trap_mark(each.value)
            if mark is not None:
                return mark
    return None


def on_job(annotations: Mapping[str, Any]) -> EndMark | None:
    """Return the mark of a suspended Job; an unreadable time is treated as past."""
    if SUSPENDED_UNTIL not in annotations:
        return None
    until = moment(str(annotations[SUSPENDED_UNTIL]))
    # A Job must not stay suspended because its annotation was damaged.
    return EndMark(0.0 if until is None else until, str(annotations.get(SUSPENDED_FOR) or ""))
