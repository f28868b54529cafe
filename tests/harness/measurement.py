"""Says which tests count for the coverage, so that one run of the suite both proves and measures.

The recorded decisions, the laws on drawn cases and tests with real machines and programs do not
count: code that they alone would cover lacks a test of its own. Neither do slow tests, which cover
nothing new. Measuring doubles the time of a test. Both run last, and the first of
them ends the measuring in its process for good: what is remembered from one test to the next, a
module imported at need or an agent that several ask, then never depends on who came first.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Final

import coverage
import pytest

_VARIABLE: Final = "COVERAGE_PROCESS_CONFIG"
"""By it coverage measures the programs that a measured one starts."""
_APART: Final = {"architecture", "conformance", "integration", "machines", "property"}


def counts(item: pytest.Item) -> bool:
    """Whether what this test covers is covered."""
    folder = item.path.relative_to(item.config.rootpath / "tests").parts[0]
    return folder not in _APART and item.get_closest_marker("slow") is None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put those that count first, if this run is measured."""
    if is_on():
        items.sort(key=lambda item: not counts(item))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the measuring before the first test that does not count."""
    if counts(item):
        return (yield)
    if (measuring := coverage.Coverage.current()) is not None:
        measuring.stop()
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(_VARIABLE, raising=False)
        return (yield)


def is_on() -> bool:
    """Whether what this process does is measured now."""
    return coverage.Coverage.current() is not None
