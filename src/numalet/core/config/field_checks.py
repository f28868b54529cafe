"""Checks of single fields and of pairs: rows of a condition and the kubelet's text.

A text shows fields by name (``{maxPods}``), durations like Go, and ``:q`` quotes. ``validation``
has the rows in the kubelet's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from numalet.core.config import kubelet_fields
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import ReleaseRules
from numalet.core.findings.kubelet_fields import (
    ConfigFieldNeedsGate,
    ConfigFieldsConflict,
    ConfigFieldValue,
    FieldFinding,
)
from numalet.core.model import go_duration
from numalet.core.model.findings import Finding
from numalet.core.model.go_text import GoText
from numalet.core.model.value import Value

_DURATION: Final = "duration"


class Checked(Value):
    config: KubeletConfig
    rules: ReleaseRules
    gates: FeatureGates

    def __call__(self, field: str) -> Any:
        """Return the value of a field, after defaulting."""
        return kubelet_fields.value(self.config, field)

    def __getitem__(self, field: str) -> Any:
        value = self(field)
        if kubelet_fields.FIELDS[field].type == _DURATION:
            return go_duration.text(value)
        return GoText(value) if isinstance(value, str) else value


Check = Callable[[Checked], Iterator[Finding]]
When = Callable[[Checked], bool]
Text = str | Callable[[Checked], str]


def always(_of: Checked) -> bool:
    return True


def rule(name: str) -> When:
    return lambda of: bool(getattr(of.rules, name))


def gate(name: str) -> When:
    return lambda of: of.gates.enabled(name)


def _check(
    made: type[FieldFinding], field: str, text: Text, when: When, is_wrong: When, **more: Any
) -> Check:
    def check(of: Checked) -> Iterator[Finding]:
        if when(of) and is_wrong(of):
            problem = text.format_map(of) if isinstance(text, str) else text(of)
            yield made(field=field, problem=problem, where=of.config.where(field), **more)

    return check


def value(
    field: str,
    is_wrong: Callable[[Any], bool],
    text: Text,
    *,
    when: When = always,
    made: type[FieldFinding] = ConfigFieldValue,
) -> Check:
    """Make a check of one value; an absent value always passes."""

    def is_given_and_wrong(of: Checked) -> bool:
        given = of(field)
        return given is not None and is_wrong(given)

    return _check(made, field, text, when, is_given_and_wrong)


def at_least(field: str, lowest: int, text: Text, *, when: When = always) -> Check:
    return value(field, lambda number: number < lowest, text, when=when)


def not_negative(field: str, flag: str) -> Check:
    return at_least(field, 0, f"{field} ({flag}) {{{field}}} must not be a negative number")


def in_range(field: str, flag: str, lowest: int, highest: int, shown: int | None = None) -> Check:
    """Make a check of a range; ``shown`` replaces the minimum in the kubelet's text."""
    least = lowest if shown is None else shown
    text = f"{field} ({flag}) {{{field}}} must be between {least} and {highest}, inclusive"
    return value(field, lambda number: not lowest <= number <= highest, text)


def one_of(field: str, options: tuple[str, ...], text: Text, *, when: When = always) -> Check:
    return value(field, lambda given: given not in options, text, when=when)


def conflict(field: str, other: str, is_wrong: When, text: Text, *, when: When = always) -> Check:
    """Make a check of a field that contradicts another one or requires it."""
    return _check(ConfigFieldsConflict, field, text, when, is_wrong, other=other)


def needs_gate(
    field: str, gate: str, text: Text, *, is_set: When | None = None, when: When = always
) -> Check:
    def is_missing(of: Checked) -> bool:
        given = is_set(of) if is_set is not None else bool(of(field))
        return given and not of.gates.enabled(gate)

    return _check(ConfigFieldNeedsGate, field, text, when, is_missing, gate=gate)
