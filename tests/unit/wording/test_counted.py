"""A number with its noun."""

from __future__ import annotations

import pytest

from numalet.wording import english


@pytest.mark.parametrize(("count", "text"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods")])
def test_only_one_is_singular(count: int, text: str) -> None:
    assert english.counted(count, "pod") == text
