"""The plugin behind the API of an agent."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from numalet.agent.controller import settings
from numalet.agent.controller.settings import AgentOptions, AgentSettings, RuntimeKind
from numalet.agent.nri.choices import EventReason, Mode, PinningChoice
from numalet.agent.nri.following import FollowedPods
from numalet.agent.nri.metrics import PinningMetrics
from numalet.agent.nri.seen import SeenPod
from numalet.agent.nri.serving import PluginDoor
from numalet.agent.servers.door import ChangeKind, OwnershipMode, RequestRefusal, RequestRefused
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.pod import ContainerKey
from numalet.io.machines import MachineChoice
from numalet.shared.kubernetes.node_object import Unready
from running.plugin_runtime import PluginRuntime

POD = SeenPod("sandbox-db", "uid-db", "default", "db")


@pytest.fixture
def chosen() -> AgentSettings:
    return settings.resolve(
        AgentOptions(runtime=RuntimeKind.FAKE, machine=MachineChoice("2n8c1t"), node_name="node-1")
    )


def opened(chosen: AgentSettings, mode: Mode = Mode.ENFORCE) -> tuple[PluginRuntime, PluginDoor]:
    runtime = PluginRuntime(PinningChoice(mode))
    return runtime, PluginDoor(runtime.plugin, FollowedPods(), chosen)


def test_a_view_follows_the_plan(chosen: AgentSettings) -> None:
    runtime, door = opened(chosen)
    assert door.view().unready is Unready.STARTING
    runtime.synchronize()
    runtime.create(runtime.sandbox("db"))
    view = door.view()
    assert (view.standing, view.level) == (OwnershipMode.PINNING, GuaranteeLevel.KERNEL)
    assert view.ready
    assert [*view.records] == ["uid-db"]
    assert door.view() is view
    runtime.remove(runtime.sandboxes["sandbox-db"])
    assert not door.view().records


def test_in_audit_mode_nothing_is_held(chosen: AgentSettings) -> None:
    view = opened(chosen, Mode.AUDIT)[1].view()
    assert (view.standing, view.level) == (OwnershipMode.AUDITING, GuaranteeLevel.NONE)


def test_containers_are_audited_once_an_audit_has_been(chosen: AgentSettings) -> None:
    runtime, door = opened(chosen)
    made = runtime.create(runtime.sandbox("db"))
    made.pid = 7
    runtime.synchronize()
    assert door.view().audits == {}
    runtime.plugin.differing = {}
    (audit,) = door.view().audits.values()
    assert audit.aligned


def test_an_event_is_in_the_view(chosen: AgentSettings) -> None:
    _, door = opened(chosen)
    door.report(POD, "container app started unpinned", EventReason.UNPINNED)
    door.report(POD, "container app started unpinned", EventReason.UNPINNED)
    (event,) = door.view().events
    assert (event.pod_uid, event.reason, event.count) == ("uid-db", "Unpinned", 2)


def test_every_change_is_refused(chosen: AgentSettings) -> None:
    _, door = opened(chosen)
    nothing: Any = None

    async def answers() -> list[object]:
        return [
            await door.create(nothing),
            await door.revise(nothing, nothing),
            await door.delete("default", "db", grace_seconds=None),
            await door.cordon(unschedulable=True),
            door.foresee_create(nothing),
            door.foresee_alone(nothing),
            door.foresee_delete("default", "db", grace_seconds=None),
        ]

    assert asyncio.run(answers()) == [RequestRefused(RequestRefusal.OBSERVING)] * 7
    assert door.log_path(ContainerKey("uid-db", "app")) is None


def test_watches_get_changes_of_pods_and_events(chosen: AgentSettings) -> None:
    runtime, door = opened(chosen)

    async def first(of: AsyncIterator[Any] | RequestRefused) -> Any:
        assert not isinstance(of, RequestRefused)
        return await anext(of)

    async def scene() -> None:
        current = asyncio.create_task(door.stay_current())
        changed = asyncio.create_task(door.changed())
        pods = asyncio.create_task(first(door.pod_changes(0)))
        events = asyncio.create_task(first(door.event_changes(0)))
        runtime.create(runtime.sandbox("db"))
        async with asyncio.timeout(60):
            await changed
            assert (await pods).kind is ChangeKind.ADDED
            door.report(POD, "unpinned", EventReason.UNPINNED)
            assert (await events).event.message == "unpinned"
        current.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await current

    asyncio.run(scene())
    (pod,), (event,) = door.past_pod_changes(0), door.past_event_changes(0)  # type: ignore[misc]
    assert (pod.record.uid, event.event.pod_name) == ("uid-db", "db")


def test_metrics_have_the_gauges_of_the_node(chosen: AgentSettings) -> None:
    runtime, door = opened(chosen)
    runtime.create(runtime.sandbox("db"))
    registry = CollectorRegistry()
    registry.register(PinningMetrics(runtime.plugin, door.view))
    page = generate_latest(registry).decode()
    assert 'numalet_numa_reserved_bytes{numa_node="0",type="memory"} 5.36870912e+08' in page
    assert 'numalet_nri_containers_total{outcome="placed"} 1.0' in page
    # An agent's counters count its own admissions.
    assert "kubelet_topology_manager_admission_requests_total" not in page


def test_the_socket_of_the_root_answers(chosen: AgentSettings, tmp_path: Path) -> None:
    from numalet.agent.nri import serving
    from numalet.io.agent_client.client import AgentClient

    runtime, door = opened(chosen)
    runtime.create(runtime.sandbox("db"))

    def asked() -> Any:
        with AgentClient(tmp_path / "agent.sock") as client:
            return client.get("/apis/numalet.dev/v1alpha1/podplacements")

    async def scene() -> Any:
        async with serving.served(door, tmp_path, lambda bug: None):
            return await asyncio.to_thread(asked)

    (pod,) = asyncio.run(scene())["items"]
    assert pod["cpus"] == "1-2"
