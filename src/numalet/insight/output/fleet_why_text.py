"""The answer about a pod of a cluster in sentences, for commands and pages alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

from numalet.insight.output.fleet_why_document import (
    FleetWhyDocument,
    Standing,
    ThereDocument,
    ThereVerdict,
    Way,
)
from numalet.wording import explanations, numbers


class Tone(Enum):
    GOOD = "good"
    BAD = "bad"
    WARNING = "warning"
    QUIET = "quiet"
    PLAIN = ""


class Sentence(NamedTuple):
    text: str
    tone: Tone = Tone.PLAIN


_STANDINGS: Final[Mapping[Standing, str]] = {
    Standing.REJECTED: "was rejected on",
    Standing.FAILED: "failed on",
    Standing.SUCCEEDED: "has succeeded on",
    Standing.WAITING: "waits for a node",
    Standing.ON_NODE: "was not rejected: it is on",
}


def sentences(answer: FleetWhyDocument) -> Iterator[Sentence]:
    """Yield what happened to the pod, what its node would do now, where it fits, and ways out."""
    at = "" if answer.at_seconds is None else f" ({moment(answer.at_seconds)})"
    where = f" {answer.node}{at}" if answer.node else ""
    because = f": {answer.reason}" if answer.reason else ""
    name = f"{answer.namespace}/{answer.name} ({answer.owner or 'no controller'})"
    is_bad = answer.standing in (Standing.REJECTED, Standing.FAILED)
    text = f"{name} {_STANDINGS[answer.standing]}{where}{because}"
    yield Sentence(text, Tone.BAD if is_bad else Tone.PLAIN)
    if answer.message:
        yield Sentence(f"  {answer.message}", Tone.QUIET)
    yield Sentence(f"It asks for {numbers.amounts(answer.amounts)}.")
    if answer.there is not None:
        yield from _there(answer.there)
    if answer.fit is not None and not answer.is_decided:
        yield Sentence("No node has enough data for a decision.", Tone.WARNING)
    elif answer.fit is not None:
        yield from _ways(answer, answer.fit.nodes_that_fit)


def _there(there: ThereDocument) -> Iterator[Sentence]:
    match there.verdict:
        case ThereVerdict.ADMITTED:
            yield Sentence(f"Now {there.node} would admit it.", Tone.GOOD)
        case ThereVerdict.REJECTED:
            text = f"{there.reason}: {there.text.rstrip('.')}."
            yield Sentence(f"Now {there.node} would reject it: {text}", Tone.BAD)
        case ThereVerdict.NOT_SENT:
            text = "would admit it, but the scheduler would not send it there"
            yield Sentence(f"Now {there.node} {text}: {there.text}.", Tone.WARNING)
        case ThereVerdict.UNDECIDED:
            yield Sentence(f"{there.node} is not decided on now: {there.text}", Tone.WARNING)
        case ThereVerdict.GONE:
            yield Sentence(f"The cluster has no node {there.node} now.", Tone.WARNING)
    if there.contradiction:
        yield Sentence(f"! {there.contradiction}. Correct its class (--class).", Tone.WARNING)


def _ways(answer: FleetWhyDocument, fitting: tuple[str, ...]) -> Iterator[Sentence]:
    if fitting:
        nodes = numbers.counted(len(fitting), "node")
        yield Sentence(f"It fits now on {nodes}: {numbers.some(fitting)}", Tone.GOOD)
    else:
        yield Sentence("It fits on no node now.", Tone.BAD)
    for at, way in enumerate(answer.ways_out):
        yield Sentence(f"{explanations.SUGGESTION if at == 0 else 'Or'}: {way.text}.")
    if not answer.ways_out:
        yield Sentence("Neither a smaller shape nor evictions were found to help.")
    if any(way.way is Way.EVICTIONS for way in answer.ways_out):
        yield Sentence("  'numalet fleet free --plan' shows where evicted pods could run.")
    if fitting and answer.refusing:
        nodes = numbers.counted(len(answer.refusing), "node")
        verb = "rejects" if len(answer.refusing) == 1 else "reject"
        names = numbers.some(answer.refusing)
        text = f"! The scheduler may also choose {nodes} that {verb} it: {names}."
        yield Sentence(f"{text} A node affinity or numalet extender prevents that.", Tone.WARNING)


def moment(at_seconds: float | None) -> str:
    """Format a moment to the minute, in UTC; ``-`` if it is unknown."""
    if at_seconds is None:
        return "-"
    return f"{datetime.fromtimestamp(at_seconds, UTC):%Y-%m-%d %H:%M} UTC"
