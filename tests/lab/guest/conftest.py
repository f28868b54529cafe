"""Fixtures of tests that run inside a guest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.guest.groups import Group


@pytest.fixture
def group() -> Iterator[Group]:
    """A control group of its own, with all controllers; gone afterwards, with what is in it."""
    made = Group.top("test")
    yield made
    made.remove()
