"""A follower through every way in which watches and lists end, one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections.abc import AsyncIterator
from typing import Any

import pytest

from numalet.io.kube_api import client
from numalet.io.kube_api.client import ApiClient, RequestLimits
from numalet.io.kube_api.follow import (
    ApiCollection,
    Changed,
    Connected,
    Deleted,
    Disconnected,
    Replaced,
    follow,
)
from numalet.io.kube_api.pace import Pace
from running import fake_api_server
from running.fake_api_server import Ending, FakeApiServer, Scripted
from running.fake_api_store import line
from running.followed import Follower, following, value_of

PATH = "/api/v1/namespaces/test/configmaps"
COLLECTION = ApiCollection(PATH)


class QuickClock:
    """Real time, but sleeping is over at once; what was slept is kept."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def now_seconds(self) -> float:
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


def pace(clock: QuickClock | None = None, **given: Any) -> Pace:
    return Pace(clock=clock or QuickClock(), fraction=lambda: 1.0, **given)


def valued(value: int) -> dict[str, Any]:
    return {"data": {"value": str(value)}}


@contextlib.asynccontextmanager
async def at_work(given: Pace | None = None) -> AsyncIterator[tuple[FakeApiServer, Follower]]:
    """A server with one object, and a follower that watches it."""
    async with fake_api_server.running() as server:
        server.put(f"{PATH}/a", valued(1))
        limits = RequestLimits(patience_seconds=0)
        async with (
            client.opened(server.access(), limits=limits) as api,
            following(api, COLLECTION, given or pace()) as follower,
        ):
            await server.watched(PATH)
            yield server, follower


def watches(server: FakeApiServer) -> list[str]:
    return [each.query["resourceVersion"] for each in server.requests if each.is_watch]


def lists(server: FakeApiServer) -> int:
    return len([each for each in server.requests if not each.is_watch and not is_probe(each)])


def is_probe(request: fake_api_server.Received) -> bool:
    return request.query.get("limit") == "1"


async def test_a_list_then_every_change() -> None:
    async with at_work() as (server, follower):
        server.put(f"{PATH}/b", valued(2))
        server.put(f"{PATH}/a", valued(3))
        server.remove(f"{PATH}/b")
        await follower.until_equal({"a": 3})
        assert follower.news == [
            Replaced({"a": 1}), Changed("b", 2), Changed("a", 3), Deleted("b"),
        ]  # fmt: skip


async def test_a_change_that_leaves_the_value_as_it_was_is_none() -> None:
    async with at_work() as (server, follower):
        server.put(f"{PATH}/a", {**valued(1), "metadata": {"labels": {"beside": "the point"}}})
        server.put(f"{PATH}/b", valued(2))
        await follower.until_equal({"a": 1, "b": 2})
        assert follower.news == [Replaced({"a": 1}), Changed("b", 2)]


async def test_an_item_that_is_of_interest_no_longer_is_deleted() -> None:
    def even(content: bytes) -> int | None:
        value = value_of(content)
        return None if value % 2 else value

    async with fake_api_server.running() as server:
        server.put(f"{PATH}/a", valued(1))
        async with (
            client.opened(server.access()) as api,
            following(api, COLLECTION, pace(), even) as follower,
        ):
            await server.watched(PATH)
            for value in (3, 4, 5, 7):
                server.put(f"{PATH}/a", valued(value))
            server.put(f"{PATH}/b", valued(8))
            await follower.until_equal({"b": 8})
            assert follower.news == [
                Replaced({}), Changed("a", 4), Deleted("a"), Changed("b", 8),
            ]  # fmt: skip


@pytest.mark.parametrize(
    "ending",
    [Ending.CLEAN_CLOSE, Ending.RESET, Ending.RESET_IN_LINE, Ending.END_IN_LINE, Ending.NO_JSON],
)
async def test_a_watch_goes_on_where_it_broke(ending: Ending) -> None:
    async with at_work() as (server, follower):
        server.put(f"{PATH}/b", valued(2))
        await follower.until_equal({"a": 1, "b": 2})
        await server.strike(ending)
        server.put(f"{PATH}/a", valued(3))
        await follower.until_equal({"a": 3, "b": 2})
        await server.watched(PATH)
        changes = [each for each in follower.news if isinstance(each, Replaced | Changed | Deleted)]
        assert changes == [Replaced({"a": 1}), Changed("b", 2), Changed("a", 3)]
        assert watches(server) == ["2", "3"]
        assert lists(server) == 1


