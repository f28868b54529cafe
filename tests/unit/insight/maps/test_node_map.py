"""The map of a node: everything on it once, sums that agree, and who holds what."""

from __future__ import annotations

from dataclasses import replace

import numalet
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger, MemoryTable, NodeMemory
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.maps import node_map
from numalet.insight.maps.map_devices import DeviceUse
from numalet.insight.maps.node_map import NodeMap, Unheld
from numalet.insight.maps.resource_maps import CpuUse
from numalet.insight.maps.shared_pool import PooledPod
from values import builders, node_charts

_PODS = """
{apiVersion: v1, kind: Pod, metadata: {name: near}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "2", memory: 1Gi, example.com/gpu: "1"}}}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: wide}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "10", memory: 90Gi}}}]}}
"""


def _node(policy: str = "best-effort", cpu_policy: str = "static") -> Node:
    config = numalet.decode_config(
        {
            "cpuManagerPolicy": cpu_policy,
            "reservedSystemCPUs": "0",
            "memoryManagerPolicy": "Static",
            "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
            "topologyManagerPolicy": policy,
        },
        "test",
    )
    gpus = [
        numalet.Device("gpu0", numa_nodes=(1,)),
        numalet.Device("gpu1", numa_nodes=(1,), health=numalet.Health.UNHEALTHY),
    ]
    machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi")
    node = numalet.start_node(config, machine, devices={"example.com/gpu": gpus})
    assert isinstance(node, Node)
    return node


def _filled(*names: str) -> tuple[Node, NodeMap]:
    node = _node()
    pods = {pod.name: pod for pod in numalet.read_pods(_PODS, "test").pods}
    for name in names:
        node, _ = node.admit(pods[name])
    return node, node_map.of_node(node, "n", {pod.uid: pod for pod in pods.values()})


def _sums_agree(chart: NodeMap) -> None:
    for block in chart.nodes:
        for bar in block.memory:
            parts = sum(part.size_bytes for part in bar.parts)
            assert bar.kept_back_bytes + parts + bar.free_bytes == bar.total_bytes


def test_a_machine_alone_has_no_kubelet_that_could_say_what_is_free() -> None:
    pages = {"1Gi": "4"}
    machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi", hugepages_per_node=pages)
    chart = node_map.of_machine(machine.info, "m")
    _sums_agree(chart)
    assert {cell.use for block in chart.nodes for cell in block.cpus} == {CpuUse.SHARED}
    assert (chart.cpus, chart.memory) == (Unheld.NO_KUBELET, Unheld.NO_KUBELET)
    sizes = {bar.resource: bar.free_bytes >> 30 for bar in chart.nodes[0].memory}
    assert sizes == {"memory": 60, "hugepages-1Gi": 4}
    assert not chart.pods
    assert not chart.groups


def test_every_cpu_is_there_once() -> None:
    node, chart = _filled("near", "wide")
    cpus = [cell.cpu for block in chart.nodes for cell in block.cpus]
    assert sorted(cpus) == sorted(node.rules.machine.cpu_ids)


def test_a_pod_on_one_node() -> None:
    _, chart = _filled("near")
    _sums_agree(chart)
    (pod,) = chart.pods
    assert (pod.title, pod.nodes, sorted(pod.cpus)) == ("default/near", (1,), [4, 12])
    assert chart.pod(pod.uid) is pod
    assert chart.pod("another") is None
    own = [cell.cpu for block in chart.nodes for cell in block.cpus if cell.pod_uid == pod.uid]
    assert own == [4, 12]
    (memory,) = chart.nodes[1].memory
    assert [(part.pod_uid, part.size_bytes) for part in memory.parts] == [(pod.uid, 1 << 30)]
    states = {device.device_id: (device.state, device.pod_uid) for device in chart.devices}
    assert states == {
        "gpu0": (DeviceUse.IN_USE, pod.uid),
        "gpu1": (DeviceUse.UNHEALTHY, ""),
    }
    assert pod.devices == {"example.com/gpu": ("gpu0",)}


def test_a_pod_on_a_group_has_no_share_of_a_node() -> None:
    _, chart = _filled("wide")
    _sums_agree(chart)
    (pod,) = chart.pods
    (group,) = chart.groups
    assert (group.nodes, group.pod_uids) == ((0, 1), (pod.uid,))
    rests = [part.pod_uid for block in chart.nodes for bar in block.memory for part in bar.parts]
    assert set(rests) == {""}
    (kept, _) = (bar.kept_back_bytes for block in chart.nodes for bar in block.memory)
    assert kept == 100 << 20


