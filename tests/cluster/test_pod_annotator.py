"""KAI's annotations on a real API server: what is written, and what is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from cluster import guaranteed_pods
from numalet.agent.publish.pod_annotator import PodAnnotator
from numalet.core.model.findings import Finding
from numalet.io.kube_api import access, client
from numalet.io.kube_api.client import RequestLimits
from running.control_plane import ControlPlane

PLACEMENT: Final = "kai.scheduler/numa-placement-observed"
GROUPS: Final = "kai.scheduler/numa-memory-groups-observed"
COMPLETE: Final = {
    PLACEMENT: '[{"zone":"node-0","amount":{"cpu":"2","memory":"3221225472"}}]',
    GROUPS: '[{"memoryNodes":["node-0"],"amount":{"memory":"3221225472"}}]',
}


@asynccontextmanager
async def annotating(
    plane: ControlPlane, reported: list[Finding], force: bool = False
) -> AsyncIterator[PodAnnotator]:
    """An annotator of node n7 at work."""
    limits = RequestLimits(patience_seconds=0)
    async with client.opened(access.of(plane.kubeconfig), limits=limits) as api:
        annotator = PodAnnotator(api=api, node_name="n7", force=force, report=reported.append)
        task = asyncio.create_task(annotator.run())
        try:
            yield annotator
        finally:
            task.cancel()
            await asyncio.wait((task,))


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(200):
        while True:
            if await asyncio.to_thread(holds):
                return
            await asyncio.sleep(0.05)


def test_a_pod_gets_its_own_keys_once_and_keeps_all_others(defined: ControlPlane) -> None:
    pods = f"/api/v1/namespaces/{defined.namespace()}/pods"
    foreign = {"example.com/note": "stays", "kai.scheduler/numa-placement-predicted": "[]"}
    first = defined.create(pods, guaranteed_pods.on("n7", annotations=foreign))
    second = defined.create(pods, guaranteed_pods.on("n7", "second"))
    elsewhere = defined.create(pods, guaranteed_pods.on("n8", "elsewhere"))
    reported: list[Finding] = []

    def pod(name: str = "pod") -> Any:
        return defined.get(f"{pods}/{name}")

    async def scenario() -> None:
        async with annotating(defined, reported) as annotator:
            annotator.offer(guaranteed_pods.held(first))
            # It has not started, so its memory may not be complete.
            await until(
                lambda: (
                    guaranteed_pods.notes(defined, pods) == foreign | COMPLETE | {GROUPS: "null"}
                )
            )
            guaranteed_pods.starts(defined, f"{pods}/pod")
            await until(lambda: guaranteed_pods.notes(defined, pods) == foreign | COMPLETE)
            written = pod()["metadata"]["resourceVersion"]
            # Another pod is written after that, and the first one is looked at again.
            annotator.offer(guaranteed_pods.held(first, second))
            await until(lambda: PLACEMENT in guaranteed_pods.notes(defined, pods, "second"))
            assert pod()["metadata"]["resourceVersion"] == written
            # A release takes the keys away.
            annotator.offer(guaranteed_pods.held())
            await until(lambda: guaranteed_pods.notes(defined, pods) == foreign | {GROUPS: "null"})
            assert annotator.is_current
            assert "annotations" not in pod("elsewhere")["metadata"]
            assert (
                elsewhere["metadata"]["resourceVersion"]
                == (pod("elsewhere")["metadata"]["resourceVersion"])
            )

    asyncio.run(scenario())
    assert reported == []


def test_keys_of_another_manager_stay_its_own_unless_forced(defined: ControlPlane) -> None:
    pods = f"/api/v1/namespaces/{defined.namespace()}/pods"
    first = defined.create(pods, guaranteed_pods.on("n7"))
    guaranteed_pods.starts(defined, f"{pods}/pod")
    other = {PLACEMENT: "[]"}
    headers = {"Content-Type": "application/merge-patch+json"}
    body = {"metadata": {"annotations": other}}
    answer = defined.request("PATCH", f"{pods}/pod?fieldManager=npe", body, headers=headers)
    assert answer.is_success, answer.text
    reported: list[Finding] = []

    async def scenario() -> None:
        async with annotating(defined, reported) as annotator:
            annotator.offer(guaranteed_pods.held(first))
            await until(lambda: bool(reported))
            (finding,) = reported
            assert finding.code == "publish/foreign-annotations"
            assert '"npe"' in str(finding)
            assert not annotator.is_current
            assert guaranteed_pods.notes(defined, pods) == other
        async with annotating(defined, reported, force=True) as annotator:
            annotator.offer(guaranteed_pods.held(first))
            await until(lambda: guaranteed_pods.notes(defined, pods) == COMPLETE)

    asyncio.run(scenario())
    assert len(reported) == 1


def test_a_later_pod_of_the_same_name_gets_nothing_of_the_first(defined: ControlPlane) -> None:
    pods = f"/api/v1/namespaces/{defined.namespace()}/pods"
    first = defined.create(pods, guaranteed_pods.on("n7"))
    assert defined.request("DELETE", f"{pods}/pod?gracePeriodSeconds=0").is_success
    second = defined.create(pods, guaranteed_pods.on("n7"))
    guaranteed_pods.starts(defined, f"{pods}/pod")
    assert first["metadata"]["uid"] != second["metadata"]["uid"]
    reported: list[Finding] = []

    async def scenario() -> None:
        async with annotating(defined, reported) as annotator:
            annotator.offer(guaranteed_pods.held(first))
            await until(lambda: guaranteed_pods.notes(defined, pods) == {GROUPS: "null"})

    asyncio.run(scenario())
    assert reported == []
