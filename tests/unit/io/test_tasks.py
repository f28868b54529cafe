"""Tasks side by side end together."""

from __future__ import annotations

import asyncio

import pytest

from numalet.io.tasks import beside, ended, together


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


async def test_what_goes_on_beside_a_block_is_over_at_its_end() -> None:
    async with beside(asyncio.Event().wait()) as task:
        await asyncio.sleep(0)
        assert not task.done()
    assert task.cancelled()


async def test_what_was_raised_beside_a_block_is_raised_at_its_end() -> None:
    async def fail() -> None:
        raise KeyError("beside")

    reached: list[str] = []

    async def block() -> None:
        async with beside(fail()) as task:
            await asyncio.wait((task,))
            reached.append("the end")

    with pytest.raises(KeyError, match="beside"):
        await block()
    assert reached == ["the end"]


async def test_an_exception_of_the_block_goes_before_what_was_raised_beside_it() -> None:
    async def fail() -> None:
        raise KeyError("beside")

    async def both() -> None:
        async with beside(fail()) as task:
            await asyncio.wait((task,))
            raise ValueError("of the block")

    with pytest.raises(ValueError, match="of the block"):
        await both()


async def test_tasks_are_over_before_it_goes_on() -> None:
    over: list[str] = []

    async def slow(name: str) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            over.append(name)

    tasks = [asyncio.create_task(slow(name)) for name in ("one", "two")]
    await asyncio.sleep(0)
    await ended(*tasks)
    assert over == ["one", "two"]
    await ended()
