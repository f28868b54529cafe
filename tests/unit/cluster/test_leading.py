"""Of several candidates at most one leads, whatever happens to them and to the API server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from numalet.cluster.leading import LeaseCandidate, LeaseName, LeaseTiming
from numalet.io.kube_api import client
from numalet.io.kube_api.answers import ApiRefused, ApiStatus, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.tasks import ended
from running import fake_api_server, simulated_time
from running.fake_api_server import FakeApiServer
from running.fake_api_store import StatusAnswer, Store, Target

LEASE = LeaseName("numalet-system", "numalet-breaker")
ACCESS_SECONDS = 0.01


@dataclass
class StoredLeases:
    """An API server without sockets, which takes a moment for every answer."""

    store: Store = field(default_factory=Store)
    is_away: bool = False
    is_silent: bool = False
    refusal: int = 0
    writes: int = 0

    async def get(self, path: str) -> bytes:
        return await self._answer(lambda: self.store.one(Target.of(path)))

    async def create(self, path: str, body: Any) -> bytes:
        return await self._write(lambda: self.store.put(Target.of(path), body, is_new=True))

    async def replace(self, path: str, body: Any) -> bytes:
        target = Target.of(path)

        def replaced() -> Mapping[str, Any]:
            self.store.expect(target, body["metadata"])
            return self.store.put(target, body, is_new=False)

        return await self._write(replaced)

    async def _write(self, act: Any) -> bytes:
        answer = await self._answer(act)
        self.writes += 1
        return answer

    async def _answer(self, act: Any) -> bytes:
        await asyncio.sleep(ACCESS_SECONDS)
        if self.is_away:
            raise ApiUnreachable("away")
        if self.is_silent:
            await asyncio.sleep(1e6)
        if self.refusal:
            raise ApiRefused(ApiStatus(self.refusal, "Refused", "leases is forbidden: no"))
        try:
            return json.dumps(act()).encode()
        except StatusAnswer as no:
            raise ApiRefused(ApiStatus(no.code, "Refused", str(no))) from None

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.store.one(Target.of(LEASE.path))["spec"]
        return spec


class StoppableClock:
    """The time of the loop, which can stand still for one process."""

    def __init__(self) -> None:
        self._stopped_at: float | None = None
        self._goes = asyncio.Event()
        self._goes.set()

    def now_seconds(self) -> float:
        if self._stopped_at is not None:
            return self._stopped_at
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._goes.wait()

    def stop(self) -> None:
        self._stopped_at = self.now_seconds()
        self._goes.clear()

    def go(self) -> None:
        self._stopped_at = None
        self._goes.set()


@dataclass
class Running:
    """A candidate that runs, what it said, and the clock that it has."""

    candidate: LeaseCandidate
    clock: StoppableClock
    said: list[str]
    task: asyncio.Task[None] | None = None

    @property
    def leads(self) -> bool:
        return self.candidate.is_leader

    async def kill(self) -> None:
        """End it as SIGKILL does: nothing more is asked of the server."""
        assert self.task is not None
        self.candidate._leads_until = None
        await ended(self.task)


def made(api: StoredLeases, name: str) -> Running:
    clock = StoppableClock()
    said: list[str] = []
    return Running(LeaseCandidate(api, LEASE, said.append, identity=name, clock=clock), clock, said)


@contextlib.asynccontextmanager
async def running(api: StoredLeases, *names: str) -> AsyncIterator[list[Running]]:
    all_of_them = [made(api, each) for each in names]
    for each in all_of_them:
        each.task = asyncio.create_task(each.candidate.run())
        await asyncio.sleep(0.5)
    try:
        yield all_of_them
    finally:
        for each in all_of_them:
            each.clock.go()
        await ended(*(each.task for each in all_of_them if each.task is not None))


async def never_two(candidates: list[Running], seconds: float) -> None:
    """Let time pass, and see at every moment that no two lead."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        assert sum(each.leads for each in candidates) <= 1
        await asyncio.sleep(0.1)