def test_what_a_removed_pod_leaves_behind() -> None:
    node, chart = _filled("near")
    (pod,) = chart.pods
    gone = node_map.of_node(node.remove(pod.uid), "n")
    (left,) = gone.pods
    assert (left.title, left.qos_class, left.is_active) == (
        f"unknown pod {pod.uid[:8]}",
        None,
        False,
    )


def test_without_the_static_policy_no_cpu_is_free() -> None:
    chart = node_map.of_node(_node("none", "none"), "n")
    assert (chart.cpus, chart.memory) == (Unheld.SHARED, Unheld.FREE)
    assert {cell.use for block in chart.nodes for cell in block.cpus} == {CpuUse.SHARED}


def test_without_the_memory_manager_memory_is_free() -> None:
    config = numalet.decode_config({}, "test")
    node = numalet.start_node(config, numalet.open_machine("2n4c2t", memory_per_node="8Gi"))
    assert isinstance(node, Node)
    chart = node_map.of_node(node, "n")
    assert [bar.free_bytes >> 30 for block in chart.nodes for bar in block.memory] == [8, 8]


def test_pods_that_hold_more_than_a_node_counts_share_what_it_counts() -> None:
    """As after a kubelet cut a group: its figures of single nodes are too low."""
    table = MemoryTable(10, 0, 10, 5, 5)
    blocks = {
        uid: {"c": (MemoryBlock((0,), "memory", size),)}
        for uid, size in (("a", 3), ("b", 4), ("c", 1))
    }
    ledger = MemoryLedger({0: NodeMemory(3, {"memory": table}, 1)}, blocks)
    chart = node_map.of_snapshot(Snapshot(memory=ledger), builders.machine(1), "n", {})
    (bar,) = chart.nodes[0].memory
    assert [(part.pod_uid, part.size_bytes) for part in bar.parts] == [("a", 3), ("b", 2)]
    assert (bar.free_bytes, bar.total_bytes) == (5, 10)
    assert [sum(pod.memory_bytes.values()) for pod in chart.pods] == [3, 4, 1]


def _pooled(cpu_policy: str) -> NodeMap:
    """Two NUMA nodes of four CPUs: a pod with two of them, two that share the rest."""
    config = numalet.decode_config(
        {"cpuManagerPolicy": cpu_policy, "reservedSystemCPUs": "0"}, "test"
    )
    node = numalet.start_node(config, numalet.open_machine("2n4c1t", memory_per_node="64Gi"))
    assert isinstance(node, Node)
    for name, resources in (
        ("own", 'limits: {cpu: "2", memory: 1Gi}'),
        ("log", "requests: {cpu: 250m}"),
        ("idle", ""),
    ):
        manifest = f"""
{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [
  {{name: c, resources: {{{resources}}}}}]}}}}
"""
        (pod,) = numalet.read_pods(manifest, "test").pods
        node, _ = node.admit(pod)
    return node_map.of_node(node, "n")


def test_the_shared_pool_has_the_pods_without_exclusive_cpus_and_their_requests() -> None:
    pool = _pooled("static").pool
    assert len(pool.cpus) == 6
    assert [(pod.title, pod.cpu_milli) for pod in pool.pods] == [
        ("default/log", 250),
        ("default/idle", 0),
    ]
    assert pool.sentence == (
        "Shared pool: CPUs 0, 3-7. 2 pods run on them and request 0.25 CPUs: "
        "default/log, default/idle."
    )
    said = "Free CPUs include the shared pool, on which pods request 0.25 CPUs."
    assert pool.overlap == said
    assert [replace(pool, pods=()).overlap, replace(pool, cpus=frozenset()).overlap] == ["", ""]


def test_without_a_cpu_manager_all_pods_share_all_cpus() -> None:
    pool = _pooled("none").pool
    assert pool.cpus == frozenset(range(8))
    assert [(pod.title, pod.cpu_milli) for pod in pool.pods] == [
        ("default/own", 2000),
        ("default/log", 250),
        ("default/idle", 0),
    ]


def test_a_pool_without_pods_and_a_machine_without_a_kubelet() -> None:
    pool = replace(_pooled("static").pool, pods=())
    assert pool.sentence.endswith(". No pod runs on them.")
    assert node_charts.machine("2n8c2t").pool.sentence == ""
    assert (PooledPod("a/b", 1000).request, PooledPod("a/c", 250).request) == ("1 CPU", "0.25 CPUs")
    one = replace(pool, pods=(PooledPod("a/b", 1000),))
    assert one.sentence.endswith(". 1 pod runs on them and requests 1 CPU: a/b.")
    many = replace(pool, pods=tuple(PooledPod(f"a/{at:02}", 0) for at in range(14)))
    assert many.sentence.endswith(" a/11 and 2 more.")
