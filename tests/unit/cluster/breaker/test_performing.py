"""Each action is one write that the server refuses if anything was changed before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from numalet.cluster.breaker.breaker_metrics import ActionOutcome
from numalet.cluster.breaker.performing import HELD, ActionWorker, Performed
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import (
    HoldController,
    Inform,
    LiftTaint,
    Prune,
    RecreatePod,
    ReleaseController,
    ResumeJob,
    SuspendJob,
    TaintNode,
)
from numalet.insight.rejections.rejected_pod import OwnerLink, TopOwner
from numalet.io.kube_api import client
from running import fake_api_server
from running.fake_api_server import FakeApiServer, Scripted
from running.fake_api_store import Target
from values import failed_pods
from values.failed_pods import NAMESPACE, PODS

WEB = TopOwner("Deployment", NAMESPACE, "web", "apps/v1", "uid-of-web")
NODE = "/api/v1/nodes/node-1"
JOB = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs/train"
EVENT = f"/api/v1/namespaces/{NAMESPACE}/events/web.uid-of-w.abc"
TAINT = TaintNode(node="node-1", shape="abc", owner=str(WEB), until_seconds=2e9, why="a trap")
SUSPEND = SuspendJob(
    namespace=NAMESPACE,
    name="train",
    uid="uid-of-train",
    shape="abc",
    owner=TopOwner("Job", NAMESPACE, "train", "batch/v1", "uid-of-train"),
    until_seconds=2e9,
    why="no node admits it",
)
RESUME = ResumeJob(namespace=NAMESPACE, name="train", uid="uid-of-train", why="there is room")
INFORM = Inform(
    owner=WEB,
    about=OwnerLink("apps/v1", "Deployment", NAMESPACE, "web", "uid-of-web"),
    shape="abc",
    why="no NUMA node has 4 CPUs free; 2 CPUs would fit",
)
OTHERS_TAINT = {"key": "dedicated", "value": "gpu", "effect": "NoExecute"}


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        running.put(NODE, {"spec": {"taints": [OTHERS_TAINT]}})
        running.put(JOB, {"metadata": {"uid": "uid-of-train"}, "spec": {}, "status": {}})
        yield running


class Performing:
    """A worker, and what it said."""

    def __init__(self, worker: ActionWorker, said: list[str]) -> None:
        self.said = said
        self._worker = worker

    async def performed(self, action: Any) -> Performed:
        return await self._worker.perform(action)

    async def outcome(self, action: Any) -> ActionOutcome:
        return (await self.performed(action)).outcome


@pytest.fixture
async def performing(server: FakeApiServer) -> AsyncIterator[Performing]:
    said: list[str] = []
    async with client.opened(server.access()) as api:
        yield Performing(ActionWorker(api, said.append), said)


def prune(stored: dict[str, Any]) -> Prune:
    metadata = stored["metadata"]
    return Prune(
        namespace=NAMESPACE,
        name=metadata["name"],
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
        owner=WEB,
        why="rejected",
    )


def names(server: FakeApiServer, path: str) -> list[str]:
    kind = "/apis/batch/v1/jobs" if "batch" in path else "/api/v1/pods"
    return sorted(name for _, name in server.store.objects.get(kind, {}))


def value(server: FakeApiServer, path: str) -> dict[str, Any]:
    return server.store.one(Target.of(path))


async def test_a_pod_is_deleted(server: FakeApiServer, performing: Performing) -> None:
    stored = server.put(f"{PODS}/a", failed_pods.pod("a"))
    assert await performing.outcome(prune(stored)) is ActionOutcome.DONE
    assert names(server, PODS) == []


async def test_a_pod_that_was_changed_or_replaced_is_not_deleted(
    server: FakeApiServer, performing: Performing
) -> None:
    planned = prune(server.put(f"{PODS}/a", failed_pods.pod("a")))
    server.put(f"{PODS}/a", failed_pods.pod("a", labels={"kept": "yes"}))
    assert await performing.outcome(planned) is ActionOutcome.NOT_NEEDED
    server.remove(f"{PODS}/a")
    assert await performing.outcome(planned) is ActionOutcome.NOT_NEEDED
    server.put(f"{PODS}/a", failed_pods.pod("a", uid="another"))
    assert await performing.outcome(planned) is ActionOutcome.NOT_NEEDED
    assert names(server, PODS) == ["a"]
    assert performing.said == []


def recreate(old: dict[str, Any]) -> RecreatePod:
    metadata = old["metadata"]
    annotations = {patches.RECREATED_FROM: metadata["uid"]}
    new = {"metadata": {"name": "bare-again-1", "annotations": annotations}, "spec": {}}
    return RecreatePod(
        namespace=NAMESPACE,
        name="bare-again-1",
        attempt=1,
        of_name="bare",
        of_uid=metadata["uid"],
        of_resource_version=metadata["resourceVersion"],
        why="rejected",
        manifest=new,
    )


async def test_a_bare_pod_is_recreated_and_then_deleted(
    server: FakeApiServer, performing: Performing
) -> None:
    old = server.put(f"{PODS}/bare", failed_pods.pod("bare"))
    assert await performing.outcome(recreate(old)) is ActionOutcome.DONE
    assert names(server, PODS) == ["bare-again-1"]
    assert await performing.outcome(recreate(old)) is ActionOutcome.NOT_NEEDED
    assert names(server, PODS) == ["bare-again-1"]


async def test_a_bare_pod_that_was_recreated_before_a_crash_is_deleted(
    server: FakeApiServer, performing: Performing
) -> None:
    old = server.put(f"{PODS}/bare", failed_pods.pod("bare"))
    server.put(f"{PODS}/bare-again-1", dict(recreate(old).manifest))
    assert await performing.outcome(recreate(old)) is ActionOutcome.DONE
    assert names(server, PODS) == ["bare-again-1"]


async def test_a_bare_pod_stays_if_its_new_name_is_that_of_another_one(
    server: FakeApiServer, performing: Performing
) -> None:
    old = server.put(f"{PODS}/bare", failed_pods.pod("bare"))
    server.put(f"{PODS}/bare-again-1", {"metadata": {}})
    assert await performing.outcome(recreate(old)) is ActionOutcome.REFUSED
    assert names(server, PODS) == ["bare", "bare-again-1"]


async def test_an_event_is_written_once_and_counted(
    server: FakeApiServer, performing: Performing
) -> None:
    assert await performing.outcome(INFORM) is ActionOutcome.DONE
    event = value(server, EVENT)
    assert event["type"] == "Warning"
    assert event["reason"] == INFORM.reason
    assert event["message"] == INFORM.why
    assert event["involvedObject"]["kind"] == "Deployment"
    assert event["involvedObject"]["uid"] == "uid-of-web"
    assert await performing.outcome(INFORM) is ActionOutcome.DONE
    assert value(server, EVENT)["count"] == 2


async def test_a_long_event_is_cut(server: FakeApiServer, performing: Performing) -> None:
    why = "ü" * 2000
    action = Inform(owner=WEB, about=INFORM.about, shape="abc", why=why)
    assert await performing.outcome(action) is ActionOutcome.DONE
    message = value(server, EVENT)["message"]
    assert len(message.encode()) <= 1024
    assert message.endswith("ü…")


async def test_an_event_about_an_object_of_no_namespace_is_in_the_default_one(
    server: FakeApiServer, performing: Performing
) -> None:
    about = OwnerLink("example.com/v1", "Fleet", "", "f", "uid-of-f")
    action = Inform(owner=WEB, about=about, shape="abc", why="no room")
    assert await performing.outcome(action) is ActionOutcome.DONE
    event = value(server, "/api/v1/namespaces/default/events/f.uid-of-f.abc")
    assert event["involvedObject"].get("namespace") is None


async def test_a_taint_is_set_renewed_and_lifted(
    server: FakeApiServer, performing: Performing
) -> None:
    assert await performing.outcome(TAINT) is ActionOutcome.DONE
    others, own = value(server, NODE)["spec"]["taints"]
    assert others == OTHERS_TAINT
    assert own == {
        "key": "numalet.dev/trap",
        "value": "20330518T033320Z.abc",
        "effect": "NoSchedule",
    }
    assert value(server, NODE)["metadata"]["annotations"][patches.TRAP_WHY] == "a trap"
    later = TaintNode(
        node="node-1", shape="abc", owner="", until_seconds=2e9 + 60, why="a trap", is_renewal=True
    )
    assert await performing.outcome(later) is ActionOutcome.DONE
    assert [each["value"] for each in value(server, NODE)["spec"]["taints"]] == [
        "gpu",
        "20330518T033420Z.abc",
    ]
    lift = LiftTaint(node="node-1", why="room")
    assert await performing.outcome(lift) is ActionOutcome.DONE
    assert value(server, NODE)["spec"]["taints"] == [OTHERS_TAINT]
    assert await performing.outcome(lift) is ActionOutcome.NOT_NEEDED


async def test_a_node_that_is_changed_in_between_is_read_again(
    server: FakeApiServer, performing: Performing
) -> None:
    conflict = b'{"kind": "Status", "code": 409, "reason": "Conflict", "message": "changed"}'
    server.scripted.extend([Scripted(200, body=b'{"metadata": {}}'), Scripted(409, body=conflict)])
    assert await performing.outcome(TAINT) is ActionOutcome.DONE
    assert len(value(server, NODE)["spec"]["taints"]) == 2


async def test_a_node_that_is_changed_again_and_again_is_left_for_the_next_plan(
    server: FakeApiServer, performing: Performing
) -> None:
    conflict = b'{"kind": "Status", "code": 409, "reason": "Conflict", "message": "changed"}'
    for _ in range(5):
        server.scripted.append(Scripted(200, body=b'{"metadata": {}}'))
        server.scripted.append(Scripted(409, body=conflict))
    assert await performing.outcome(TAINT) is ActionOutcome.FAILED


async def test_a_node_that_is_gone_needs_nothing(
    server: FakeApiServer, performing: Performing
) -> None:
    server.remove(NODE)
    assert await performing.outcome(TAINT) is ActionOutcome.NOT_NEEDED


async def test_a_job_is_suspended_and_resumed(
    server: FakeApiServer, performing: Performing
) -> None:
    assert await performing.outcome(SUSPEND) is ActionOutcome.DONE
    job = value(server, JOB)
    assert job["spec"]["suspend"] is True
    assert job["metadata"]["annotations"][patches.SUSPENDED_FOR] == "abc"
    assert await performing.outcome(SUSPEND) is ActionOutcome.NOT_NEEDED
    assert await performing.outcome(RESUME) is ActionOutcome.DONE
    job = value(server, JOB)
    assert job["spec"]["suspend"] is False
    assert patches.SUSPENDED_UNTIL not in job["metadata"]["annotations"]
    assert await performing.outcome(RESUME) is ActionOutcome.NOT_NEEDED


async def test_a_job_with_a_running_pod_is_not_suspended(
    server: FakeApiServer, performing: Performing
) -> None:
    server.put(JOB, {"spec": {}, "status": {"ready": 1}})
    assert await performing.outcome(SUSPEND) is ActionOutcome.NOT_NEEDED


HOLD = HoldController(
    controller=OwnerLink("apps/v1", "ReplicaSet", NAMESPACE, "web-1", "uid-of-web-1"),
    until_seconds=2e9,
    why="no node admits a pod",
)


async def test_a_controller_is_held_and_released(
    server: FakeApiServer, performing: Performing
) -> None:
    over = {"uid-of-another": "2020-01-01T00:00:00Z"}
    server.put(HELD, {"data": {**over, "uid-of-a-third": "2040-01-01T00:00:00Z"}})
    assert await performing.outcome(HOLD) is ActionOutcome.DONE
    assert value(server, HELD)["data"] == {
        "uid-of-web-1": "2033-05-18T03:33:20Z",
        "uid-of-a-third": "2040-01-01T00:00:00Z",
    }
    release = ReleaseController(controller=HOLD.controller, why="room")
    assert await performing.outcome(release) is ActionOutcome.DONE
    assert [*value(server, HELD)["data"]] == ["uid-of-a-third"]
    assert await performing.outcome(release) is ActionOutcome.NOT_NEEDED


async def test_without_its_config_map_nothing_is_held(performing: Performing) -> None:
    performed = await performing.performed(HOLD)
    assert performed.outcome is ActionOutcome.REFUSED
    assert performed.problem.endswith("apply packaging/kubernetes/breaker-measures/hold.yaml")


async def test_what_is_forbidden_is_said_once_for_all_of_its_kind(
    server: FakeApiServer, performing: Performing
) -> None:
    for name in ("a", "b"):
        stored = server.put(f"{PODS}/{name}", failed_pods.pod(name))
        why = f'pods "{name}" is forbidden: User "x" cannot delete resource "pods"'
        status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": why}
        body = json.dumps(status)
        server.scripted.append(Scripted(403, body=body.encode()))
        assert await performing.outcome(prune(stored)) is ActionOutcome.REFUSED
    assert performing.said == ['the API server refuses: User "x" cannot delete resource "pods"']
    assert await performing.outcome(TAINT) is ActionOutcome.DONE


async def test_what_a_webhook_refuses_is_refused(
    server: FakeApiServer, performing: Performing
) -> None:
    server.refused[NODE] = 422
    assert await performing.outcome(TAINT) is ActionOutcome.REFUSED


async def test_a_server_that_is_away_or_busy_is_asked_again_later(
    server: FakeApiServer, performing: Performing
) -> None:
    server.refused[NODE] = 500
    assert await performing.outcome(TAINT) is ActionOutcome.FAILED
    await server.stop()
    assert await performing.outcome(TAINT) is ActionOutcome.FAILED
