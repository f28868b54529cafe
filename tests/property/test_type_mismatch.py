"""Where a value is not of its type: at the same place as msgspec says, which converts it."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from numalet.core.model.findings import Finding, Findings
from numalet.core.model.value import Mutable, Value
from numalet.insight import usecases
from numalet.io import documents
from numalet.io.documents.text import type_mismatch, typed
from numalet.io.documents.text.typed import Place

Natural = Annotated[int, msgspec.Meta(ge=0)]


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Part(msgspec.Struct, rename="camel"):
    first_name: str
    size: Natural = 0
    pair: tuple[str, int] = ("", 0)
    more: tuple[int, ...] = ()


class Whole(msgspec.Struct):
    a: Part
    b: list[Part] | None = None
    c: dict[str, int] = msgspec.field(default_factory=dict)
    d: int | str | None = None
    e: Literal["x", "y"] = "x"
    f: Colour = Colour.RED
    g: Annotated[float, msgspec.Meta(ge=0, le=9)] = 0.0
    h: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    i: bool = False
    j: Any = None
    n: object = None
    k: frozenset[str] = frozenset()
    m: Annotated[str, msgspec.Meta(pattern="^[a-z]*$", max_length=3)] = ""


SCALARS = st.sampled_from(
    [
        *(None, True, 0, 1, -1, 2**70, 0.5, 2.0, -0.5, 1e300, "", "x", "y", "red", "ABC", "abcd"),
        *("2026-01-31T12:00:00Z", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", b"", {1: 2}),
    ]
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "firstName": SCALARS,
        "size": SCALARS,
        "pair": st.lists(SCALARS, max_size=3),
        "more": st.lists(SCALARS, max_size=3),
        "other": SCALARS,
    },
)
ANY = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), PARTS)
WHOLES = st.fixed_dictionaries(
    {},
    optional={
        "a": st.one_of(st.just({"firstName": "n"}), PARTS, ANY),
        "b": st.one_of(st.lists(PARTS, max_size=3), ANY),
        "c": st.one_of(st.dictionaries(st.sampled_from(["p", "q", 3]), SCALARS), ANY),
        **dict.fromkeys("defghijkmn", ANY),
    },
)


def sentence_of(value: object) -> str | None:
    """What msgspec says of a value; None if it takes it."""
    try:
        msgspec.convert(value, Whole)
    except msgspec.ValidationError as error:
        return str(error)
    return None


@given(WHOLES)
def test_it_is_where_msgspec_says(value: object) -> None:
    mismatch, sentence = type_mismatch.first(value, Whole), sentence_of(value)
    if mismatch is None or sentence is None:
        assert (mismatch, sentence) == (None, None)
        event("as declared")
        return
    path = re.search(r"`\$([^`]*)`$", sentence)
    there = re.escape("" if path is None else path[1])
    pattern = there.replace(re.escape("[...]"), r"(\[\d+\]|\.[a-zA-Z]+)")
    assert re.fullmatch(pattern, mismatch.path), sentence
    assert (f"field `{mismatch.missing}`" in sentence) == bool(mismatch.missing)
    event("missing" if mismatch.missing else mismatch.expected)


def _structs() -> Iterator[type[msgspec.Struct]]:
    """Every shape of the readers."""
    for package in (documents, usecases):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for each in vars(importlib.import_module(module.name)).values():
                # Findings and records of our own are structs too, which nothing is decoded into.
                if not isinstance(each, type) or issubclass(each, Finding | Mutable | Value):
                    continue
                if issubclass(each, msgspec.Struct):
                    yield each


@pytest.mark.parametrize("value", [None, True, -(2**70), 0.5, "\ud800", b"", [], {}])
def test_no_shape_of_a_reader_has_a_type_that_is_unknown_here(value: object) -> None:
    shapes = list(_structs())
    assert shapes
    for shape in shapes:
        for each in msgspec.structs.fields(shape):
            type_mismatch.first({each.encode_name: value}, shape)
            type_mismatch.first({each.encode_name: [value]}, shape)
            type_mismatch.first({each.encode_name: {"a": value}}, shape)


@pytest.mark.parametrize(
    ("shape", "value", "text"),
    [
        (str, 5, "$: expected a text, got a whole number"),
        (int, "5", "$: expected a whole number, got a text"),
        (int, 0.5, "$: expected a whole number, got a number"),
        (list[str], ["a", None], "$[1]: expected a text, got null"),
        (dict[str, str], {"a": []}, "$.a: expected a text, got a list"),
        (dict[str, str], [], "$: expected an object, got a list"),
        (dict[str, str], {5: ""}, "$: expected an object with texts as member names, got"),
        (int | str | None, [], "$: expected a whole number or a text, got a list"),
        (
            Annotated[int, msgspec.Meta(ge=0)],
            -3,
            "$: expected a whole number of at least 0, got -3",
        ),
        (Colour, "green", "$: expected one of red, blue, got 'green'"),
        (Colour, 5, "$: expected a text, got a whole number"),
        (datetime, "noon", "$: expected a time such as 2026-01-31T12:00:00Z, got 'noon'"),
        (tuple[str, int], ["a"], "$: expected a list of 2, got a list of 1"),
        (Part, {}, "$: firstName is missing"),
    ],
)
def test_it_is_said_in_words(shape: Any, value: object, text: str) -> None:
    findings = Findings()
    assert typed.decode(value, shape, Place("doc"), findings) is None
    (found,) = findings.all
    assert found.where is not None
    said = (
        f"{found.fields['name']} is missing"
        if found.code == "document/field-missing"
        else "expected {expected}, got {got}".format(**found.fields)
    )
    assert f"{found.where.path}: {said}".startswith(text)
