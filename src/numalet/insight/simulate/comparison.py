"""Compare a recorded outcome of a scenario with a computed one.

An expectation with both initial states is a *full record*: there, a missing field is a statement
(no ``memory``: the pod was rejected), so a computed field that was not recorded is a difference
too. An expectation written by hand may contain only its subject.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from numalet.core.model.value import UNSET, Value

SKIPPABLE: Final = ("devices", "devices_by_numa")
"""Fields that a step may declare as nondeterministic."""

_SKIPPED_TEXT_STAGE: Final = "node-allocatable"
_GATE_NEEDS: Final = re.compile(
    r"(\w+) is enabled, but depends on features that are disabled: \[([^]]*)\]"
)
_INITIAL_STATES: Final = ("initial_cpu_state", "initial_memory_state")
_NEVER_SURPLUS: Final = frozenset(
    {
        "cpu_state_raw",
        "memory_state_raw",
        "initial_cpu_state_raw",
        "initial_memory_state_raw",
        "memory_state_blocks",
        "start_error_by_chance",
    }
)
"""Other forms of data that is compared anyway; they may be missing in a record."""
_CAUSES: Final = ("start_error_stage", "start_error", "uid", "admitted", "reason", "message")
"""Fields compared first, because the other differences follow from them."""


ABSENT: Final = UNSET
"""The side of a difference that has no value."""


class OutcomeDifference(Value):
    """A place where the outcomes differ, such as ``steps[3].memory_state.checksum``."""

    path: str
    expected: Any
    actual: Any


def compare(
    expected: Mapping[str, Any], actual: Mapping[str, Any]
) -> tuple[OutcomeDifference, ...]:
    """Return every difference, causes before consequences."""
    return tuple(differences(expected, actual))


def first_difference(
    expected: Mapping[str, Any], actual: Mapping[str, Any]
) -> OutcomeDifference | None:
    return next(differences(expected, actual), None)


def differences(
    expected: Mapping[str, Any], actual: Mapping[str, Any]
) -> Iterator[OutcomeDifference]:
    full = all(name in expected for name in _INITIAL_STATES)
    comparer = _Comparer(_surplus_fields if full else _no_surplus)
    yield from comparer.outcome("", expected, actual)


_Surplus = Callable[[Mapping[str, Any], Mapping[str, Any]], Iterator[str]]


def _surplus_fields(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> Iterator[str]:
    """Yield computed fields that a full record should contain."""
    unimportant = _NEVER_SURPLUS.union(_skipped(expected))
    for name, value in actual.items():
        if name not in expected and name not in unimportant and value is not None:
            yield name


def _no_surplus(_expected: Mapping[str, Any], _actual: Mapping[str, Any]) -> Iterator[str]:
    return iter(())


class _Comparer(Value):
    surplus: _Surplus

    def outcome(self, path: str, expected: Any, actual: Any) -> Iterator[OutcomeDifference]:
        """Yield the differences of a whole outcome, of a step, or of a readmitted pod."""
        if not isinstance(expected, Mapping) or not isinstance(actual, Mapping):
            yield from _values(path, expected, actual)
            return
        skipped = _skipped(expected)
        for name in _causes_first(expected):
            value, place = expected[name], _member(path, name)
            if name == "nondeterministic":
                yield from _declaration(place, value)
            elif name in skipped or _is_skipped_text(name, value, actual):
                continue
            elif name not in actual:
                yield OutcomeDifference(place, value, ABSENT)
            elif name in ("steps", "readmitted"):
                yield from _lists(place, value, actual[name], self.outcome)
            else:
                yield from _values(place, value, actual[name])
        for name in self.surplus(expected, actual):
            yield OutcomeDifference(_member(path, name), ABSENT, actual[name])


def devices_varied(expected: Mapping[str, Any]) -> bool:
    """Return whether chance decided which devices a container of this outcome got."""
    parts: list[Any] = [expected, *_items(expected, "steps")]
    parts += [each for step in parts for each in _items(step, "readmitted")]
    return any(isinstance(part, Mapping) and _skipped(part) for part in parts)


def _items(value: Any, name: str) -> Sequence[Any]:
    listed = value.get(name) if isinstance(value, Mapping) else None
    return listed if isinstance(listed, list) else ()


def _causes_first(expected: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in _CAUSES if name in expected)
    yield from (name for name in expected if name not in _CAUSES)


def _skipped(expected: Mapping[str, Any]) -> tuple[str, ...]:
    declared = expected.get("nondeterministic")
    if not isinstance(declared, Sequence):
        return ()
    return tuple(name for name in SKIPPABLE if name in declared)


def _declaration(path: str, declared: Any) -> Iterator[OutcomeDifference]:
    """Check the content of ``nondeterministic`` itself."""
    if not isinstance(declared, list):
        yield OutcomeDifference(path, declared, list(SKIPPABLE))
        return
    for index, name in enumerate(declared):
        if name not in SKIPPABLE:
            yield OutcomeDifference(f"{path}[{index}]", name, list(SKIPPABLE))


def _is_skipped_text(name: str, expected: Any, actual: Mapping[str, Any]) -> bool:
    """Return whether this is the text of a start error that is not reproducible."""
    if name != "start_error" or not isinstance(expected, str):
        return False
    return (
        actual.get("start_error_stage") == _SKIPPED_TEXT_STAGE
        # If several gates cannot be set, the kubelet names one of them by chance.
        or expected in actual.get("start_error_by_chance", ())
        or _in_another_order(expected, actual.get(name))
    )


def _in_another_order(expected: str, actual: object) -> bool:
    """Return whether both texts complain about the same missing gates in any order."""
    if not isinstance(actual, str) or _GATE_NEEDS.search(expected) is None:
        return False
    # The kubelet walks a Go map of feature gates, whose order is random.
    return _gate_needs(expected) == _gate_needs(actual)


def _gate_needs(text: str) -> tuple[str, list[tuple[str, list[str]]]]:
    """Split a text into its rest and its complaints: each gate and the gates it requires."""
    needs = [(gate, sorted(lacking.split(", "))) for gate, lacking in _GATE_NEEDS.findall(text)]
    return _GATE_NEEDS.sub("", text), sorted(needs)


_Items = Callable[[str, Any, Any], Iterator[OutcomeDifference]]


def _lists(path: str, expected: Any, actual: Any, items: _Items) -> Iterator[OutcomeDifference]:
    if not isinstance(expected, list) or not isinstance(actual, list):
        yield from _values(path, expected, actual)
        return
    for index in range(max(len(expected), len(actual))):
        place = f"{path}[{index}]"
        if index >= len(actual):
            yield OutcomeDifference(place, expected[index], ABSENT)
        elif index >= len(expected):
            yield OutcomeDifference(place, ABSENT, actual[index])
        else:
            yield from items(place, expected[index], actual[index])


def _values(path: str, expected: Any, actual: Any) -> Iterator[OutcomeDifference]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for name, value in expected.items():
            place = _member(path, name)
            if name in actual:
                yield from _values(place, value, actual[name])
            else:
                yield OutcomeDifference(place, value, ABSENT)
        # Inside a field, absence is a statement: a container that is missing in ``memory`` has no
        # memory.
        for name, value in actual.items():
            if name not in expected:
                yield OutcomeDifference(_member(path, name), ABSENT, value)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _lists(path, expected, actual, _values)
    # 1 and True are equal in Python, and different in JSON.
    elif type(expected) is not type(actual) or expected != actual:
        yield OutcomeDifference(path, expected, actual)


def _member(path: str, name: str) -> str:
    """Return the path of a member; names with special characters are quoted in brackets."""
    text = str(name)
    if text.replace("-", "").replace("_", "").isalnum():
        return f"{path}.{text}" if path else text
    return f'{path}["{text}"]'
