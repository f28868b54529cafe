"""What a follower has got, and whether that can be what happened."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from numalet.io.kube_api import follow
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import (
    ApiCollection,
    Changed,
    Connected,
    Deleted,
    Disconnected,
    News,
    Replaced,
)
from numalet.io.kube_api.pace import Pace

PATIENCE_SECONDS = 200
"""Only a follower that is wrong is waited for as long as this."""


class _Valued(msgspec.Struct):
    data: dict[str, str]


def value_of(content: bytes) -> int:
    """The number that a writer put into the object."""
    return int(msgspec.json.decode(content, type=_Valued).data["value"])


@dataclass(frozen=True)
class Written:
    """One change by the writer; None for a value that was removed."""

    key: str
    value: int | None


@dataclass
class History:
    """All that one writer did, in order; nobody else writes."""

    changes: list[Written] = field(default_factory=list)

    def state(self, count: int | None = None) -> dict[str, int]:
        """What there was after so many changes; after all of them for None."""
        result: dict[str, int] = {}
        for each in self.changes[:count]:
            if each.value is None:
                result.pop(each.key, None)
            else:
                result[each.key] = each.value
        return result

    def contradicts(self, news: list[News[int]]) -> str:
        """Why these news are not of this history; empty if they are.

        A list is the state at some moment that is not before what was passed on, and what
        follows it is every change from then on, each once.
        """
        states = [self.state(count) for count in range(len(self.changes) + 1)]
        moments = set(range(len(states)))
        for number, each in enumerate(news):
            match each:
                case Replaced(items):
                    first = min(moments)
                    moments = {
                        moment for moment in range(first, len(states)) if states[moment] == items
                    }
                case Changed(key, value):
                    moments = self._after(moments, Written(key, value))
                case Deleted(key):
                    moments = self._after(moments, Written(key, None))
                case Disconnected() | Connected():
                    pass
            if not moments:
                return (
                    f"number {number}, {each}, can not be after {news[max(0, number - 3) : number]}"
                )
        return ""

    def _after(self, moments: set[int], change: Written) -> set[int]:
        return {
            moment + 1
            for moment in moments
            if moment < len(self.changes) and self.changes[moment] == change
        }


class Follower:
    """Follows, and keeps all news and what they come to."""

    def __init__(self) -> None:
        self.news: list[News[int]] = []
        self.items: dict[str, int] = {}
        self._changed = asyncio.Condition()

    async def run(
        self,
        api: ApiClient,
        collection: ApiCollection,
        pace: Pace,
        decode: Callable[[bytes], int | None] = value_of,
    ) -> None:
        """Follow until it is cancelled."""
        async with contextlib.aclosing(
            follow.follow(api, collection, decode, lambda meta: meta.name, pace)
        ) as news:
            async for each in news:
                async with self._changed:
                    self.news.append(each)
                    self._take_in(each)
                    self._changed.notify_all()

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Wait until it is so, which is asked after all news."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._changed:
            await self._changed.wait_for(is_so)

    async def until_equal(self, items: Mapping[str, int]) -> None:
        try:
            await self.until(lambda: self.items == items)
        except TimeoutError:
            assert self.items == items

    def of_type(self, kind: type[object]) -> list[object]:
        """The news of one class."""
        return [each for each in self.news if isinstance(each, kind)]

    def _take_in(self, news: News[int]) -> None:
        match news:
            case Replaced(items):
                self.items = dict(items)
            case Changed(key, item):
                self.items[key] = item
            case Deleted(key):
                del self.items[key]
            case _:
                pass


@contextlib.asynccontextmanager
async def following(
    api: ApiClient,
    collection: ApiCollection,
    pace: Pace,
    decode: Callable[[bytes], int | None] = value_of,
) -> AsyncIterator[Follower]:
    """A follower at work until the end of the block."""
    follower = Follower()
    task = asyncio.create_task(follower.run(api, collection, pace, decode))
    try:
        yield follower
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