@pytest.mark.parametrize(
    "ending", [Ending.GONE_EVENT, Ending.ERROR_EVENT, Ending.FORGOTTEN, Ending.RESTART]
)
async def test_what_was_not_seen_comes_with_a_list(ending: Ending) -> None:
    async with at_work() as (server, follower):
        await server.strike(ending)
        server.put(f"{PATH}/b", valued(2))
        server.remove(f"{PATH}/a")
        server.store.forget()
        await follower.until_equal({"b": 2})
        server.put(f"{PATH}/b", valued(3))
        await follower.until_equal({"b": 3})
        assert lists(server) > 1


async def test_a_bookmark_is_where_the_next_watch_begins() -> None:
    async with at_work() as (server, follower):
        server.put("/api/v1/namespaces/other/secrets/of-no-interest", {})
        await server.strike(Ending.BOOKMARK)
        await server.strike(Ending.CLEAN_CLOSE)
        await server.watched(PATH)
        assert watches(server) == ["2", "3"]
        assert follower.news == [Replaced({"a": 1})]


async def test_a_connection_whose_other_end_is_silent_is_given_up() -> None:
    async with at_work(pace(silence_seconds=0.3)) as (server, follower):
        await server.strike(Ending.HALF_OPEN)
        server.put(f"{PATH}/b", valued(2))
        await follower.until_equal({"a": 1, "b": 2})
        assert "no answer in time" in str(follower.of_type(Disconnected)[0])


async def test_a_restored_backup_is_noticed_by_its_lower_version() -> None:
    async with at_work() as (server, follower):
        backup = copy.deepcopy(server.store)
        for value in range(2, 9):
            server.put(f"{PATH}/a", valued(value))
        await follower.until_equal({"a": 8})
        await server.stop()
        server.restore(backup)
        await server.start()
        await follower.until_equal({"a": 1})
        server.put(f"{PATH}/b", valued(2))
        await follower.until_equal({"a": 1, "b": 2})


async def test_a_bookmark_of_a_lower_version_asks_for_a_list() -> None:
    async with at_work() as (server, follower):
        server.put(f"{PATH}/a", valued(2))
        await follower.until_equal({"a": 2})
        server.store.version = 1
        server.store.objects.clear()
        server.store.events.clear()
        await server.strike(Ending.BOOKMARK)
        await follower.until_equal({})


async def test_pages_are_of_one_moment() -> None:
    async with fake_api_server.running() as server:
        for number in range(10):
            server.put(f"{PATH}/{number}", valued(number))
        server.page_hook.append(lambda: server.put(f"{PATH}/9", valued(99)))
        async with (
            client.opened(server.access()) as api,
            following(api, COLLECTION, pace(page_items=3)) as follower,
        ):
            await follower.until_equal({**{str(n): n for n in range(9)}, "9": 99})
            assert follower.news == [
                Replaced({str(n): n for n in range(10)}), Changed("9", 99),
            ]  # fmt: skip
            assert [each.query["limit"] for each in server.requests if not each.is_watch] == (
                ["3"] * 4
            )


async def test_expired_pages_are_listed_again_and_never_mixed() -> None:
    async with fake_api_server.running() as server:
        for number in range(10):
            server.put(f"{PATH}/{number}", valued(number))
        first = iter(range(10))

        def strike() -> None:
            # It was on the first page.
            server.remove(f"{PATH}/{next(first)}")
            server.store.forget()

        server.page_hook += [strike, strike]
        async with (
            client.opened(server.access()) as api,
            following(api, COLLECTION, pace(page_items=1)) as follower,
        ):
            await follower.until(lambda: bool(follower.news))
            assert follower.news == [Replaced({str(n): n for n in range(2, 10)})]
            # Larger pages each time.
            limits = [each.query.get("limit") for each in server.requests if not each.is_watch]
            assert limits == ["1", "1", "4", "4", "16"]


async def test_a_list_that_never_lasts_as_long_as_its_pages_is_asked_for_without_pages() -> None:
    async with fake_api_server.running() as server:
        for number in range(100):
            server.put(f"{PATH}/{number}", valued(number))

        def strike() -> None:
            server.put(f"{PATH}/0", valued(0))
            server.store.forget()

        server.page_hook += [strike, strike, strike]
        async with (
            client.opened(server.access()) as api,
            following(api, COLLECTION, pace(page_items=1)) as follower,
        ):
            await follower.until_equal({str(n): n for n in range(100)})
            limits = [each.query.get("limit") for each in server.requests if not each.is_watch]
            assert limits == ["1", "1", "4", "4", "16", "16", None]


