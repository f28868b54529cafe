"""What a pod holds, over all of its containers."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.config.rules import CpuPolicy, CpuRules
from numalet.core.model.pod import ContainerKind
from numalet.core.node.node import Node
from numalet.insight.maps import pod_sums
from numalet.insight.maps.pod_sums import PodSums
from values import builders
from values.builders import GI, container, init
from values.device_bench import GPU, NIC, devices

MACHINE = builders.machine(10, 10, 10, hugepages={2048: 512})
"""Node n has the CPUs 2n and 2n + 1."""


def _node() -> Node:
    rules = replace(
        builders.rules(MACHINE),
        cpu=CpuRules(policy=CpuPolicy.STATIC, reserved_count=1, reserved_cpus=frozenset({0})),
    )
    return builders.node(rules).devices_reported({GPU: devices("g0@2 g1"), NIC: devices("n0")})


def test_containers_are_summed_up() -> None:
    pod = builders.pod(
        "u",
        container("a", "2Gi", ContainerKind.APP, hugepages_2Mi="64Mi", **{GPU: "2"}),
        container("b", "3Gi", ContainerKind.APP, **{NIC: "1"}),
    )
    _, decision = _node().admit(pod)

    sums = pod_sums.pod_sums(decision, MACHINE)

    assert PodSums(
        nodes=(0, 1, 2),
        cpus=frozenset({1, 2}),
        memory_bytes={"hugepages-2Mi": 64 << 20, "memory": 5 * GI},
        devices={GPU: ("g0", "g1"), NIC: ("n0",)},
    ) == replace(sums, memory_bytes=dict(sorted(sums.memory_bytes.items())))
    assert list(sums.devices) == [GPU, NIC]


def test_what_an_init_container_hands_over_counts_once() -> None:
    pod = builders.pod("u", init("i", "4Gi"), container("a", "3Gi"))
    _, decision = _node().admit(pod)
    assert pod_sums.pod_sums(decision, MACHINE).memory_bytes == {"memory": 4 * GI}


def test_a_rejected_pod_holds_nothing() -> None:
    _, decision = _node().admit(
        builders.pod("u", container("a", "40Gi", ContainerKind.APP, **{GPU: "1"}))
    )
    assert not decision.admitted
    assert PodSums((), frozenset(), {}, {}) == pod_sums.pod_sums(decision, MACHINE)
