"""Asserts which findings bad input is refused with: by code, and by a part of the sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from numalet.core.model.findings import BadInput, Finding


@contextmanager
def refused_with(code: str, text: str = "") -> Iterator[pytest.ExceptionInfo[BadInput]]:
    """Inside it ``BadInput`` is raised, with a finding whose code matches and that has the text."""
    with pytest.raises(BadInput) as raised:
        yield raised
    found = [(finding.code, finding.located) for finding in raised.value.findings]
    assert any(re.search(code, each) and text in sentence for each, sentence in found), found


def refusal(code: str, act: Callable[[], object]) -> Finding:
    """The first finding with which this is refused; it has this code."""
    with refused_with(f"^{code}$") as raised:
        act()
    return raised.value.findings[0]
