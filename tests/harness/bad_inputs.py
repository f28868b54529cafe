"""Asserts which findings bad input is refused with: by code, whatever their words are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from numalet.core.model.findings import BadInput, Finding


@contextmanager
def refused_with(code: str) -> Iterator[pytest.ExceptionInfo[BadInput]]:
    """Inside it ``BadInput`` is raised, and the code of one of its findings matches."""
    with pytest.raises(BadInput) as raised:
        yield raised
    codes = [finding.code for finding in raised.value.findings]
    assert any(re.search(code, each) for each in codes), codes


def refusal(code: str, act: Callable[[], object]) -> Finding:
    """The first finding with which this is refused; it has this code."""
    with refused_with(f"^{code}$") as raised:
        act()
    return raised.value.findings[0]
