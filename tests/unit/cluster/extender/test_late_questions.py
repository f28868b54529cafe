"""A question that is answered late, about a pod that is gone or bound by now, takes no room."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from starlette.requests import Request

from numalet.cluster.extender import state
from numalet.cluster.extender.app import BodyReader
from numalet.cluster.extender.state import ExtenderRules
from numalet.core.cluster.cluster import ClusterPod
from numalet.io.kube_api.pace import LoopClock, Pace
from running.extender_parts import PATIENCE_SECONDS, AskedExtender, at_work
from running.fake_api_server import FakeApiServer

PODS = "/api/v1/namespaces/default/pods"


class LateWatch(BodyReader):
    """Lets go what the API server has kept back, as soon as a request was read.

    The call goes on before anything of it can arrive: the scheduler's watch was the earlier one.
    """

    server: FakeApiServer | None = None

    async def read(self, request: Request) -> bytes:
        body = await super().read(request)
        if self.server is not None:
            self.server.let_go()
        return body


async def known(extender: AskedExtender, uid: str) -> None:
    """Wait until the extender knows the pod."""
    extender.pod(4, uid)
    await extender.until(lambda: uid in extender.state.live.pods)


async def test_no_room_is_kept_for_a_pod_that_is_gone() -> None:
    async with at_work() as extender:
        await known(extender, "late")
        body = {"Pod": extender.pod(4, "late"), "NodeNames": ["empty"]}
        extender.kubelets.remove(f"{PODS}/late")
        await extender.until(lambda: "late" not in extender.state.live.pods)
        answer = (await extender.call("filter", body)).json()
        assert answer["NodeNames"] == ["empty"]
        assert extender.state.nodes.promises == {}


async def test_no_room_is_kept_for_a_pod_that_is_bound_elsewhere() -> None:
    async with at_work() as extender:
        await known(extender, "late")
        body = {"Pod": extender.pod(4, "late"), "NodeNames": ["empty"]}
        extender.kubelets.pod("late", 4, "full")
        await extender.until(lambda: extender.state.live.pods["late"].pod.node_name == "full")
        await extender.call("filter", body)
        assert extender.state.nodes.promises == {}


async def test_room_is_kept_for_a_pod_that_the_scheduler_knows_first() -> None:
    async with at_work() as extender:
        pod = extender.pod(4)
        new = {**pod, "metadata": {**pod["metadata"], "uid": "new"}}
        await extender.call("filter", {"Pod": new, "NodeNames": ["empty"]})
        assert [*extender.state.nodes.promises] == ["new"]


async def test_only_the_last_pods_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_SETTLED", 2)
    async with at_work() as extender:
        for uid in ("a", "b", "c"):
            await known(extender, uid)
            extender.kubelets.remove(f"{PODS}/{uid}")
        await extender.until(lambda: "c" not in extender.state.live.pods)
        assert extender.state.settled == {"b", "c"}


@pytest.mark.parametrize(("late_seconds", "passed"), [(0.0, []), (PATIENCE_SECONDS, ["full"])])
async def test_a_refusal_that_the_next_event_would_not_repeat_is_not_given(
    late_seconds: float, passed: list[str]
) -> None:
    bodies = LateWatch()
    rules = ExtenderRules(late_seconds=late_seconds, timeout_seconds=PATIENCE_SECONDS)
    async with at_work(rules, bodies=bodies) as extender:
        assert (await extender.asked(4, "empty"))["NodeNames"] == ["empty"]
        bodies.server = extender.kubelets.server
        bodies.server.hold("/api/v1/pods")
        extender.kubelets.remove(f"{PODS}/full-0")
        assert (await extender.asked(4, "full"))["NodeNames"] == passed


class StoppedClock(LoopClock):
    """It shows one moment for ever."""

    def now_seconds(self) -> float:
        return 1000.0


async def test_of_many_waiting_pods_only_one_at_a_time_waits_for_late_news() -> None:
    async with at_work(ExtenderRules(late_seconds=0.01), Pace(clock=StoppedClock())) as extender:
        uids = [f"p-{at}" for at in range(5)]
        for uid in uids:
            await known(extender, uid)
        *few, other = (extender.state.live.pods[uid] for uid in uids)
        for pod in few:
            await extender.state.wait_for_late_news(pod, ["full"], 1000.0)
            assert not extender.state.filtered(pod, ["full"]).passed
        extender.state.rules = ExtenderRules(late_seconds=PATIENCE_SECONDS)
        await extender.state.wait_for_late_news(other, ["full"], 1000.0)
        assert await _waits(extender, few[-1])
        # One of them is bound, so that few are left.
        extender.kubelets.pod("p-0", 4, "empty")
        await extender.until(lambda: extender.state.live.pods["p-0"].pod.node_name == "empty")
        assert await _waits(extender, other)


async def _waits(extender: AskedExtender, pod: ClusterPod) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.05):
            await extender.state.wait_for_late_news(pod, ["full"], 1000.0)
            return False
    return True