def in_simulated_time(test: Any) -> Any:
    def run() -> None:
        simulated_time.run(test())

    run.__name__ = test.__name__
    return run


@in_simulated_time
async def test_the_first_leads_and_the_second_waits() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        await never_two([a, b], 60)
        assert (a.leads, b.leads) == (True, False)
        assert api.spec["holderIdentity"] == "a"
        assert api.spec["leaseTransitions"] == 0
        assert api.spec["leaseDurationSeconds"] == 15
        assert b.candidate.holder == "a"
        assert b.said == ["waits: a leads"]
        assert a.said == ["leads by the lease numalet-system/numalet-breaker"]
        assert 25 <= api.writes <= 35


@in_simulated_time
async def test_after_a_kill_another_leads_when_the_duration_is_over_and_not_before() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        await a.kill()
        await never_two([a, b], 12.5)
        assert not b.leads
        await asyncio.sleep(6)
        assert b.leads
        assert api.spec["leaseTransitions"] == 1


@in_simulated_time
async def test_who_ends_in_order_releases_the_lease() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        assert a.task is not None
        await ended(a.task)
        assert api.spec["holderIdentity"] == ""
        assert a.said[-1] == "released the lease numalet-system/numalet-breaker"
        await asyncio.sleep(3)
        assert b.leads


@in_simulated_time
async def test_a_leader_without_a_server_leads_no_more_before_another_can() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        await asyncio.sleep(5)
        api.is_away = True
        await never_two([a, b], 10.5)
        assert (a.leads, b.leads) == (False, False)
        assert a.said[-1] == "leads no more: the lease could not be renewed in time"
        await asyncio.sleep(60)
        assert (a.leads, b.leads) == (False, False)
        api.is_away = False
        await never_two([a, b], 30)
        assert a.leads or b.leads


@in_simulated_time
async def test_a_server_that_does_not_answer_is_as_good_as_none() -> None:
    api = StoredLeases()
    async with running(api, "a") as (a,):
        api.is_silent = True
        await asyncio.sleep(10.5)
        assert not a.leads


@in_simulated_time
async def test_a_leader_that_stood_still_finds_that_another_leads() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        a.clock.stop()
        await asyncio.sleep(20)
        assert b.leads
        a.clock.go()
        # Before it did anything else, its own clock says so.
        assert not a.leads
        await never_two([a, b], 30)
        assert b.leads
        assert a.candidate.holder == "b"


@in_simulated_time
async def test_a_candidate_whose_clock_stands_still_never_leads() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        b.clock.stop()
        await a.kill()
        await asyncio.sleep(100)
        assert not b.leads


@in_simulated_time
async def test_what_a_person_writes_into_the_lease_stays_and_costs_no_lead() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        api.store.merge(Target.of(LEASE.path), {"metadata": {"labels": {"seen": "yes"}}})
        await never_two([a, b], 20)
        assert a.leads
        assert api.store.one(Target.of(LEASE.path))["metadata"]["labels"] == {"seen": "yes"}


@in_simulated_time
async def test_a_deleted_lease_is_created_again() -> None:
    api = StoredLeases()
    async with running(api, "a", "b") as (a, b):
        api.store.remove(Target.of(LEASE.path))
        await never_two([a, b], 20)
        assert a.leads or b.leads


@in_simulated_time
async def test_a_lease_that_another_one_seized_is_lost() -> None:
    api = StoredLeases()
    async with running(api, "a") as (a,):
        api.store.merge(Target.of(LEASE.path), {"spec": {"holderIdentity": "z"}})
        await asyncio.sleep(2.5)
        assert not a.leads
        assert a.said[-1] == "waits: z leads"
        # It says that it lasts as long as ours, and nothing renews it.
        await asyncio.sleep(20)
        assert a.leads


