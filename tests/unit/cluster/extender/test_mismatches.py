"""Pods that a kubelet rejected after our yes, and those of which nothing can be said."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from numalet.cluster.extender import mismatches
from numalet.cluster.extender.log import ExtenderLog
from numalet.cluster.extender.mismatches import ModelMismatches
from numalet.cluster.extender.state import ExtenderRules, ExtenderState
from numalet.cluster.following import FollowedClasses
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.pod import QosClass
from numalet.io.kube_api import client
from numalet.wording.log_line import LogLine
from running import fake_api_server
from running.fake_kubelets import Kubelets
from values import gpu_fleet, kube_lists

PATIENCE_SECONDS = 200.0
POD = "/api/v1/namespaces/default/pods"
WHY = "Resources cannot be allocated with Topology locality"


@dataclass
class Watched:
    """A state that follows a server, and what was logged of kubelets that rejected pods."""

    kubelets: Kubelets
    state: ExtenderState
    seen: ModelMismatches
    lines: list[LogLine] = field(default_factory=list)

    @property
    def said(self) -> list[dict[str, Any]]:
        return [dict(each.keys) for each in self.lines if "rejected" in each.message]

    def counted(self, reason: str = "TopologyAffinityError") -> float:
        name = "numalet_extender_model_mismatch_total"
        return self.state.metrics.registry.get_sample_value(name, {"reason": reason}) or 0.0

    def write(self, uid: str, gpus: int = 4, **more: Any) -> None:
        phase, node_name = more.pop("phase", "Pending"), more.pop("node_name", "")
        pod = replace(gpu_fleet.pod(uid, gpus), phase=phase, node_name=node_name)
        value = kube_lists.pod_object(ClusterPod(pod=pod, created_at_seconds=1.0, **more))
        self.kubelets.put(f"{POD}/{uid}", value)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():
                await self.state.live.wait_for_change()
                self.state.refresh()

    async def asked(self, uid: str, *names: str) -> list[str]:
        """The nodes to which the filter lets a pod pass that waits."""
        self.write(uid)
        await self.until(lambda: uid in self.state.live.pods)
        return list(self.state.filtered(self.state.live.pods[uid], list(names)).passed)

    async def becomes(self, uid: str, **more: Any) -> None:
        """The pod is so now, and everyone knows."""
        self.write(uid, **more)
        wanted = (more["node_name"], more.get("phase", "Pending"), more.get("reason", ""))

        def is_so() -> bool:
            now = self.state.live.pods.get(uid)
            return now is not None and wanted == (now.pod.node_name, now.pod.phase, now.reason)

        await self.until(is_so)
        self.state.refresh()


@contextlib.asynccontextmanager
async def watched() -> AsyncIterator[Watched]:
    """Nodes a and c have published room for 4 GPUs on one NUMA node; of b nothing is known."""
    lines: list[LogLine] = []

    def write(more: Iterable[LogLine]) -> None:
        lines.extend(more)

    async with fake_api_server.running() as server:
        kubelets = Kubelets(server)
        for name in ("a", "b", "c"):
            kubelets.node(name)
        kubelets.state("a", 4)
        kubelets.state("c", 4)
        state = ExtenderState(ExtenderRules(), FollowedClasses(), log=ExtenderLog(write))
        seen = ModelMismatches(state)
        async with client.opened(server.access()) as api, asyncio.TaskGroup() as group:
            following = group.create_task(state.live.follow(api))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await state.live.wait_until_ready()
            state.refresh()
            yield Watched(kubelets, state, seen, lines)
            following.cancel()


REJECTED = {"phase": "Failed", "reason": "TopologyAffinityError", "message": WHY}


async def test_a_rejection_after_our_yes_is_logged_counted_and_leads_to_a_back_off() -> None:
    async with watched() as at:
        assert await at.asked("x", "a") == ["a"]
        await at.becomes("x", node_name="a")
        await at.becomes("x", node_name="a", **REJECTED)
        assert at.counted() == 1
        (line,) = at.said
        assert line.pop("state").startswith("1 pods, 0 of them on their way, CPUs free ")
        assert line == {
            "pod": "default/x",
            "node": "a",
            "reason": "TopologyAffinityError",
            "kubelet_says": WHY,
            "origin": "published",
            "left_alone_seconds": 10,
        }
        assert await at.asked("y", "a", "c") == ["c"]


async def test_the_binding_and_the_rejection_may_be_seen_at_once() -> None:
    async with watched() as at:
        await at.asked("x", "a", "c")
        await at.becomes("x", node_name="c", **REJECTED)
        assert at.counted() == 1
        assert [each["node"] for each in at.said] == ["c"]


@pytest.mark.parametrize("reason", ["OutOfcpu", "SMTAlignmentError", "UnexpectedAdmissionError"])
async def test_rejections_are_counted_by_the_reason(reason: str) -> None:
    async with watched() as at:
        await at.asked("x", "a")
        await at.becomes("x", node_name="a", phase="Failed", reason=reason)
        assert at.counted(reason) == 1


async def test_what_we_said_nothing_of_is_no_mismatch() -> None:
    async with watched() as at:
        await at.asked("x", "a")
        await at.becomes("x", node_name="c", **REJECTED)  # Another scheduler's choice.
        await at.asked("y", "b")
        await at.becomes("y", node_name="b", **REJECTED)  # It passed, as nothing is known.
        await at.becomes("z", node_name="a", **REJECTED)
        assert (at.counted(), at.said) == (0, [])


async def test_a_pod_on_which_we_have_no_opinion_is_no_mismatch() -> None:
    async with watched() as at:
        await at.asked("x")
        shared = replace(at.state.live.pods["x"].pod, qos_class=QosClass.BURSTABLE)
        only = shared.app_containers[0]
        amounts = {"cpu": only.requests["cpu"]}
        shared = replace(shared, app_containers=(replace(only, requests=amounts, limits={}),))
        assert at.state.filtered(ClusterPod(pod=shared), ["a"]).passed == ["a"]
        await at.becomes("x", node_name="a", phase="Failed", reason="OutOfcpu")
        assert at.said == []


async def test_a_pod_that_ran_and_failed_is_no_mismatch() -> None:
    async with watched() as at:
        await at.asked("x", "a")
        await at.becomes("x", node_name="a", phase="Running")
        await at.becomes("x", node_name="a", **REJECTED)
        await at.asked("y", "c")
        await at.becomes("y", node_name="c", phase="Failed", reason="Evicted")
        assert (at.counted(), at.said) == (0, [])


async def test_a_pod_that_is_gone_is_forgotten() -> None:
    async with watched() as at:
        await at.asked("x", "a")
        at.kubelets.remove(f"{POD}/x")
        await at.until(lambda: "x" not in at.state.live.pods)
        await at.becomes("x", node_name="a", **REJECTED)
        assert at.said == []


async def test_only_so_many_yeses_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mismatches, "MOST_NAMES", 3)
    async with watched() as at:
        await at.asked("x", "a", "c")
        await at.asked("y", "a", "c")
        await at.becomes("x", node_name="a", **REJECTED)
        assert at.said == []
        await at.becomes("y", node_name="a", **REJECTED)
        assert len(at.said) == 1


async def test_only_so_many_pods_on_their_way_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mismatches, "MOST_PODS", 1)
    async with watched() as at:
        await at.asked("x", "a")
        await at.becomes("x", node_name="a")
        await at.asked("y", "c")
        await at.becomes("y", node_name="c")
        await at.becomes("x", node_name="a", **REJECTED)
        assert at.said == []
        await at.becomes("y", node_name="c", **REJECTED)
        assert len(at.said) == 1
