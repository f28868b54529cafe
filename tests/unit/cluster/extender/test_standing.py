"""When an extender answers, when its probe says yes, and what it says when it can not see."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from numalet.cluster.extender import standing, state
from numalet.cluster.extender.state import ExtenderRules
from numalet.core.cluster.cluster import Origin
from numalet.insight.scheduling.filtering import NOT_EXAMINED, NOT_KNOWN, FilterRules
from numalet.io.documents.cluster import numa_node
from numalet.io.kube_api.pace import Pace
from running.extender_parts import PATIENCE_SECONDS, AskedExtender, at_work
from running.fake_api_server import Ending
from running.fake_kubelets import GROUP


@dataclass
class SetClock:
    """Time that a test sets; sleeping is over at once."""

    seconds: float = 1000.0

    def now_seconds(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0)


class SteppingClock(SetClock):
    """Time of which much passes whenever it is read."""

    step_seconds = 0.0

    def now_seconds(self) -> float:
        self.seconds += self.step_seconds
        return self.seconds


def paced(clock: SetClock) -> Pace:
    return Pace(clock=clock, fraction=lambda: 0.0)


async def probe(extender: AskedExtender, path: str = "readyz") -> tuple[int, str]:
    answer = await extender.http.get(f"{extender.url}/{path}")
    return answer.status_code, answer.text


async def test_before_the_lists_are_in_nothing_is_answered_and_the_probe_says_why() -> None:
    async with at_work(is_ready=False) as extender:
        status, text = await probe(extender)
        assert (status, standing.NOT_KNOWN in text) == (503, True)
        assert (await probe(extender, "healthz"))[0] == 200
        answer = await extender.asked(4, "empty")
        assert answer == {"Error": f"numalet: {standing.NOT_KNOWN}"}
        assert await extender.metric("requests_total", verb="filter", result="not-ready") == 1
        assert await extender.metric("ready") == 0
        assert await extender.metric("up") == 0


async def test_once_they_are_in_the_probe_says_yes_and_the_log_says_how_many_nodes() -> None:
    async with at_work() as extender:
        assert await probe(extender) == (200, "ok\n")
        await extender.asked(4, "empty")
        (line,) = extender.said("ready: 2 nodes are known")
        assert line.keys == {"published": 2}
        assert await extender.metric("ready") == 1
        assert await extender.metric("up") == 1
        assert await extender.metric("leader") == 1
        assert await extender.metric("cluster_nodes", origin="published") == 2
        assert await extender.metric("cluster_nodes", origin="undecided") == 0


async def test_a_replica_that_does_not_lead_is_warm_and_does_not_answer() -> None:
    async with at_work() as extender:
        extender.state.standing.leads = lambda: False
        assert await probe(extender) == (503, f"{standing.NOT_ACTIVE}\n")
        assert await extender.asked(4, "empty") == {"Error": f"numalet: {standing.NOT_ACTIVE}"}
        assert await extender.metric("leader") == 0
        extender.state.standing.leads = lambda: True
        assert (await extender.asked(4, "empty"))["NodeNames"] == ["empty"]


async def test_without_the_api_server_it_answers_from_the_last_view_and_says_how_old_it_is() -> (
    None
):
    clock = SetClock()
    async with at_work(pace=paced(clock)) as extender:
        server = extender.kubelets.server
        pod = extender.pod(4)
        await extender.until(lambda: "asked" in extender.state.live.pods)
        await server.stop()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while extender.state.live.is_current:
                await extender.state.live.wait_for_change()
        clock.seconds += 200
        body = {"Pod": pod, "NodeNames": ["full", "empty"]}
        answer = (await extender.call("filter", body)).json()
        assert (answer["NodeNames"], set(answer["FailedNodes"])) == (["empty"], {"full"})
        assert await probe(extender) == (200, "ok, 200 s old\n")
        assert await extender.metric("up") == 0
        assert await extender.metric("view_age_seconds") == 200
        clock.seconds += 200
        status, text = await probe(extender)
        assert (status, text.startswith("the view is 400 s old; ")) == (503, True)
        assert (await extender.call("filter", body)).json()["NodeNames"] == ["empty"]
        await server.start()
        await extender.until(lambda: extender.state.live.is_current)
        assert await probe(extender) == (200, "ok\n")
        assert await extender.metric("view_age_seconds") == 0


@pytest.mark.parametrize("ending", [Ending.RESTART, Ending.GONE_EVENT, Ending.NO_JSON])
async def test_what_changed_while_the_connection_was_lost_is_known_afterwards(
    ending: Ending,
) -> None:
    async with at_work(pace=paced(SetClock())) as extender:
        assert (await extender.asked(4, "full"))["NodeNames"] == []
        await extender.kubelets.server.strike(ending)
        for at in range(2):
            extender.kubelets.remove(f"/api/v1/namespaces/default/pods/full-{at}")
        extender.kubelets.state("full")
        await extender.until(lambda: not extender.state.nodes.nodes["full"].node.snapshot.pods)
        assert (await extender.asked(4, "full"))["NodeNames"] == ["full"]


def _damaged(value: Any) -> Any:
    return {**value, "spec": {**value["spec"], "state": {"sharedCpus": "all"}}}


def _newer(value: Any) -> Any:
    state = {**value["spec"]["state"], "sharedCpus": 7, "layout": "another"}
    return {**value, "spec": {**value["spec"], "state": state}}


def _of_no_class(value: Any) -> Any:
    return {**value, "spec": {**value["spec"], "class": "unknown"}}


@pytest.mark.parametrize("change", [_damaged, _newer, _of_no_class])
async def test_a_state_that_can_not_be_used_is_said_and_decides_nothing(change: Any) -> None:
    async with at_work() as extender:
        assert (await extender.asked(4, "full"))["NodeNames"] == []
        path = f"{GROUP}/numanodes/full"
        whole = extender.kubelets.objects[path]
        extender.kubelets.put(path, change(whole))
        await extender.until(lambda: "full" in extender.state.nodes.undecided)
        (line,) = extender.said("the state of a node is undecided now")
        assert line.is_error
        assert (line.keys["node"], line.keys["before"]) == ("full", "published")
        assert line.keys["why"]
        assert await extender.metric("cluster_nodes", origin="undecided") == 1
        assert (await extender.asked(4, "full"))["NodeNames"] == ["full"]
        assert await extender.metric("nodes_total", verdict="unknown") == 1
        extender.kubelets.put(path, whole)
        await extender.until(lambda: "full" in extender.state.nodes.nodes)
        assert extender.state.nodes.nodes["full"].origin is Origin.PUBLISHED
        (line,) = extender.said("the state of a node is published now")
        assert not line.is_error
        assert (await extender.asked(4, "full"))["NodeNames"] == []


async def test_states_that_are_served_in_no_version_that_is_known_decide_nothing() -> None:
    async with at_work(pace=paced(SetClock())) as extender:
        server = extender.kubelets.server
        extender.state.refresh()
        server.refused[f"{GROUP}/numanodes"] = 404
        await server.strike(Ending.RESET)
        await extender.until(lambda: extender.state.origins.counts["published"] == 0)
        extender.state.log.notes(extender.state.live.notes)
        assert extender.said(f"{GROUP}/numanodes")
        assert (await extender.asked(4, "full"))["NodeNames"] == ["full"]
        assert await extender.metric("cluster_nodes", origin="published") == 0


async def test_the_note_on_an_object_that_can_not_be_read_is_said_once() -> None:
    async with at_work() as extender:
        path = f"{GROUP}/numanodes/full"
        extender.kubelets.put(path, _damaged(extender.kubelets.objects[path]))
        await extender.until(lambda: "full" in extender.state.nodes.undecided)
        for _ in range(2):
            extender.state.log.notes(extender.state.live.notes)
        assert len(extender.said("no range of numbers")) == 1


async def test_unknown_nodes_are_refused_where_it_is_so_configured() -> None:
    rules = ExtenderRules(filtering=FilterRules(passes_unknown=False))
    async with at_work(rules) as extender:
        answer = await extender.asked(4, "nowhere", "empty")
        assert (answer["NodeNames"], answer["FailedNodes"]) == (["empty"], {"nowhere": NOT_KNOWN})
        assert await extender.metric("nodes_total", verdict="unknown") == 1
        assert await extender.metric("nodes_total", verdict="passed") == 1
        assert await extender.metric("nodes_total", verdict="failed") == 0


@pytest.mark.parametrize("passes", [False, True])
async def test_nodes_for_which_there_is_no_time_are_counted_and_said(passes: bool) -> None:
    clock = SteppingClock()
    rules = ExtenderRules(filtering=FilterRules(passes_unexamined=passes), timeout_seconds=1.0)
    async with at_work(rules, paced(clock)) as extender:
        extender.state.refresh()
        clock.step_seconds = 0.5
        answer = await extender.asked(4, "empty")
        clock.step_seconds = 0.0
        assert answer["NodeNames"] == (["empty"] if passes else [])
        assert answer["FailedNodes"] == ({} if passes else {"empty": NOT_EXAMINED})
        assert await extender.metric("nodes_total", verdict="not-examined") == 1
        assert await extender.metric("nodes_total", verdict="passed") == 0
        assert await extender.metric("nodes_total", verdict="failed") == 0
        (line,) = extender.said("not all nodes were examined in time")
        assert (line.is_error, line.keys["missing"]) == (True, 1)


async def test_a_promise_ends_when_its_time_is_over_and_not_before() -> None:
    clock = SetClock()
    async with at_work(pace=paced(clock)) as extender:
        assert (await extender.asked(4, "empty", uid="a"))["NodeNames"] == ["empty"]
        assert (await extender.asked(4, "empty", uid="b"))["NodeNames"] == ["empty"]
        assert (await extender.asked(4, "empty", uid="c"))["NodeNames"] == []
        assert await extender.metric("promises") == 2
        clock.seconds += state.PROMISE_SECONDS - 1
        assert (await extender.asked(4, "empty", uid="c"))["NodeNames"] == []
        clock.seconds += 1
        assert (await extender.asked(4, "empty", uid="c"))["NodeNames"] == ["empty"]
        assert await extender.metric("promises_made_total") == 3
        assert await extender.metric("promises_late_total") == 2
        assert await extender.metric("promises") == 1
        assert len(extender.said("promise expired")) == 2


@pytest.mark.parametrize("jump_seconds", [-86_400.0, 86_400.0])
async def test_a_jump_of_the_wall_clock_changes_nothing(
    jump_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = time.time

    class Jumped(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime.fromtimestamp(really() + jump_seconds, UTC)

    async with at_work() as extender:
        assert (await extender.asked(4, "empty", uid="a"))["NodeNames"] == ["empty"]
        assert (await extender.asked(4, "empty", uid="b"))["NodeNames"] == ["empty"]
        monkeypatch.setattr(time, "time", lambda: really() + jump_seconds)
        monkeypatch.setattr(time, "time_ns", lambda: int((really() + jump_seconds) * 1e9))
        monkeypatch.setattr("datetime.datetime", Jumped)
        assert (await extender.asked(4, "empty", uid="c"))["NodeNames"] == []
        assert await extender.metric("promises") == 2
        assert await extender.metric("promises_late_total") == 0
        assert await extender.metric("view_age_seconds") == 0
        assert await extender.metric("up") == 1
        assert await probe(extender) == (200, "ok\n")
        # What is measured is measured by the steady clock too.
        assert 0 <= (await extender.metric("request_seconds_sum", verb="filter") or 0) < 1000


async def test_a_pod_that_is_bound_or_gone_is_promised_no_more() -> None:
    async with at_work() as extender:
        for uid in ("a", "b"):
            await extender.asked(4, "empty", uid=uid)
        await extender.until(lambda: {"a", "b"} <= set(extender.state.live.pods))
        extender.kubelets.pod("a", 4, "empty")
        extender.kubelets.remove("/api/v1/namespaces/default/pods/b")
        await extender.until(lambda: not extender.state.nodes.promises)
        assert (await extender.asked(4, "empty", uid="c"))["NodeNames"] == ["empty"]
        assert (await extender.asked(4, "empty", uid="d"))["NodeNames"] == []
        assert await extender.metric("promises_late_total") == 0


async def test_of_very_many_nodes_that_are_known_worse_the_first_are_said() -> None:
    async with at_work() as extender:
        names = [f"node-{at}" for at in range(15)]
        for name in names:
            extender.kubelets.node(name)
            extender.kubelets.state(name)
        await extender.until(lambda: extender.state.origins.counts["published"] == 17)
        for name in names:
            extender.kubelets.remove(f"{GROUP}/numanodes/{name}")
        await extender.kubelets.server.strike(Ending.BOOKMARK)
        live = extender.state.live
        async with asyncio.timeout(PATIENCE_SECONDS):
            while sum("numanodes" in each for each in live._copies.of_kind[numa_node.KIND]) > 2:
                await live.wait_for_change()
        await extender.until(lambda: extender.state.origins.counts["published"] == 2)
        assert 1 <= len(extender.said("is undecided now")) <= 15