@in_simulated_time
async def test_a_holder_that_asks_for_longer_is_waited_for() -> None:
    api = StoredLeases()
    spec = {"holderIdentity": "z", "leaseDurationSeconds": 60}
    api.store.put(Target.of(LEASE.path), {"spec": spec}, is_new=True)
    async with running(api, "a") as (a,):
        await asyncio.sleep(55)
        assert not a.leads
        await asyncio.sleep(10)
        assert a.leads


@in_simulated_time
async def test_a_refusal_is_said_once() -> None:
    for code, expected in [
        (403, "the API server refuses: no"),
        (422, "cannot use the lease: 422 Refused: leases is forbidden: no"),
    ]:
        api = StoredLeases(refusal=code)
        async with running(api, "a") as (a,):
            await asyncio.sleep(30)
            assert not a.leads
            assert a.said == [expected]
    api = StoredLeases(refusal=500)
    async with running(api, "a") as (a,):
        await asyncio.sleep(30)
        assert a.said == []


@in_simulated_time
async def test_a_namespace_that_is_not_there_is_said_once() -> None:
    class WithoutNamespace(StoredLeases):
        async def create(self, path: str, body: Any) -> bytes:
            raise ApiRefused(ApiStatus(404, "NotFound", "namespaces not found"))

    async with running(WithoutNamespace(), "a") as (a,):
        await asyncio.sleep(30)
        assert a.said == ["cannot use the lease: 404 NotFound: namespaces not found"]


@in_simulated_time
async def test_work_is_done_while_leading_and_at_no_other_time() -> None:
    api = StoredLeases()
    log: list[str] = []
    candidate = made(api, "a")

    async def work() -> None:
        log.append("begun")
        try:
            await asyncio.sleep(1e6)
        finally:
            log.append(f"ended, held by {api.spec['holderIdentity']}")

    task = asyncio.create_task(candidate.candidate.lead(work))
    await asyncio.sleep(1)
    api.is_away = True
    await asyncio.sleep(20)
    assert log == ["begun", "ended, held by a"]
    api.is_away = False
    await asyncio.sleep(20)
    assert log[2:] == ["begun"]
    await ended(task)
    # The lease is released only after the work is over.
    assert log[3:] == ["ended, held by a"]
    assert api.spec["holderIdentity"] == ""


@in_simulated_time
async def test_work_that_ends_or_fails_ends_the_lead() -> None:
    api = StoredLeases()

    async def nothing() -> None:
        pass

    async def failing() -> None:
        raise ZeroDivisionError

    await made(api, "a").candidate.lead(nothing)
    assert api.spec["holderIdentity"] == ""
    with pytest.raises(ZeroDivisionError):
        await made(api, "b").candidate.lead(failing)
    assert api.spec["holderIdentity"] == ""


@in_simulated_time
async def test_credentials_that_can_not_be_used_end_it() -> None:
    class Unusable(StoredLeases):
        async def get(self, path: str) -> bytes:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await made(Unusable(), "a").candidate.lead(lambda: asyncio.sleep(1))


async def first_leader(api: ApiClient, *names: str) -> list[str]:
    """Who leads, of several that begin at the same moment."""
    timing = LeaseTiming(retry_seconds=0.05)
    all_of_them = [LeaseCandidate(api, LEASE, identity=each, timing=timing) for each in names]
    tasks = [asyncio.create_task(each.run()) for each in all_of_them]
    waiting: list[Coroutine[Any, Any, None]] = [each.wait_until_leader() for each in all_of_them]
    leading = [asyncio.create_task(each) for each in waiting]
    await asyncio.wait(leading, return_when=asyncio.FIRST_COMPLETED)
    leaders = [each.identity for each in all_of_them if each.is_leader]
    await ended(*tasks, *leading)
    return leaders


async def test_of_those_that_begin_together_one_leads() -> None:
    async with fake_api_server.running() as server, client.opened(server.access()) as api:
        leaders = await first_leader(api, "a", "b", "c")
        assert len(leaders) == 1
        assert _holder(server) == ""


def _holder(server: FakeApiServer) -> str:
    return str(server.store.one(Target.of(LEASE.path))["spec"]["holderIdentity"])
