"""Waiting for changes in folders, whether the kernel tells of them or not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import watchfiles

from numalet.io.files import folder_news

LONG_SECONDS = 60.0


def _waited(*folders: Path, seconds: float = LONG_SECONDS) -> float:
    began = time.monotonic()
    asyncio.run(folder_news.wait(folders, seconds))
    return time.monotonic() - began


def test_a_change_ends_the_waiting_if_it_concerns_the_caller(tmp_path: Path) -> None:
    async def scene() -> list[str]:
        asked: list[str] = []

        def concerns(path: Path) -> bool:
            asked.append(path.name)
            return path.name == "b"

        waiting = asyncio.create_task(folder_news.wait([tmp_path], LONG_SECONDS, concerns))
        async with asyncio.timeout(LONG_SECONDS):
            while "a" not in asked:
                (tmp_path / "a").touch()
                await asyncio.sleep(0.02)
            assert not waiting.done()
            while not waiting.done():
                (tmp_path / "b").touch()
                await asyncio.sleep(0.02)
            await waiting
        return asked

    assert {"a", "b"} == set(asyncio.run(scene()))


def test_nothing_is_waited_for_longer_than_it_is_said(tmp_path: Path) -> None:
    assert _waited(tmp_path, seconds=0.01) < LONG_SECONDS


@pytest.mark.parametrize("error", [OSError("watch limit"), RuntimeError("too many open files")])
def test_what_can_not_be_watched_is_checked_again_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    async def refused(*paths: Path, **_given: Any) -> AsyncIterator[None]:
        raise error
        yield

    monkeypatch.setattr(watchfiles, "awatch", refused)
    monkeypatch.setattr(folder_news, "UNWATCHED_SECONDS", 0.01)
    assert _waited(tmp_path) < LONG_SECONDS
    assert _waited(tmp_path / "nowhere") < LONG_SECONDS
