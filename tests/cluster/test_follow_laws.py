"""Laws of following, whatever strikes: of a fake API server in every run, and of a real one.

One writer changes objects at random while watches, connections and the server itself end at
random. Whenever it is quiet the follower has what the server has; and what it passed on is the
writer's history, from the moment of each list on, with nothing left out and nothing added.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from random import Random
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from harness import thoroughness
from numalet.io.kube_api import access, client
from numalet.io.kube_api.access import Access
from numalet.io.kube_api.client import RequestLimits
from numalet.io.kube_api.follow import ApiCollection, Replaced
from numalet.io.kube_api.listing import listed
from numalet.io.kube_api.pace import Pace
from running import breakable_proxy, fake_api_server
from running.breakable_proxy import BreakableProxy
from running.fake_api_server import Ending, FakeApiServer, Scripted
from running.followed import following, value_of
from running.followed_writer import Writer

Strike = Callable[[], Awaitable[None]]
_SILENCE_SECONDS: Final = 1.0
_LIMITS: Final = RequestLimits(request_seconds=2.0)
"""A list is silent, too, when nobody is at the other end."""


@dataclasses.dataclass(frozen=True)
class Struck:
    """A server that is followed through a proxy, and what may strike them."""

    direct: Access
    proxied: Access
    path: str
    strikes: Sequence[Strike]
    rare_strikes: Sequence[Strike] = ()


Opened = Callable[[Random], contextlib.AbstractAsyncContextManager[Struck]]


@contextlib.asynccontextmanager
async def _fake(random: Random) -> AsyncIterator[Struck]:
    async with (
        fake_api_server.running() as server,
        breakable_proxy.to("127.0.0.1", urlsplit(server.url).port or 0) as proxy,
    ):
        yield Struck(
            server.access(),
            server.access(port=proxy.port),
            "/api/v1/namespaces/test/configmaps",
            [
                *_of_network(proxy, random),
                *(_ending(server, each) for each in Ending if each is not Ending.HALF_OPEN),
                *(_scripted(server, each) for each in _SCRIPTS),
                _expiring_list(server),
            ],
            [proxy.mute, _ending(server, Ending.HALF_OPEN)],
        )


_SCRIPTS: Final = (
    Scripted(410, {}, b'{"code":410,"reason":"Expired"}', for_watch=True),
    Scripted(429, {"Retry-After": "0"}, b"", for_watch=True),
    Scripted(500, {}, b"<html>oops</html>", for_watch=True),
    Scripted(200, {}, b"<html>a page of a proxy</html>", for_watch=True),
    Scripted(0, is_reset=True, for_watch=True),
)


def _of_network(proxy: BreakableProxy, random: Random) -> list[Strike]:
    async def reset_soon() -> None:
        await proxy.reset_later(random.randrange(2_000))

    return [proxy.reset, reset_soon]


def _ending(server: FakeApiServer, ending: Ending) -> Strike:
    async def strike() -> None:
        await server.strike(ending)

    return strike


def _scripted(server: FakeApiServer, script: Scripted) -> Strike:
    async def strike() -> None:
        server.scripted.append(script)
        await server.strike(Ending.RESET)

    return strike


def _expiring_list(server: FakeApiServer) -> Strike:
    async def strike() -> None:
        server.page_hook.append(server.store.forget)
        await server.strike(Ending.GONE_EVENT)

    return strike


@pytest.fixture(params=["fake", "real"])
def opened(request: pytest.FixtureRequest) -> Opened:
    """Opens a server that can be struck; the real one where there is a control plane."""
    if request.param == "fake":
        return _fake
    plane: Any = request.getfixturevalue("plane")

    @contextlib.asynccontextmanager
    async def real(random: Random) -> AsyncIterator[Struck]:
        direct = access.of(plane.kubeconfig)
        port = urlsplit(direct.server).port or 0
        namespace = await asyncio.to_thread(plane.namespace)

        start = plane.api_server.start_meanwhile
        restart = plane.api_server.restart_meanwhile

        async def restart_and_forget() -> None:
            plane.api_server.kill()
            await asyncio.to_thread(plane.compact)
            await start()

        async with breakable_proxy.to("127.0.0.1", port) as proxy:

            async def forget() -> None:
                await asyncio.to_thread(plane.compact)
                await proxy.reset()

            yield Struck(
                direct,
                dataclasses.replace(direct, server=f"https://127.0.0.1:{proxy.port}"),
                f"/api/v1/namespaces/{namespace}/configmaps",
                [*_of_network(proxy, random), forget],
                [restart, restart_and_forget, proxy.mute],
            )

    return real


async def _law(opened: Opened, seed: int, steps: int, rare_strikes: int) -> int:
    """Play one story; how many lists there were."""
    random = Random(seed)
    pace = Pace(
        first_seconds=0.01,
        longest_seconds=0.5,
        silence_seconds=_SILENCE_SECONDS,
        page_items=random.choice([1, 2, 3, 100]),
        fraction=random.random,
    )
    rare = set(random.sample(range(steps), rare_strikes))
    async with (
        opened(random) as struck,
        client.opened(struck.direct) as direct,
        client.opened(struck.proxied, limits=_LIMITS) as proxied,
        following(proxied, ApiCollection(struck.path), pace) as follower,
    ):
        writer = Writer(direct, struck.path, random)
        for step in range(steps):
            if step in rare and struck.rare_strikes:
                await random.choice(struck.rare_strikes)()
            if random.random() < 0.3:
                await random.choice(struck.strikes)()
            elif random.random() < 0.1:
                await follower.until_equal(writer.history.state())
            else:
                await writer.write()
        await follower.until_equal(writer.history.state())
        stored = await listed(direct, ApiCollection(struck.path), value_of, lambda meta: meta.name)
        assert stored.items == follower.items
        assert writer.history.contradicts(follower.news) == ""
        return len(follower.of_type(Replaced))


@pytest.mark.parametrize("seed", range(2))
async def test_a_follower_has_what_there_is_and_passes_on_what_happened(
    opened: Opened, seed: int
) -> None:
    assert await _law(opened, seed, steps=80, rare_strikes=1) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", thoroughness.of(range(100, 101), range(100, 110)))
async def test_so_it_does_in_longer_stories_of_the_fake_server(seed: int) -> None:
    """Of the fake server alone, which starts anew in no time."""
    assert await _law(_fake, seed, steps=400, rare_strikes=3) >= 1


async def test_without_strikes_there_is_one_list_and_every_change(opened: Opened) -> None:
    async with (
        opened(Random(7)) as struck,
        client.opened(struck.direct) as api,
        following(api, ApiCollection(struck.path), Pace()) as follower,
    ):
        writer = Writer(api, struck.path, Random(7))
        await follower.until(lambda: bool(follower.news))
        for _ in range(200):
            await writer.write()
        await follower.until_equal(writer.history.state())
        assert writer.history.contradicts(follower.news) == ""
        assert len(follower.news) == 201
