"""The place of a command as notes for its user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import msgspec

from numalet.agent.controller.run_holders import CONTAINER
from numalet.agent.findings import run
from numalet.agent.findings.run import RunOutsideAffinity, RunRefused, RunRootless
from numalet.agent.run.placing import NoPlace
from numalet.agent.run.request import Voice
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.snapshot import placement
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument
from numalet.wording import numbers

_MOST_NAMED: Final = 5


def held(place: RunDocument) -> Iterator[Finding]:
    yield run.held(place)
    inherited = frozenset(os.sched_getaffinity(0))
    outside = cpu_set.parse(place.cpus or place.shared_cpus) - inherited
    if outside:
        yield RunOutsideAffinity(cpus=numbers.cpus(outside), inherited=numbers.cpus(inherited))
    if os.geteuid() != 0:
        yield RunRootless()


def refused(place: RunDocument, explanation: Explanation | None, voice: Voice) -> None:
    """Report a refusal, with ``explanation`` if there is one."""
    # The explanation covers the managers only. If they would admit the pod, another check rejected
    # it or room became free since, and the explanation would contradict the refusal.
    if explanation is not None and explanation.admitted:
        explanation = None
    if voice.show is not None:
        voice.show(msgspec.structs.replace(place, explanation=explanation))
    elif explanation is not None:
        voice.explain(explanation, place.decided_by)
    else:
        voice.report(RunRefused(reason=place.reason, message=place.message))


def holders(answer: NoPlace) -> str:
    """Names and allocations of the other commands; empty without any."""
    lines = []
    for each in answer.holders[:_MOST_NAMED]:
        held = placement.of_container(answer.node.snapshot, each.uid, CONTAINER)
        what = numbers.cpus(held.cpus) if held.cpus else "the shared CPUs"
        lines.append(f"process {each.pid} ({each.command}) has {what}")
    if len(answer.holders) > _MOST_NAMED:
        lines.append("...")
    return "; ".join(lines)
