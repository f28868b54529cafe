"""CPUs and devices of a node as maps, and as a document."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device import registration
from numalet.core.managers.device.inventory import Health
from numalet.core.managers.device.ledger import EMPTY_LEDGER, DeviceLedger, DeviceRecord
from numalet.core.model.pod import ContainerKey
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.maps import resource_maps
from numalet.insight.maps.resource_maps import (
    CpuCell,
    CpuUse,
    SimulationDevicesDocument,
    SimulationHolderDocument,
)
from numalet.insight.output import json_schema
from values.builders import machine
from values.cpu_builders import cpus, shape
from values.device_bench import GPU, NIC, devices

EXCLUSIVE = {"a": {"i": cpus("1,5"), "c": cpus("1")}, "b": {"c": cpus("3,7")}}
SNAPSHOT = Snapshot(cpu=CpuLedger(cpus("0,2,4,6"), EXCLUSIVE))
TWO_NODES = shape(2, 2, 2, 2)
"""Node 0 has the cores 0,4 and 1,5; node 1 has 2,6 and 3,7."""


def test_every_cpu_is_shown_core_by_core() -> None:
    first, second = resource_maps.cpu_map(SNAPSHOT, TWO_NODES, cpus("0,4"))

    assert (first.node_id, second.node_id) == (0, 1)
    assert (
        (CpuCell(0, CpuUse.RESERVED), CpuCell(4, CpuUse.RESERVED)),
        (CpuCell(1, CpuUse.EXCLUSIVE, "a"), CpuCell(5, CpuUse.EXCLUSIVE, "a")),
    ) == first.cores
    assert (
        (CpuCell(2, CpuUse.SHARED), CpuCell(6, CpuUse.SHARED)),
        (CpuCell(3, CpuUse.EXCLUSIVE, "b"), CpuCell(7, CpuUse.EXCLUSIVE, "b")),
    ) == second.cores
    assert [second.count(use) for use in (CpuUse.SHARED, CpuUse.RESERVED, CpuUse.EXCLUSIVE)] == [
        2,
        0,
        2,
    ]


def test_nodes_without_cpus_are_left_out_and_others_come_by_id() -> None:
    plain = machine(1, 1, 1)
    nodes = (plain.nodes[2], replace(plain.nodes[1], cores=()), plain.nodes[0])
    shown = resource_maps.cpu_map(Snapshot(), replace(plain, nodes=nodes), ())
    assert [node.node_id for node in shown] == [0, 2]


def test_cpus_are_reported_as_lists() -> None:
    rows = resource_maps.cpu_lists(resource_maps.cpu_map(SNAPSHOT, TWO_NODES, cpus("0,4")))
    assert [json_schema.plain(row) for row in rows] == [
        {"node_id": 0, "shared": "", "reserved": "0,4", "exclusive": {"a": "1,5"}},
        {"node_id": 1, "shared": "2,6", "reserved": "", "exclusive": {"b": "3,7"}},
    ]


def _ledger() -> DeviceLedger:
    found = [*devices("b@1 a@1 c@0+1 d"), *devices("e@1", Health.UNHEALTHY)]
    ledger = registration.all_reported(EMPTY_LEDGER, {NIC: devices("n@0"), GPU: found})
    return replace(ledger, in_use={GPU: frozenset({"a", "d"})})


def test_devices_are_listed_by_resource_and_numa_nodes() -> None:
    assert [
        SimulationDevicesDocument(GPU, [], free=[], in_use=["d"], unhealthy=[]),
        SimulationDevicesDocument(GPU, [0, 1], free=["c"], in_use=[], unhealthy=[]),
        SimulationDevicesDocument(GPU, [1], free=["b"], in_use=["a"], unhealthy=["e"]),
        SimulationDevicesDocument(NIC, [0], free=["n"], in_use=[], unhealthy=[]),
    ] == resource_maps.device_map(_ledger())


def test_devices_are_reported_with_their_ids() -> None:
    assert json_schema.plain(resource_maps.device_map(_ledger())[2]) == {
        "resource": GPU,
        "numa_nodes": [1],
        "free": ["b"],
        "in_use": ["a"],
        "unhealthy": ["e"],
    }


def test_holders_of_cpus_and_devices_are_listed_with_those_of_memory() -> None:
    record = {"c": {GPU: DeviceRecord({0: ("g1", "g0")})}}
    snapshot = replace(SNAPSHOT, device=DeviceLedger(records={"z": record}))

    shown = resource_maps.memory_map(snapshot, machine(), [ContainerKey("b", "c")], {})

    assert [
        SimulationHolderDocument("a", "c", "a", [], "1", {}),
        SimulationHolderDocument("a", "i", "a", [], "1,5", {}),
        SimulationHolderDocument("z", "c", "z", [], "", {GPU: ["g0", "g1"]}),
    ] == shown.active
    assert shown.left_behind == [SimulationHolderDocument("b", "c", "b", [], "3,7", {})]
