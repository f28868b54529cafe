"""State files drawn: what is in no file is not there, and names are those that are known."""

from __future__ import annotations

import numalet
from numalet.core.model.machine_queries import NodeClass
from numalet.core.node.node import Node
from numalet.insight.state import reading, state_chart

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
    for names, title in (({"near": "default/near"}, "default/near"), ({}, "near")):
        chart = state_chart.state_chart(states, "n", names)
        (pod,) = chart.pods
        assert (pod.title, len(pod.cpus)) == (title, 2)
        assert [each.node_class for each in chart.nodes] == [NodeClass.CPU] * 2
        assert sum(part.size_bytes for each in chart.nodes for part in each.memory[0].parts) == (
            1 << 30
        )
