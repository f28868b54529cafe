"""Values: immutable, compared by their fields, and dataclasses to whoever asks."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

import pytest

from numalet.core.model.value import Value, field, replace

NOTHING: Mapping[str, int] = MappingProxyType({})


class Point(Value):
    kind: ClassVar[str] = "point"
    x: int
    y: int = 0


class NamedPoint(Point, kw_only=True):
    name: str
    marks: Mapping[str, int] = NOTHING
    lines: list[str] = field(default_factory=list)


class Circle(Value, dict=True):
    radius: int

    @cached_property
    def area(self) -> int:
        return 3 * self.radius**2


def test_what_is_derived_from_a_value_can_not_be_changed_either() -> None:
    for each in (Point(1), NamedPoint(1, name="a"), Circle(1)):
        with pytest.raises(AttributeError):
            setattr(each, each.__struct_fields__[0], 5)


def test_values_of_one_class_with_the_same_fields_are_equal_and_have_one_hash() -> None:
    assert Point(1, 2) == Point(1, 2)
    assert len({Point(1, 2), Point(1, 2), Point(2, 1)}) == 2
    assert Point(1) != NamedPoint(1, name="a")


def test_a_replaced_field_makes_another_value() -> None:
    before = Point(1, 2)
    assert replace(before, x=3) == Point(3, 2) == dataclasses.replace(before, x=3)
    assert before == Point(1, 2)


def test_what_follows_is_computed_once_and_for_each_value() -> None:
    small = Circle(1)
    assert small.area is small.area
    assert replace(small, radius=2).area == 12


def test_a_value_is_a_dataclass_to_whoever_asks() -> None:
    named = NamedPoint(1, name="a")
    assert dataclasses.is_dataclass(named)
    fields = {each.name: (each.type, each.default) for each in dataclasses.fields(named)}
    assert fields["x"] == ("int", dataclasses.MISSING)
    assert fields["y"] == ("int", 0)
    assert fields["lines"] == ("list[str]", dataclasses.MISSING)
    factories = {each.name: each.default_factory for each in dataclasses.fields(named)}
    assert factories["lines"] is list
    # It has no hash on some releases of Python, and is no default of a dataclass there.
    marks = factories["marks"]
    assert marks is dataclasses.MISSING or marks() is NOTHING
    assert dataclasses.asdict(Point(1, 2)) == {"x": 1, "y": 2}


def test_values_are_copied_and_pickled() -> None:
    # A mapping that can not be changed can not be pickled, as in a dataclass.
    named = NamedPoint(1, name="a", marks={"b": 2})
    assert copy.copy(named) == pickle.loads(pickle.dumps(named)) == named
