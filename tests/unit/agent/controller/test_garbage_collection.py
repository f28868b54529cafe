"""When the agent searches for garbage."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from numalet.agent.controller import main
from numalet.io.tasks import ended


class _Circle:
    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    # What was there before the test must be frozen again: to search thousands of tests for garbage
    # takes seconds each time.
    gc.unfreeze()
    gc.collect()
    gc.freeze()


@pytest.mark.slow
@pytest.mark.parametrize(("quiet", "longest"), [(0.01, 300.0), (300.0, 0.01)])
async def test_circles_are_found_when_it_is_quiet_or_has_not_been_for_long(
    quiet: float, longest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "_QUIET_SECONDS", quiet)
    monkeypatch.setattr(main, "_LONGEST_BUSY_SECONDS", longest)

    news: asyncio.Queue[int] = asyncio.Queue()
    tidying = asyncio.create_task(main.collect_garbage_when_quiet(news.get))
    circle = _Circle()
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    kept = weakref.ref(circle, lambda _: loop.call_soon(gone.set))
    gc.collect()
    gc.disable()
    try:
        del circle
        await asyncio.sleep(0)
        assert kept() is not None
        for each in range(3):
            news.put_nowait(each)
        await asyncio.wait_for(gone.wait(), 100)
    finally:
        gc.enable()
        await ended(tidying)


@pytest.mark.slow
def test_what_a_start_leaves_is_not_searched_again() -> None:
    main.freeze_start_objects()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[0] > 1_000
