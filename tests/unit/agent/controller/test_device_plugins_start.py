"""What refuses the start of a container whose devices come from a plugin."""

from __future__ import annotations

import asyncio
import dataclasses
from datetime import UTC, datetime

from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.plugins import FromPlugins, Relay
from numalet.agent.host.runtime.port import NotStarted
from numalet.agent.servers.device_plugins import DevicePlugins
from numalet.core.managers.device.ledger import DeviceRecord
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.records import PodRecord, Records
from numalet.core.workload.run import PodRun
from numalet.core.workload.spec import ContainerSpec, Workload
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages
from values import served_node
from values.device_bench import GPU

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POD = served_node.pod("p", served_node.container("c", gpu="1"))
KEY = ContainerKey(POD.uid, "c")


def _node_state(response: bytes) -> NodeState:
    node = served_node.with_pods([POD])
    held = DeviceRecord({0: ("gpu0",)}, response)
    device = dataclasses.replace(node.snapshot.device, records={POD.uid: {"c": {GPU: held}}})
    spec = ContainerSpec(name="c", env=(("MINE", "own"),))
    record = PodRecord(Workload(pod=POD, containers=(spec,)), PodRun(accepted_at=NOW))
    snapshot = dataclasses.replace(node.snapshot, device=device)
    return NodeState(node=node.at(snapshot), records=Records({POD.uid: record}))


def _before_start(response: bytes, described: bool = True) -> object:
    plugins = DevicePlugins(Relay(), described=frozenset({GPU} if described else ()))
    return asyncio.run(FromPlugins(plugins).before_start(_node_state(response), KEY))


def test_the_program_s_own_environment_wins() -> None:
    given = messages.ContainerAllocateResponse(envs={"MINE": "theirs", "GPU": "gpu0"})
    assert _before_start(given.SerializeToString()) == {"GPU": "gpu0"}


def test_a_mount_under_another_path_is_refused_and_the_same_path_is_there() -> None:
    same = messages.Mount(container_path="/usr/lib", host_path="/usr/lib")
    other = messages.Mount(container_path="/lib/gpu", host_path="/opt/gpu")
    fine = messages.ContainerAllocateResponse(mounts=[same])
    assert _before_start(fine.SerializeToString()) == {}
    refused = _before_start(messages.ContainerAllocateResponse(mounts=[other]).SerializeToString())
    assert isinstance(refused, NotStarted)
    said = str(refused.why)
    assert "'/opt/gpu'" in said
    assert "'/lib/gpu'" in said


def test_without_its_plugin_a_container_does_not_start() -> None:
    refused = _before_start(b"", described=False)
    assert isinstance(refused, NotStarted)
    assert "endpoint not found in cache" in refused.why.fields["error"]
