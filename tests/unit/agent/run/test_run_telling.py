"""What the user of a command hears when there is no place for it."""

from __future__ import annotations

import os
from typing import Any

import msgspec
import pytest

from numalet.agent.run import placement_notes
from numalet.agent.run.request import Voice
from numalet.core.model.findings import Finding
from numalet.insight.explain import story
from numalet.insight.explain.cases import Case
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import explanation_document, run_document
from numalet.insight.output.run_document import RunDocument
from values.builders import simple
from values.explain_bench import asking, case, narrow

REFUSED = run_document.refused(
    simple("huge", "25Gi"), "OutOfcpu", "Node has too few.", fits_when_empty=True, by="agent"
)
ASKED = case(asking(narrow(), memory="50Gi"))
REJECTED = explanation_document.explanation(ASKED, story.trace(ASKED), ())
ADMITTED = msgspec.structs.replace(REJECTED, admitted=True)


def heard(told: Explanation | None, *, as_document: bool = False) -> list[Any]:
    """Everything that a voice is asked to say."""
    said: list[Any] = []

    def tell(finding: Finding) -> None:
        said.append(finding.located)

    def explained(_case: Case, _running: int) -> Explanation:
        raise AssertionError

    def show(document: RunDocument) -> None:
        said.append(document)

    def explain(told: Explanation, by: str) -> None:
        assert by == "agent"
        said.append(told)

    voice = Voice(tell, explained, explain, show if as_document else None)
    placement_notes.refused(REFUSED, told, voice)
    return said


def test_cpus_outside_the_inherited_affinity_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    placed = msgspec.structs.replace(REFUSED, admitted=True, cpus="1-2")

    def codes(inherited: set[int]) -> list[str]:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: inherited)
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        return [each.code for each in placement_notes.held(placed)]

    assert codes({0, 1, 2, 3}) == ["run/held-by-process"]
    assert codes({0, 1}) == ["run/held-by-process", "run/outside-affinity"]
    _, note = placement_notes.held(placed)
    assert str(note) == "CPU 2: outside the CPU affinity that this process inherited (CPUs 0-1)"


def test_there_is_a_story_to_tell() -> None:
    assert not REJECTED.admitted


def test_a_refusal_is_told_as_a_story() -> None:
    assert heard(REJECTED) == [REJECTED]


def test_without_a_story_that_fits_the_refusal_speaks_for_itself() -> None:
    assert heard(None) == heard(ADMITTED) == ["OutOfcpu: Node has too few."]


def test_a_document_has_the_story_in_it() -> None:
    (document,) = heard(REJECTED, as_document=True)
    assert document.explanation == REJECTED
    assert document == msgspec.structs.replace(REFUSED, explanation=REJECTED)


def test_a_document_without_a_story_that_fits_has_none() -> None:
    assert heard(ADMITTED, as_document=True) == heard(None, as_document=True) == [REFUSED]
