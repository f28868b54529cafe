"""Which CPUs are reserved, and reservations with which a kubelet would not start."""

from __future__ import annotations

import pytest

from numalet.core.findings.managers import (
    CpuManagerCanNotReserve,
    CpuManagerReservingWouldHang,
    CpuManagerUnknownReservedCpu,
)
from numalet.core.managers.cpu import static_policy, topology
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import MachineInfo
from values import cpu_builders
from values.cpu_builders import cpus, text

MACHINE = cpu_builders.shape(2, 2, 2, 2)


def refused(on: MachineInfo, reserved: int | str, *options: str) -> Finding:
    built = static_policy.build(cpu_builders.rules(reserved, *options), topology.discover(on))
    assert isinstance(built, Finding)
    return built


@pytest.mark.parametrize(
    ("reserved", "options", "expected", "whole_cores"),
    [
        (2, (), "0,4", "0,4"),
        (3, (), "0-1,4", "0-1,4-5"),
        (2, ("distribute-cpus-across-cores",), "0-1", "0-1,4-5"),
        ("3,6", (), "3,6", "2-3,6-7"),
    ],
)
def test_reserved_cpus_are_chosen_by_the_policys_own_assignment_or_named(
    reserved: int | str, options: tuple[str, ...], expected: str, whole_cores: str
) -> None:
    chosen = cpu_builders.policy(MACHINE, reserved, *options).reserved

    assert (expected, whole_cores) == (text(chosen.cpus), text(chosen.whole_cores))


def test_more_cpus_than_there_are_can_not_be_reserved() -> None:
    assert CpuManagerCanNotReserve(cpus="", count=9) == refused(MACHINE, 9)


def test_a_reserved_cpu_must_exist() -> None:
    assert CpuManagerUnknownReservedCpu(cpu=8, cpus="0-7") == refused(MACHINE, "1,8-9")


def test_a_reserved_cpu_that_no_machine_has_is_refused_at_once() -> None:
    assert CpuManagerUnknownReservedCpu(cpu=2**40, cpus="0-7") == refused(MACHINE, f"1,{2**40}")


def test_a_choice_that_would_never_end_is_refused() -> None:
    # On average a core has two CPUs; each node has a core with three, which makes single ones.
    on = cpu_builders.machine(
        *(
            [
                (node, (5 * node, 5 * node + 1, 5 * node + 2), None),
                (node, (5 * node + 3, 5 * node + 4), None),
            ]
            for node in range(4)
        )
    )

    assert CpuManagerReservingWouldHang(count=14, nodes="{0,1}", group_size=2) == refused(
        on, 14, "distribute-cpus-across-numa", "full-pcpus-only"
    )


def test_strictly_reserved_cpus_are_not_in_the_shared_pool() -> None:
    plain = cpu_builders.policy(MACHINE, 2)
    strict = cpu_builders.policy(MACHINE, 2, "strict-cpu-reservation")

    assert cpus("0-7") == plain.initial_default
    assert cpus("1-3,5-7") == strict.initial_default
    assert plain.allocatable == strict.allocatable == cpus("1-3,5-7")