@pytest.mark.parametrize("size_bytes", [1, 7, 100, 150, 1000])
async def test_an_event_may_come_in_pieces_and_several_in_one(size_bytes: int) -> None:
    async with at_work() as (server, follower):
        lines = b"".join(
            line("MODIFIED", {**valued(n), "metadata": {"name": f"{n}", "resourceVersion": f"{n}"}})
            for n in range(3, 13)
        )
        pieces = [lines[at : at + size_bytes] for at in range(0, len(lines), size_bytes)]
        server.send(PATH, pieces)
        await follower.until_equal({"a": 1, **{str(n): n for n in range(3, 13)}})
        assert follower.news == [Replaced({"a": 1}), *(Changed(f"{n}", n) for n in range(3, 13))]


async def test_a_server_that_asks_to_wait_is_given_that_time() -> None:
    clock = QuickClock()
    async with at_work(pace(clock)) as (server, follower):
        server.scripted.append(Scripted(429, {"Retry-After": "17"}, b"{}", for_watch=True))
        await server.strike(Ending.CLEAN_CLOSE)
        await server.watched(PATH)
        assert 17.0 in clock.slept
        status = follower.of_type(Disconnected)[0]
        assert isinstance(status, Disconnected)
        assert status.status is not None
        assert status.status.code == 429
        # It has enough to do.
        assert lists(server) == 1


async def test_waiting_grows_while_nothing_works_and_is_short_again_after() -> None:
    clock = QuickClock()
    async with at_work(pace(clock)) as (server, follower):
        server.scripted += [Scripted(500, {}, b"no", for_watch=None) for _ in range(14)]
        await server.strike(Ending.RESET)
        await server.watched(PATH)
        grown = [0.5 * 1.5**n for n in range(15)]
        assert clock.slept == pytest.approx([min(30.0, each) for each in grown])
        server.put(f"{PATH}/a", valued(2))
        await follower.until_equal({"a": 2})
        await server.strike(Ending.RESET)
        await server.watched(PATH)
        assert clock.slept[-1] == 0.5
        assert max(clock.slept) == 30.0


async def test_who_is_disconnected_learns_when_it_is_over() -> None:
    async with at_work() as (server, follower):
        await server.strike(Ending.RESET)
        await follower.until(lambda: bool(follower.of_type(Connected)))
        kinds = [type(each) for each in follower.news]
        assert kinds == [Replaced, Disconnected, Connected]


async def test_a_collection_that_is_not_there_yet_is_asked_for_until_it_is() -> None:
    async with fake_api_server.running() as server:
        server.scripted += [Scripted(404, {}, b"404 page not found") for _ in range(2)]
        server.put(f"{PATH}/a", valued(1))
        async with (
            client.opened(server.access()) as api,
            following(api, COLLECTION, pace()) as follower,
        ):
            await follower.until_equal({"a": 1})
            first = follower.news[0]
            assert isinstance(first, Disconnected)
            assert "404 page not found" in first.why


async def test_items_that_stay_as_they_are_are_the_same_objects_after_a_list() -> None:
    class Boxed(list[int]):
        pass

    seen: list[object] = []
    async with fake_api_server.running() as server:
        server.put(f"{PATH}/a", valued(1))
        async with (
            client.opened(server.access()) as api,
            contextlib.aclosing(follow(api, COLLECTION, lambda _: Boxed([1]), pace=pace())) as news,
        ):
            async for each in news:
                assert isinstance(each, Replaced)
                seen.append(each.items["test/a"])
                if len(seen) == 2:
                    break
                strike = asyncio.create_task(_strike_when_watched(server))
            await strike
    assert seen[0] is seen[1]


async def _strike_when_watched(server: FakeApiServer) -> None:
    await server.watched(PATH)
    await server.strike(Ending.GONE_EVENT)


async def test_a_follower_that_is_closed_leaves_no_connection_behind() -> None:
    async with fake_api_server.running() as server, client.opened(server.access()) as api:
        assert isinstance(api, ApiClient)
        async with following(api, COLLECTION, pace()):
            await server.watched(PATH)
        await server.unwatched()
