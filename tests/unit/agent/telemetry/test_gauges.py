"""The gauges that the metrics read from the node state."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from numalet.agent.telemetry import gauges
from numalet.agent.telemetry import metrics as names
from numalet.core.config.rules import CpuPolicy, CpuRules
from numalet.core.enforcement.comparison import Audit, GuaranteeLevel
from numalet.core.model.pod import ContainerKey
from values import builders
from values.builders import GI, machine, rules, simple

LEVEL = GuaranteeLevel.PROCESS


def test_without_a_policy_the_cpu_gauges_are_zero() -> None:
    measured = gauges.gauges(builders.node(rules(machine(10))), LEVEL, {})
    assert measured[names.SHARED_POOL] == (((), 0.0),)
    assert measured[names.EXCLUSIVE_CPUS] == (((), 0.0),)


def test_the_shared_pool_is_without_reserved_and_exclusive_cpus() -> None:
    cpu = CpuRules(policy=CpuPolicy.STATIC, reserved_count=1, reserved_cpus=frozenset({0}))
    node = builders.node(replace(rules(machine(10, 10)), cpu=cpu))
    measured = gauges.gauges(node, LEVEL, {})
    assert measured[names.SHARED_POOL] == (((), 3000.0),)
    measured = gauges.gauges(node.admit(simple("u", "1Gi"))[0], LEVEL, {})
    assert measured[names.SHARED_POOL] == (((), 2000.0),)
    assert measured[names.EXCLUSIVE_CPUS] == (((), 1.0),)


def test_memory_is_reported_by_numa_node_and_type() -> None:
    node = builders.node(rules(machine(10, 10), reserved_bytes={0: GI}))
    measured = gauges.gauges(node.admit(simple("u", "15Gi"))[0], LEVEL, {})
    of_node_0 = (("numa_node", "0"), ("type", "memory"))
    assert dict(measured[names.ALLOCATABLE])[of_node_0] == 9 * GI
    assert dict(measured[names.RESERVED])[of_node_0] == 9 * GI
    assert dict(measured[names.FREE])[of_node_0] == 0
    assert dict(measured[names.IN_GROUP]) == {
        (("numa_node", "0"), ("group", "0-1")): 1.0,
        (("numa_node", "1"), ("group", "0-1")): 1.0,
    }


def test_misplaced_bytes_are_reported_of_containers_of_known_pods() -> None:
    audit = Audit(
        at=datetime(2026, 1, 1, tzinfo=UTC),
        pages_bytes={"memory": {0: 5, 1: 7}},
        memory_nodes=(0,),
        misplaced_bytes=7,
        stray_cpus=frozenset(),
        stray_nodes=(),
    )
    pod = simple("u", "1Gi")
    measured = gauges.gauges(
        builders.node(rules(machine(10))),
        LEVEL,
        {"u": pod},
        {ContainerKey("u", "c"): audit, ContainerKey("gone", "c"): audit},
    )
    labels = (("namespace", "default"), ("pod", "u"), ("container", "c"))
    assert measured[names.MISPLACED] == ((labels, 7.0),)


def test_the_level_of_guarantee_is_the_one_that_is_1() -> None:
    measured = gauges.gauges(builders.node(rules(machine(10))), LEVEL, {})
    assert dict(measured[names.GUARANTEE]) == {
        (("level", "kernel"),): 0.0,
        (("level", "process"),): 1.0,
        (("level", "none"),): 0.0,
    }
