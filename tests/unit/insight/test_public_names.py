"""The library as it is offered: its names, and the examples in its docstring."""

from __future__ import annotations

import doctest

import pytest

import numalet


def test_the_examples_of_the_library_hold() -> None:
    results = doctest.testmod(numalet)

    assert results.attempted > 8
    assert results.failed == 0


@pytest.mark.parametrize("name", numalet.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(numalet, name).__doc__


def test_the_public_names_are_listed_before_they_are_used() -> None:
    assert set(numalet.__all__) <= set(dir(numalet))


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = numalet.no_such_name
