"""Tasks side by side end together."""

from __future__ import annotations

import asyncio

import pytest

from numalet.io.tasks import together


async def test_the_first_exception_ends_all_others_and_is_raised_as_it_is() -> None:
    async with asyncio.timeout(100):
        began, ended = asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        async def fail() -> None:
            await began.wait()
            raise KeyError("one")

        async def both() -> None:
            async with together() as group:
                group.create_task(wait())
                group.create_task(fail())

        with pytest.raises(KeyError, match="one"):
            await both()
        assert ended.is_set()


async def test_an_exception_of_the_block_is_raised_as_it_is() -> None:
    with pytest.raises(KeyError, match="two"):
        async with together():
            raise KeyError("two")


async def test_what_all_give_is_there_after_the_block() -> None:
    async def given(number: int) -> int:
        await asyncio.sleep(0)
        return number

    async with together() as group:
        tasks = [group.create_task(given(number)) for number in range(3)]
    assert [each.result() for each in tasks] == [0, 1, 2]
