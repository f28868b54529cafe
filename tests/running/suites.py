"""Suites that need more than Python run where they are asked for, and say why where they can not.

``NUMALET_<SUITE>=1`` asks for a suite. With ``NUMALET_REQUIRE_<SUITE>=1`` what can not run is a
failure instead of a skip.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def is_required(suite: str) -> bool:
    """Whether tests of this suite may not be skipped."""
    return bool(os.environ.get(f"NUMALET_REQUIRE_{suite}"))


def skip_unless_asked(suite: str, why: str) -> None:
    """Skip what needs this suite, unless the environment asks for it."""
    if not os.environ.get(f"NUMALET_{suite}") and not is_required(suite):
        pytest.skip(why)


def can_not_run(suite: str, why: str) -> NoReturn:
    """Skip for this reason, or fail where the suite is required."""
    if is_required(suite):
        pytest.fail(f"{suite.lower()} is required and can not run: {why}")
    pytest.skip(f"{suite.lower()} can not run: {why}")
