"""The plugin's pods as an agent shows them."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from numalet.agent.nri import following, pod_records
from numalet.agent.nri.audit import Misplaced
from numalet.agent.nri.choices import Mode, PinningChoice
from numalet.agent.nri.following import FollowedPod
from numalet.agent.nri.pod_annotations import NoRoom
from numalet.agent.nri.pod_records import PluginState
from numalet.agent.nri.seen import Sets
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model import cpu_set
from numalet.core.model.pod import ContainerKey, QosClass
from numalet.core.model.value import replace
from numalet.core.snapshot import placement
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerPhase, ExitReason
from numalet.io.nri.session import CallError
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.shared.kubernetes import pod_object, pod_placement, table_columns
from running.fake_runtime import BURSTABLE
from running.plugin_runtime import EVERY_CPU, PluginRuntime, permitting

AT = datetime(2026, 11, 29, 2, tzinfo=UTC)
POST_START = 7


def started(runtime: PluginRuntime, made: nri.Container, pid: int = 7) -> nri.Container:
    made.pid = pid
    message = nri.StateChangeEvent(
        event=POST_START, pod=runtime.sandboxes[made.pod_sandbox_id], container=made
    )
    runtime.handlers["StateChange"](message.SerializeToString())
    return made


def state(
    runtime: PluginRuntime,
    served: Mapping[str, FollowedPod] | None = None,
    differing: Mapping[str, Sets] | None = None,
    misplaced: Mapping[str, Misplaced] | None = None,
) -> PluginState:
    plugin = runtime.plugin
    return PluginState(
        plan=plugin.plan, served=served or {}, differing=differing or {},
        misplaced=misplaced or {}, is_enforcing=plugin.enforces,
    )  # fmt: skip


def record(of: PluginState, uid: str = "uid-db") -> PodRecord:
    return {each.uid: each for each in pod_records.records(of, pod_records.audits(of, AT), {}, AT)}[
        uid
    ]


def shown(of: PluginState, uid: str = "uid-db") -> dict[str, Any]:
    """The pod as ``numalet ps`` shows it."""
    made = record(of, uid)
    columns = table_columns.columns(pod_object.pod_object(made))
    snapshot = pod_records.whole_pods(of.plan.node).snapshot
    placed = pod_placement.pod_placement(made, snapshot, pod_records.audits(of, AT))
    return {"ready": columns.ready, "status": columns.status, **placed}


@pytest.fixture
def runtime() -> PluginRuntime:
    return PluginRuntime(PinningChoice(Mode.ENFORCE))


def test_a_running_pod_has_its_places_and_what_holds_them(runtime: PluginRuntime) -> None:
    started(runtime, runtime.create(runtime.sandbox("db")))
    found = shown(state(runtime))
    assert (found["ready"], found["status"], found["numaNodes"]) == ("1/1", "Running", [0])
    assert (found["cpus"], found["aligned"], found["unpromised"]) == ("1-2", True, None)
    assert found["containers"][0]["guarantee"] == "kernel"


def test_containers_that_were_decided_alone_are_one_pod(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    for name in ("app", "log"):
        started(runtime, runtime.create(pod, name))
    of = state(runtime)
    found = shown(of)
    assert (found["ready"], found["cpus"]) == ("2/2", "1-4")
    whole = pod_records.whole_pods(of.plan.node)
    assert [*whole.snapshot.pods] == ["uid-db"]
    assert placement.of_container(whole.snapshot, "uid-db", "log").memory_nodes == (0,)
    assert whole.snapshot.sums is not None
    assert whole.snapshot.sums.pods == 1
    # The free CPUs and the state of the node stay what they were.
    assert whole.snapshot.cpu.default == of.plan.node.snapshot.cpu.default


def test_a_node_of_whole_pods_stays_the_same_object(runtime: PluginRuntime) -> None:
    node = runtime.plugin.plan.node
    assert pod_records.whole_pods(node) is node


def test_a_container_that_has_not_started_is_not_ready(runtime: PluginRuntime) -> None:
    runtime.create(runtime.sandbox("db"))
    found = shown(state(runtime))
    assert (found["ready"], found["status"]) == ("0/1", "ContainerCreating")
    assert found["containers"][0]["guarantee"] is None


def test_a_refused_pod_says_why(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    with pytest.raises(CallError):
        runtime.create(pod, cpu=64)
    made = record(state(runtime))
    status = pod_object.status(made)
    assert status["reason"] == "CreateContainerError"
    assert "Topology locality" in status["message"]
    assert made.workload.pod.qos_class is QosClass.GUARANTEED
    started(runtime, runtime.create(pod))
    assert shown(state(runtime))["status"] == "Running"


def test_a_pod_without_room_that_runs_is_marked() -> None:
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE, NoRoom.UNPINNED))
    started(runtime, runtime.create(runtime.sandbox("db"), cpu=64))
    assert "Topology locality" in shown(state(runtime))["unpromised"]
    runtime.remove(runtime.sandboxes["sandbox-db"])
    assert not runtime.plugin.plan.refused


def test_the_end_of_a_pod_forgets_its_refusal(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    with pytest.raises(CallError):
        runtime.create(pod, cpu=64)
    runtime.remove(pod)
    assert not runtime.plugin.plan.refused


def test_a_container_found_without_room_is_reported_once() -> None:
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE, NoRoom.UNPINNED))
    runtime.create(runtime.sandbox("db"), cpu=64)
    runtime.begin()
    for _ in range(2):
        runtime.synchronize()
        assert runtime.plugin.counts.unpinned_starts == {"no-room": 1}
        assert runtime.told[-1].endswith("the node has no room for it")
    assert shown(state(runtime))["unpromised"]


def test_what_the_kernel_allows_beyond_the_plan_is_not_held(runtime: PluginRuntime) -> None:
    started(runtime, runtime.create(runtime.sandbox("db")))
    every = Sets(cpu_set.parse(EVERY_CPU), frozenset({0, 1}))
    found = shown(state(runtime, differing={"db-app": every}))
    (container,) = found["containers"]
    assert (found["aligned"], container["guarantee"]) == (False, "none")
    assert container["audit"]["strayCpus"] == "0,3-15"
    assert container["audit"]["strayNumaNodes"] == [1]


def test_in_audit_mode_the_plan_is_shown_and_nothing_holds_it() -> None:
    runtime = PluginRuntime(PinningChoice())
    started(runtime, runtime.create(runtime.sandbox("db")))
    found = shown(state(runtime))
    assert (found["cpus"], found["aligned"]) == ("1-2", False)
    assert found["containers"][0]["guarantee"] == "none"


def test_a_pod_that_opted_out_is_not_compared() -> None:
    permissions = permitting(placement=["ignore"])
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE, permissions=permissions))
    pod = runtime.sandbox("db", numalet_dev__placement="ignore")
    started(runtime, runtime.create(pod))
    of = state(runtime)
    assert pod_records.audits(of, AT) == {}
    assert record(of).run.of("app").level is GuaranteeLevel.NONE


def test_a_pod_keeps_the_time_when_it_was_first_seen(runtime: PluginRuntime) -> None:
    runtime.create(runtime.sandbox("web", BURSTABLE), cpu=0)
    (first,) = pod_records.records(state(runtime), {}, {}, AT)
    later = datetime(2026, 11, 30, tzinfo=UTC)
    (second,) = pod_records.records(state(runtime), {}, {first.uid: first}, later)
    assert second.run.accepted_at == AT
    assert second.workload.pod.qos_class is QosClass.BURSTABLE


def test_memory_that_stays_elsewhere_is_misplaced(runtime: PluginRuntime) -> None:
    started(runtime, runtime.create(runtime.sandbox("db")))
    elsewhere = Misplaced({1: 4096}, frozenset({0}), is_v1=False)
    found = shown(state(runtime, misplaced={"db-app": elsewhere}))
    assert (found["aligned"], found["misplacedBytes"]) == (False, 4096)


def test_a_state_is_the_same_until_something_is_replaced(runtime: PluginRuntime) -> None:
    before = state(runtime)
    assert replace(before).is_same(before)
    runtime.sandbox("db")
    assert not replace(before, plan=runtime.plugin.plan).is_same(before)


ENDED = {
    "exitCode": 0,
    "reason": "Completed",
    "startedAt": "2026-11-29T01:00:00Z",
    "finishedAt": "2026-11-29T01:00:05Z",
}


def served(*init: dict[str, Any], **app: Any) -> FollowedPod:
    """A Pod object with an init container and an app container, and their statuses."""
    guaranteed = {"limits": {"cpu": "2", "memory": "512Mi"}}
    value = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "db", "namespace": "default", "uid": "uid-db", "managedFields": [{}],
            "creationTimestamp": "2026-11-28T00:00:00Z",
        },
        "spec": {
            "initContainers": [{"name": "init", "image": "setup:1", "resources": guaranteed}],
            "containers": [{"name": "app", "image": "db:2", "resources": guaranteed}],
        },
        "status": {
            "phase": "Running",
            "qosClass": "Guaranteed",
            "initContainerStatuses": [{"name": "init", **each} for each in init],
            "containerStatuses": [{"name": "app", **app}] if app else [],
        },
    }  # fmt: skip
    made = following._decoded(json.dumps(value).encode())
    assert made is not None
    return made


def test_a_pod_object_gives_time_images_and_ended_init_containers() -> None:
    pod = served({"state": {"terminated": ENDED}, "restartCount": 0})
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE), {"uid-db": pod.pod})
    started(runtime, runtime.create(runtime.sandbox("db")))
    of = state(runtime, {"uid-db": pod})
    made = record(of)
    assert (shown(of)["ready"], shown(of)["status"]) == ("1/1", "Running")
    assert made.run.accepted_at == datetime(2026, 11, 28, tzinfo=UTC)
    assert made.workload.container("init").image == "setup:1"
    assert "managedFields" not in made.workload.manifest["metadata"]
    ended = made.run.of("init").last_exit
    assert ended is not None
    assert (ended.code, ended.reason) == (0, ExitReason.COMPLETED)


def test_the_runtime_knows_better_than_an_older_pod_object() -> None:
    crashed = {**ENDED, "exitCode": 137, "signal": 9, "reason": "SomethingNew"}
    pod = served(state={"terminated": crashed}, restartCount=3)
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE), {"uid-db": pod.pod})
    runtime.sandbox("db")
    before = record(state(runtime, {"uid-db": pod})).run.of("app")
    assert (before.phase, before.restart_count) == (ContainerPhase.TERMINATED, 3)
    assert before.last_exit is not None
    assert before.last_exit.reason is ExitReason.ERROR
    started(runtime, runtime.create(runtime.sandboxes["sandbox-db"]))
    now = record(state(runtime, {"uid-db": pod})).run.of("app")
    assert (now.phase, now.restart_count) == (ContainerPhase.RUNNING, 3)
    assert now.started_at is None


def test_a_running_container_of_a_pod_object_has_its_start() -> None:
    pod = served(state={"running": {"startedAt": "2026-11-29T01:00:00Z"}}, restartCount=0)
    runtime = PluginRuntime(PinningChoice(Mode.ENFORCE), {"uid-db": pod.pod})
    started(runtime, runtime.create(runtime.sandbox("db")))
    run = record(state(runtime, {"uid-db": pod})).run.of("app")
    assert run.started_at == datetime(2026, 11, 29, 1, tzinfo=UTC)


def test_an_end_without_a_time_is_not_known() -> None:
    pod = served(state={"terminated": {"exitCode": 1}}, restartCount=0)
    assert pod.runs["app"].last_exit is None


def test_a_pod_with_one_container_refused_shows_the_others(runtime: PluginRuntime) -> None:
    pod = runtime.sandbox("db")
    started(runtime, runtime.create(pod))
    with pytest.raises(CallError):
        runtime.create(pod, "big", cpu=64)
    of = state(runtime)
    assert shown(of)["status"] == "Running"
    assert "Topology locality" in shown(of)["unpromised"]
    assert ContainerKey("uid-db", "app") in pod_records.audits(of, AT)
