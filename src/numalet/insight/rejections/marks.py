"""What stands on an object that the breaker has changed: until when, and for which shape.

On a Node that is the value of the taint itself: who sees the taint sees its end. The
taint of ``numalet fleet`` has the same key and no value: it is never touched here.
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
"""Annotations of a Job: until when at most, and the shape of its pods."""
RECREATED_FROM: Final = "numalet.dev/recreated-from"
RECREATE_ATTEMPT: Final = "numalet.dev/recreate-attempt"
"""Annotations of a bare pod that was created anew: the uid of the one before, and the attempt."""

_MOMENT: Final = "%Y%m%dT%H%M%SZ"


class EndMark(Value):
    """Until when a change is to last, in seconds since 1970, and the shape it was made for."""

    until_seconds: float
    shape: str


def moment_text(seconds: float) -> str:
    """The moment as it is written into marks: whole seconds, UTC."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime(_MOMENT)


def moment(text: str) -> float | None:
    """The moment in seconds since 1970; None if the text is none."""
    try:
        return datetime.strptime(text, _MOMENT).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None


def trap_value(mark: EndMark) -> str:
    """The value of the taint."""
    return f"{moment_text(mark.until_seconds)}.{mark.shape}"


def trap_mark(value: str) -> EndMark | None:
    """What the value of a taint says; None if the breaker did not write it."""
    text, _, shape = value.partition(".")
    until = moment(text)
    return None if until is None else EndMark(until, shape)


def on_node(taints: Iterable[Taint]) -> EndMark | None:
    """The mark among the taints of a node; None if none of them is the breaker's."""
    for each in taints:
        if each.key == TAINT_KEY and each.effect is TaintEffect.NO_SCHEDULE:
            mark = trap_mark(each.value)
            if mark is not None:
                return mark
    return None


def on_job(annotations: Mapping[str, Any]) -> EndMark | None:
    """The mark of a suspended Job; one without a moment that can be read has ended long ago."""
    if SUSPENDED_UNTIL not in annotations:
        return None
    until = moment(str(annotations[SUSPENDED_UNTIL]))
    return EndMark(0.0 if until is None else until, str(annotations.get(SUSPENDED_FOR) or ""))
