"""An exception that nobody retrieved is a line of the log, without the parsing of a traceback."""

from __future__ import annotations

import asyncio
import gc

import pytest


async def fail() -> None:
    raise ValueError("forgotten")


async def forget() -> None:
    # Its name is gone at once, so nobody can await it.
    asyncio.get_running_loop().create_task(fail())
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def test_it_is_logged_in_one_line(caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(forget())
    gc.collect()
    (record,) = (each for each in caplog.records if each.name == "asyncio")
    first, _, last = record.getMessage().partition("\n")
    assert first == "Task exception was never retrieved"
    assert last.endswith("ValueError('forgotten')")
    assert record.exc_info is None
    assert "Traceback" not in caplog.text
