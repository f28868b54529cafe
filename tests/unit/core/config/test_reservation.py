"""How a sum of reserved memory is made up, and how it is split over NUMA nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.config import reservation
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.reservation import NodeShare, Spare, Spread, Strategy
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.quantity import Quantity
from values import builders
from values.builders import GI

MI = 1 << 20
TWO = builders.machine(10, 10)
THREE = builders.machine(10, 10, 20)


def quantity(text: str) -> Quantity:
    return Quantity.parse(text)


def without_cpus(machine: MachineInfo, *node_ids: int) -> MachineInfo:
    nodes = tuple(
        replace(node, cores=()) if node.node_id in node_ids else node for node in machine.nodes
    )
    return replace(machine, nodes=nodes)


def split(machine: MachineInfo, total: str, strategy: Strategy) -> list[int]:
    """Reserved mebibytes by node."""
    shares = reservation.split(machine, quantity(total), strategy)
    assert not isinstance(shares, Finding), shares
    assert sum(share.reserved_bytes for share in shares) == quantity(total).value
    assert all(0 <= share.reserved_bytes <= share.usable_bytes for share in shares)
    return [share.reserved_bytes // MI for share in shares]


def refused(machine: MachineInfo, total: str, strategy: Strategy = Spread.EVEN) -> Finding:
    found = reservation.split(machine, quantity(total), strategy)
    assert isinstance(found, Finding)
    return found


def test_the_documented_sum_has_its_three_parts() -> None:
    config = KubeletConfig(
        kube_reserved={"cpu": "4", "memory": "4Gi"},
        system_reserved={"memory": "1Gi"},
        eviction_hard={"memory.available": "100Mi"},
    )
    findings = Findings()
    parts = reservation.memory_parts(config, TWO, findings)

    assert findings.all == ()
    assert [str(parts.kube_reserved), str(parts.system_reserved), str(parts.eviction)] == [
        "4Gi",
        "1Gi",
        "100Mi",
    ]
    assert parts.total == quantity("5220Mi")


def test_a_percentage_is_taken_of_the_machine() -> None:
    config = KubeletConfig(eviction_hard={"memory.available": "5%"})
    parts = reservation.memory_parts(config, builders.machine(16), Findings())

    # Five hundredths in 32-bit floating point are a little more.
    assert parts.total.value == 858993472


def test_ignored_thresholds_and_unreadable_amounts_count_as_nothing() -> None:
    config = KubeletConfig(
        kube_reserved={"memory": "much"},
        eviction_hard={"memory.available": "100Mi"},
        ignore_hard_eviction=True,
    )
    findings = Findings()
    parts = reservation.memory_parts(config, TWO, findings)

    assert [finding.code for finding in findings.all] == ["config/reserved-quantity"]
    assert parts.total.is_zero


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (Spread.EVEN, [1740, 1740, 1740]),
        (Spread.PROPORTIONAL, [1305, 1305, 2610]),
        (Spread.NODE0, [5220, 0, 0]),
        (Spare(1), [2610, 0, 2610]),
        (Spare(0), [0, 2610, 2610]),
    ],
)
def test_every_strategy_splits_the_documented_sum(strategy: Strategy, expected: list[int]) -> None:
    assert split(THREE, "5220Mi", strategy) == expected


def test_what_does_not_divide_goes_to_the_first_nodes_in_whole_mebibytes() -> None:
    assert split(builders.machine(1, 1, 1), "100Mi", Spread.EVEN) == [34, 33, 33]
    assert split(builders.machine(1, 1, 1), "2Mi", Spread.EVEN) == [1, 1, 0]


def test_a_remainder_of_bytes_stays_in_one_place() -> None:
    shares = reservation.split(TWO, quantity("1048579"), Spread.EVEN)
    assert not isinstance(shares, Finding)
    assert [share.reserved_bytes for share in shares] == [MI, 3]


def test_a_full_node_passes_the_rest_to_the_others() -> None:
    assert split(builders.machine(1, 10, 10), "9Gi", Spread.EVEN) == [1024, 4096, 4096]
    assert split(THREE, "15Gi", Spread.NODE0) == [10240, 5120, 0]
    assert split(THREE, "40Gi", Spread.PROPORTIONAL) == [10240, 10240, 20480]


def test_huge_pages_of_a_node_can_not_be_kept_back() -> None:
    machine = builders.machine(10, 10, hugepages={1 << 20: 8})
    assert split(machine, "4Gi", Spread.NODE0) == [2048, 2048]
    assert refused(machine, "5Gi").fields == {"total": quantity("5Gi"), "usable": quantity("4Gi")}


def test_nodes_without_memory_get_nothing() -> None:
    assert split(builders.machine(10, 0, 10), "4Gi", Spread.EVEN) == [2048, 0, 2048]


def test_nodes_without_cpus_get_something_only_when_the_others_are_full() -> None:
    machine = without_cpus(builders.machine(4, 4, 4), 0)
    assert split(machine, "6Gi", Spread.EVEN) == [0, 3072, 3072]
    assert split(machine, "9Gi", Spread.EVEN) == [1024, 4096, 4096]
    assert split(machine, "6Gi", Spread.NODE0) == [0, 4096, 2048]
    assert split(machine, "6Gi", Spare(1)) == [2048, 0, 4096]


def test_a_machine_without_cpus_is_split_all_the_same() -> None:
    machine = without_cpus(TWO, 0, 1)
    assert split(machine, "4Gi", Spread.EVEN) == [2048, 2048]


@pytest.mark.parametrize(
    ("total", "strategy", "code"),
    [
        ("0", Spread.EVEN, "reserve/nothing-to-reserve"),
        ("1500m", Spread.EVEN, "reserve/not-whole-bytes"),
        ("21Gi", Spread.EVEN, "reserve/too-little-memory"),
        ("11Gi", Spare(1), "reserve/spare-needed"),
        ("1Gi", Spare(7), "reserve/unknown-node"),
    ],
)
def test_there_is_not_always_a_split(total: str, strategy: Strategy, code: str) -> None:
    assert refused(TWO, total, strategy).code == code


def test_a_spared_node_that_is_needed_is_reported_with_what_is_missing() -> None:
    assert refused(TWO, "11Gi", Spare(0)).fields == {
        "numa_node": 0,
        "total": quantity("11Gi"),
        "missing": quantity("1Gi"),
    }


def test_a_machine_without_nodes_has_nothing_to_split() -> None:
    empty = builders.machine()
    assert refused(empty, "1Gi").code == "reserve/too-little-memory"


def test_entries_leave_out_nodes_that_keep_nothing_back() -> None:
    shares = (NodeShare(0, GI, 0, True, 0), NodeShare(3, GI, 0, True, 34 * MI))
    assert reservation.entries(shares) == (ReservedMemory(3, {"memory": quantity("34Mi")}),)


def test_what_is_left_for_pods_is_without_huge_pages() -> None:
    share = NodeShare(0, 10 * GI, 4 * GI, True, GI)
    assert (share.usable_bytes, share.left_bytes) == (6 * GI, 5 * GI)
    assert NodeShare(0, GI, 4 * GI, True).usable_bytes == 0


def test_reserved_memory_is_added_up_by_node() -> None:
    reserved = (
        ReservedMemory(1, {"memory": quantity("1Gi")}),
        ReservedMemory(0, {"hugepages-1Gi": quantity("1Gi")}),
        ReservedMemory(1, {"memory": quantity("2Gi")}),
    )
    assert reservation.total_by_node(reserved) == {1: quantity("3Gi")}


def test_huge_pages_stay_where_they_are_kept_back() -> None:
    memory = {"memory": quantity("1Gi")}
    pages = {"hugepages-2Mi": quantity("4Mi")}
    large = {"hugepages-1Gi": quantity("1Gi")}
    given = [
        ReservedMemory(2, large),
        ReservedMemory(0, {"memory": quantity("9Gi"), **pages}),
        ReservedMemory(1, {"memory": quantity("9Gi")}),
    ]
    found = [ReservedMemory(0, memory), ReservedMemory(1, memory)]

    assert (
        ReservedMemory(0, memory | pages),
        ReservedMemory(1, memory),
        ReservedMemory(2, large),
    ) == reservation.keeping_hugepages(found, given)
