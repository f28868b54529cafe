"""Checks of single fields and of pairs, as rows: when a field is wrong, and the kubelet's text.

A text shows fields by their names: ``{maxPods}``. Durations are shown as Go shows them; ``:q``
quotes a text. ``validation`` has the rows in the kubelet's order.
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
    """A configuration that is checked, with the rules and gates that hold."""

    config: KubeletConfig
    rules: ReleaseRules
    gates: FeatureGates

    def __call__(self, field: str) -> Any:
        """The value of a field, after defaulting."""
        return kubelet_fields.value(self.config, field)

    def __getitem__(self, field: str) -> Any:
        """The value of a field for a text of the kubelet."""
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
    """If a rule of the release holds."""
    return lambda of: bool(getattr(of.rules, name))


def gate(name: str) -> When:
    """If a feature gate is on."""
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
    """A value that is wrong by itself; an absent one never is."""

    def is_given_and_wrong(of: Checked) -> bool:
        given = of(field)
        return given is not None and is_wrong(given)

    return _check(made, field, text, when, is_given_and_wrong)


def at_least(field: str, lowest: int, text: Text, *, when: When = always) -> Check:
    return value(field, lambda number: number < lowest, text, when=when)


def not_negative(field: str, flag: str) -> Check:
    return at_least(field, 0, f"{field} ({flag}) {{{field}}} must not be a negative number")


def in_range(field: str, flag: str, lowest: int, highest: int, shown: int | None = None) -> Check:
    """A number of a range, whose lowest number the kubelet may show wrong."""
    least = lowest if shown is None else shown
    text = f"{field} ({flag}) {{{field}}} must be between {least} and {highest}, inclusive"
    return value(field, lambda number: not lowest <= number <= highest, text)


def one_of(field: str, options: tuple[str, ...], text: Text, *, when: When = always) -> Check:
    return value(field, lambda given: given not in options, text, when=when)


def conflict(field: str, other: str, is_wrong: When, text: Text, *, when: When = always) -> Check:
    """A field that contradicts another one, or lacks it."""
    return _check(ConfigFieldsConflict, field, text, when, is_wrong, other=other)


def needs_gate(
    field: str, gate: str, text: Text, *, is_set: When | None = None, when: When = always
) -> Check:
    """A field that may only be set if a feature gate is on."""

    def is_missing(of: Checked) -> bool:
        given = is_set(of) if is_set is not None else bool(of(field))
        return given and not of.gates.enabled(gate)

    return _check(ConfigFieldNeedsGate, field, text, when, is_missing, gate=gate)
