"""The event loop of a test hides one exception of gRPC, and no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from harness.loop_of_one_test import LoopOfOneTest

OF_GRPC = "Exception in callback PollerCompletionQueue._handle_events(<loop>)()"
CLOSED = RuntimeError("Event loop is closed")


async def test_coroutines_run_in_it() -> None:
    assert isinstance(asyncio.get_running_loop(), LoopOfOneTest)


@pytest.mark.parametrize(
    ("message", "error", "is_passed_on"),
    [
        (OF_GRPC, CLOSED, False),
        (OF_GRPC, RuntimeError("something else"), True),
        ("Exception in callback Controller.step()", CLOSED, True),
    ],
)
def test_only_calls_of_closed_loops_are_hidden(
    message: str, error: Exception, is_passed_on: bool
) -> None:
    seen: list[dict[str, Any]] = []
    loop = LoopOfOneTest()
    try:
        loop.set_exception_handler(lambda _, context: seen.append(context))
        loop.call_exception_handler({"message": message, "exception": error})
    finally:
        loop.close()
    assert bool(seen) is is_passed_on
