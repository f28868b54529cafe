"""Asserts which findings bad input is refused with: by code, whatever their words are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from numalet.core.model.findings import BadInput


@contextmanager
def refused_with(code: str) -> Iterator[pytest.ExceptionInfo[BadInput]]:
    """Inside it ``BadInput`` is raised, and the code of one of its findings matches."""
    with pytest.raises(BadInput) as raised:
        yield raised
    codes = [finding.code for finding in raised.value.findings]
    assert any(re.search(code, each) for each in codes), codes
