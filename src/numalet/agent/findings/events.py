"""Events of numalet: their sentences, and the causes that reproduce them.

Events of the kubelet are stored as text. Events of numalet are stored as causes: one of the classes
below, then its ``cause``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Final

from numalet.core.model.findings import Finding
from numalet.core.model.value import Value
from numalet.core.workload.run import Cause
from numalet.shared.findings import recorded

_CAUSE: Final = "cause"


class EventStartFailed(Finding):
    sentence = "Error: {cause}"
    cause: str


class EventStartDelayed(Finding):
    sentence = "Retrying the start: {cause}"
    cause: str


class EventDriftCorrected(Finding):
    sentence = "Restored settings that another program had changed: {settings}"
    settings: str


class EventDriftNotCorrected(Finding):
    sentence = "Cannot restore the settings of the allocation: {cause}"
    cause: str


class EventPromiseLost(Finding):
    sentence = "The machine has changed, and the record in {file} no longer fits: {cause}"
    file: str
    cause: str


class EventPromisedAnew(Finding):
    sentence = "Moved the running container {container} to a new allocation"
    container: str


class EventUnpromised(Finding):
    sentence = (
        "The pod keeps running, but the node no longer reserves all its CPUs and memory: "
        "{reason}: {cause}. Delete the pod, or free resources and restart the agent"
    )
    reason: str
    cause: str


class EventManifestRemarks(Finding):
    sentence = "{path}: {cause}"
    path: str
    cause: str


class EventAtPlace(Finding):
    sentence = "{place}: {cause}"
    place: str
    cause: str


_ROOMS: Final = (
    "shared.findings.agent",
    "agent.findings.events",
    "agent.findings.kubelet",
    "shared.findings.runtime",
    "core.findings.state_files",
    "insight.state.block_rules",
    "insight.state.cpu_rules",
    "insight.state.device_rules",
    "insight.state.memory_rules",
    "insight.state.native_rules",
    "insight.state.rebase",
    "insight.state.restart_check",
    "insight.state.state_drift",
    "insight.state.verify",
    "io.findings.devices",
    "io.findings.documents",
    "io.findings.files",
    "io.findings.pods",
)
"""Modules below ``numalet`` with classes that an event may contain."""


@cache
def _classes() -> Mapping[str, type[Finding]]:
    """Imported late, because most commands have no events."""
    rooms = (vars(import_module(f"numalet.{name}")) for name in _ROOMS)
    return recorded.by_code(each for room in rooms for each in room.values())


class Message(Value):
    """An event's text and its causes.

    Without causes the text is stored: an external manager's reasons have no code here.
    """

    text: str
    causes: tuple[Cause, ...] = ()


def message(finding: Finding, because: Iterable[Cause] = ()) -> Message:
    """Build a message; ``because`` replaces the finding's ``cause``."""
    of = Cause.of(finding)
    inner = tuple(because)
    if inner:
        of = Cause(of.code, {name: text for name, text in of.fields.items() if name != _CAUSE})
    causes = (of, *inner)
    # Keep the causes only if they reproduce the text exactly.
    return Message(str(finding), causes if text(causes) == str(finding) else ())


def located(finding: Finding) -> Message:
    """Build a message that starts with the finding's location."""
    place = finding.where.text
    if not place:
        return message(finding)
    return message(EventAtPlace(place=place, cause=str(finding)), [Cause.of(finding)])


def text(causes: Sequence[Cause]) -> str:
    """Build the text from at least one cause."""
    first, *others = causes
    cause = {_CAUSE: recorded.loss_sentence(others, _classes())} if others else {}
    return recorded.sentence(_classes(), first.code, {**first.fields, **cause})
