"""What one container holds, read out of all ledgers."""

from __future__ import annotations

from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device.ledger import DeviceLedger, DeviceRecord
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot

NOTHING = Placement(frozenset(), (), {})
MEMORY = MemoryBlock((1, 2), "memory", 7)
PAGES = MemoryBlock((0,), "hugepages-1Gi", 5)
SNAPSHOT = Snapshot(
    cpu=CpuLedger(frozenset({0}), {"u": {"c": frozenset({1, 5})}}),
    memory=MemoryLedger({}, {"u": {"c": (MEMORY, PAGES), "empty": ()}}),
    device=DeviceLedger(
        records={
            "u": {
                "c": {
                    "example.com/nic": DeviceRecord({0: ("n",)}),
                    "example.com/gpu": DeviceRecord({0: ("b", "a"), 1: ("a",)}),
                }
            }
        }
    ),
)


def test_a_container_has_cpus_memory_and_devices() -> None:
    held = placement.of_container(SNAPSHOT, "u", "c")

    assert (
        Placement(
            cpus=frozenset({1, 5}),
            memory=(PAGES, MEMORY),
            devices={"example.com/gpu": ("a", "b"), "example.com/nic": ("n",)},
        )
        == held
    )
    assert list(held.devices) == ["example.com/gpu", "example.com/nic"]


def test_memory_nodes_are_those_of_all_blocks() -> None:
    assert placement.of_container(SNAPSHOT, "u", "c").memory_nodes == (0, 1, 2)
    assert NOTHING.memory_nodes == ()


def test_an_unknown_container_holds_nothing() -> None:
    assert placement.of_container(SNAPSHOT, "u", "other") == NOTHING
    assert placement.of_container(SNAPSHOT, "v", "c") == NOTHING
    assert placement.of_container(SNAPSHOT, "u", "empty") == NOTHING


def test_a_pod_has_a_placement_for_each_container_in_order() -> None:
    first = Container("z", ContainerKind.INIT)
    pod = Pod("u", "pod", init_containers=(first,), app_containers=(Container("c"),))

    held = placement.of_pod(SNAPSHOT, pod)

    assert list(held) == ["z", "c"]
    assert held["z"] == NOTHING
    assert frozenset({1, 5}) == held["c"].cpus


def test_every_holder_of_anything_is_listed_sorted() -> None:
    snapshot = Snapshot(
        cpu=CpuLedger(frozenset(), {"u": {"b": frozenset({1})}}),
        memory=MemoryLedger({}, {"u": {"b": (MEMORY,), "a": (PAGES,)}}),
        device=DeviceLedger(records={"t": {"c": {"example.com/gpu": DeviceRecord({0: ("g",)})}}}),
    )

    held = placement.of_all(snapshot)

    assert [ContainerKey("t", "c"), ContainerKey("u", "a"), ContainerKey("u", "b")] == list(held)
    assert Placement(frozenset({1}), (MEMORY,), {}) == held[ContainerKey("u", "b")]
