"""Kinds of differences between the outcomes that two releases have of one scenario."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from numalet.insight.simulate import comparison
from numalet.insight.simulate.comparison import ABSENT, OutcomeDifference

_KIND_OF_FIELD: Final = {
    "admitted": "decision: admitted or rejected",
    "reason": "decision: other text",
    "message": "decision: other text",
    "cpuset": "allocation",
    "memory": "allocation",
    "devices": "allocation",
    "devices_by_numa": "allocation",
    "merged": "merged hint",
    "affinity": "merged hint",
    "hints": "hints only",
}
ORDER: Final = (
    "start: the error is gone",
    "start: there is a new error",
    "start: other stage",
    "start: other text",
    *dict.fromkeys(_KIND_OF_FIELD.values()),
    "state file: other values",
    "state file: other members",
    "other",
)
"""The kinds, the most important first."""


def most_important(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the kind and the text of the most important difference, or None if there is none."""
    found = [(ORDER.index(kind), kind, text) for kind, text in _differences(before, after)]
    if not found:
        return None
    _, kind, text = min(found)
    return kind, text


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    first, second = without_chance(before, after)
    for difference in comparison.compare(first, second):
        yield _kind(difference), _text(difference)


def without_chance(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both outcomes without the fields that one of them calls nondeterministic."""
    first, second = copy.deepcopy(dict(before)), copy.deepcopy(dict(after))
    for one, other in _pairs(first, second):
        marks = {*one.pop("nondeterministic", ()), *other.pop("nondeterministic", ())}
        for field in marks:
            one.pop(field, None)
            other.pop(field, None)
    return first, second


def _pairs(
    first: dict[str, Any], second: dict[str, Any]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for one, other in zip(first.get("steps", ()), second.get("steps", ()), strict=False):
        yield one, other
        yield from zip(one.get("readmitted", ()), other.get("readmitted", ()), strict=False)


def _kind(difference: OutcomeDifference) -> str:
    fields = re.sub(r"\[[^]]*\]", "", difference.path).split(".")
    field = next((each for each in fields if each not in ("steps", "readmitted")), "")
    if field == "start_error":
        if difference.expected is None or difference.expected is ABSENT:
            return "start: there is a new error"
        if difference.actual is None or difference.actual is ABSENT:
            return "start: the error is gone"
        return "start: other text"
    if field == "start_error_stage":
        # A start that succeeds has no stage; the field start_error says the same.
        has_both = ABSENT not in (difference.expected, difference.actual)
        return "start: other stage" if has_both else "start: other text"
    if field.endswith("_state"):
        is_member = ABSENT in (difference.expected, difference.actual)
        return "state file: other members" if is_member else "state file: other values"
    return _KIND_OF_FIELD.get(field, "other")


def _text(difference: OutcomeDifference) -> str:
    before, after = (_brief(each) for each in (difference.expected, difference.actual))
    return f"{difference.path}: before {before}, now {after}"


def _brief(value: object) -> str:
    text = "nothing" if value is ABSENT else repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
