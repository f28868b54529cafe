from __future__ import annotations

import pytest

from harness.bad_inputs import refused_with
from numalet.core.model.findings import (
    BadInput,
    Findings,
    Location,
    NoteFinding,
    Severity,
    worst_first,
)
from values.made_up import First, OnlyWarned, Second, Third


def test_findings_are_collected_and_raised_once() -> None:
    found = Findings()
    found.add(First(value=1, where=Location("f.yaml", "$.x", 3)))
    found.extend([Second()])

    with refused_with("a/first") as raised:
        found.raise_errors()

    assert raised.value.findings == found.all
    assert [f.code for f in found.all] == ["a/first", "b/second"]


def _broken() -> int:
    raise BadInput([Second(), Third()])


def test_the_findings_of_a_part_are_collected_with_the_others() -> None:
    found = Findings()
    found.add(First())

    assert found.collect(lambda: 7) == 7
    assert found.collect(_broken) is None
    assert [f.code for f in found.all] == ["a/first", "b/second", "c/third"]


def test_a_bug_in_a_part_is_not_collected() -> None:
    with pytest.raises(ZeroDivisionError):
        Findings().collect(lambda: 1 // 0)


def test_warnings_alone_raise_nothing() -> None:
    found = Findings()
    found.add(OnlyWarned())

    found.raise_errors()

    assert not found.has_errors


class Noted(NoteFinding):
    code = "a/noted"
    sentence = "noted"


def test_the_worst_come_first_and_others_keep_their_order() -> None:
    note, second, warned, first = Noted(), Second(), OnlyWarned(), First()
    assert worst_first([note, second, warned, first]) == (second, first, warned, note)
    assert list(Severity) == [Severity.ERROR, Severity.WARNING, Severity.NOTE]
