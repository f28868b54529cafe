"""State files drawn: what is in no file is not there, and names are those that are known."""

from __future__ import annotations

import numalet
from numalet.core.model.machine_queries import NodeClass
from numalet.core.node.node import Node
from numalet.insight.maps.map_devices import DeviceUse
from numalet.insight.maps.node_map import Unheld
from numalet.insight.maps.resource_maps import CpuUse
from numalet.insight.python_api.nodes import machine_and_devices
from numalet.insight.state import reading, state_chart
from numalet.insight.state.state_chart import StateMachine

_POD = """
{apiVersion: v1, kind: Pod, metadata: {name: near, uid: near}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "2", memory: 1Gi}}}]}}
"""


def test_nothing_is_drawn_of_no_files() -> None:
    chart = state_chart.state_chart(reading.States(), "empty", {})
    assert (chart.nodes, chart.pods) == ((), ())


def test_memory_is_drawn_and_cpus_stand_with_the_pod() -> None:
    config = numalet.decode_config(
        {
            "cpuManagerPolicy": "static",
            "reservedSystemCPUs": "0",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
        },
        "test",
    )
    gpus = [numalet.Device("gpu0", numa_nodes=(0,))]
    machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi")
    node = numalet.start_node(config, machine, devices={"example.com/gpu": gpus})
    assert isinstance(node, Node)
    after, decision = node.admit(numalet.read_pods(_POD, "test").pods[0])
    assert decision.admitted
    states = reading.read(after.state_files())
    for names, title in (({"near": "default/near"}, "default/near"), ({}, "unknown pod near")):
        chart = state_chart.state_chart(states, "n", names)
        (pod,) = chart.pods
        assert (pod.title, len(pod.cpus)) == (title, 2)
        assert [each.node_class for each in chart.nodes] == [NodeClass.CPU] * 2
        assert sum(part.size_bytes for each in chart.nodes for part in each.memory[0].parts) == (
            1 << 30
        )


def test_cpus_and_devices_are_drawn_on_the_machine_where_it_is_known() -> None:
    config = numalet.decode_config(
        {
            "cpuManagerPolicy": "static",
            "cpuManagerPolicyOptions": {"strict-cpu-reservation": "true"},
            "featureGates": {"CPUManagerPolicyAlphaOptions": True},
            "reservedSystemCPUs": "0",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
        },
        "test",
    )
    gpus = [numalet.Device(f"gpu{at}", numa_nodes=(at,)) for at in range(2)]
    odd = [numalet.Device("anywhere")]
    machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi")
    devices = {"example.com/gpu": gpus, "example.com/odd": odd}
    node = numalet.start_node(config, machine, devices=devices)
    assert isinstance(node, Node)
    pod = _POD.replace("memory: 1Gi", "memory: 1Gi, example.com/gpu: 1, example.com/odd: 1")
    after, decision = node.admit(numalet.read_pods(pod, "test").pods[0])
    assert decision.admitted, decision.rejection
    states = reading.read(after.state_files())

    info, _ = machine_and_devices(machine)
    chart = state_chart.state_chart(states, "n", {}, StateMachine(info, devices))
    uses = [cell.use for block in chart.nodes for cell in block.cpus]
    assert [uses.count(use) for use in CpuUse] == [13, 1, 2]
    # The files do not say which CPUs are reserved, but which memory.
    assert (chart.cpus, chart.memory) == (Unheld.NOT_HELD, Unheld.FREE)
    places = {each.device_id: (each.nodes, each.state, each.pod_uid) for each in chart.devices}
    assert places == {
        "gpu0": ((0,), DeviceUse.IN_USE, "near"),
        "gpu1": ((1,), DeviceUse.FREE, ""),
        "anywhere": ((), DeviceUse.IN_USE, "near"),
    }
    # Without the machine, where a device is that a container holds is known by the checkpoint.
    alone = state_chart.state_chart(states, "n", {})
    nodes = {each.device_id: each.nodes for each in alone.devices}
    assert nodes == {"gpu0": (0,), "gpu1": (), "anywhere": ()}
    # With a file of memory alone no CPU is said to be given out.
    memory_only = state_chart.state_chart(reading.States(), "n", {}, StateMachine(info))
    assert (memory_only.cpus, memory_only.memory) == (Unheld.SHARED, Unheld.NOT_HELD)
