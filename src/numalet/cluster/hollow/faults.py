"""Faults that a hollow node can simulate, and their times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Final

from numalet.core.model import go_duration, input_error
from numalet.core.model.findings import Findings, Location
from numalet.core.model.go_duration import DurationError
from numalet.core.model.value import Value


class Fault(Enum):
    """A fault; its value is the annotation on a Node that requests it."""

    REBOOT = "reboot"
    """All containers end, and the node is away for a while."""
    LOSE = "lose"
    """The node is silent from then on; its containers are unknown."""
    LIE = "lie"
    """The node publishes the state of an empty one."""


class PlannedFault(Value, order=True):
    """A node fails this many seconds after all are registered."""

    after_seconds: float
    node_name: str
    fault: Fault


OPTIONS: Final = {fault: f"--{fault.value}" for fault in Fault}


def planned(given: Iterable[tuple[Fault, str]], names: Sequence[str]) -> tuple[PlannedFault, ...]:
    """Parse faults such as ``hollow-7@30s``; the earliest first.

    Raises ``BadInput`` with everything that is wrong in them.
    """
    findings = Findings()
    known = frozenset(names)
    faults: list[PlannedFault] = []
    for fault, text in given:
        option = OPTIONS[fault]
        name, at, moment = text.rpartition("@")
        try:
            after_ns = go_duration.parse_ns(moment) if at and name else -1
        except DurationError:
            after_ns = -1
        if after_ns < 0:
            findings.add(
                input_error.Invalid(
                    f"invalid fault {text!r}",
                    expected="NODE@TIME, such as hollow-7@30s, with the time since all nodes exist",
                    where=Location(option),
                )
            )
        elif name not in known:
            findings.add(
                input_error.NotFound(
                    f"{text!r}: unknown node {name!r}",
                    expected=f"{names[0]} to {names[-1]}",
                    where=Location(option),
                )
            )
        else:
            faults.append(PlannedFault(after_ns / go_duration.SECOND_NS, name, fault))
    findings.raise_errors()
    return tuple(sorted(faults, key=lambda each: (each.after_seconds, each.node_name)))


def of_annotation(text: str) -> Fault | None:
    return next((fault for fault in Fault if fault.value == text.strip()), None)
