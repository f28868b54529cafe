"""Whether a restored state fits the machine and the reservation."""

from __future__ import annotations

import pytest

from numalet.core.findings.state_files import (
    CpuStateEmptyDefault,
    CpuStateOtherCpus,
    CpuStateOverlap,
    CpuStateReservedInDefault,
    CpuStateReservedNotInDefault,
)
from numalet.core.managers.cpu import static_policy
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.model.findings import Finding
from values import cpu_builders
from values.cpu_builders import cpus

MACHINE = cpu_builders.shape(1, 1, 4, 2)
PLAIN = cpu_builders.policy(MACHINE, "0,4")
STRICT = cpu_builders.policy(MACHINE, "0,4", "strict-cpu-reservation")


def ledger(default: str, **held: str) -> CpuLedger:
    """Containers ``pod_container`` with their CPUs, and the shared pool."""
    exclusive: dict[str, dict[str, frozenset[int]]] = {}
    for name, listed in held.items():
        pod, container = name.split("_")
        exclusive.setdefault(pod, {})[container] = cpus(listed)
    return CpuLedger(cpus(default), exclusive)


def test_an_empty_state_becomes_the_whole_shared_pool() -> None:
    assert CpuLedger(cpus("0-7")) == static_policy.restored(CpuLedger(), PLAIN)
    assert CpuLedger(cpus("1-3,5-7")) == static_policy.restored(CpuLedger(), STRICT)


def test_a_state_that_makes_up_the_machine_is_taken_as_it_is() -> None:
    plain = ledger("0-2,4-6", u_c="3", v_c="7")
    strict = ledger("1-2,5-6", u_c="3,7")

    assert plain is static_policy.restored(plain, PLAIN)
    assert strict is static_policy.restored(strict, STRICT)


def test_records_that_share_cpus_are_not_noticed() -> None:
    shared = ledger("0-2,4-6", u_c="3,7", v_c="7")

    assert shared is static_policy.restored(shared, PLAIN)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (
            ledger("", v_c="1", u_c="2"),
            CpuStateEmptyDefault(pods=["u", "v"]),
        ),
        (
            ledger("1-7", u_c="0"),
            CpuStateReservedNotInDefault(reserved="0,4", default="1-7"),
        ),
        (
            ledger("0-6", u_c="7", v_b="6", v_a="5-6"),
            CpuStateOverlap(pod="v", container="a", cpus="5-6", default="0-6"),
        ),
        (
            ledger("0-5", u_c="6"),
            CpuStateOtherCpus(available="0-7", found="0-6"),
        ),
        (
            ledger("0-7", u_c="8"),
            CpuStateOtherCpus(available="0-7", found="0-8"),
        ),
    ],
)
def test_a_state_that_does_not_fit_is_refused(state: CpuLedger, expected: Finding) -> None:
    assert expected == static_policy.restored(state, PLAIN)


def test_strictly_reserved_cpus_must_not_be_in_the_pool() -> None:
    assert CpuStateReservedInDefault(reserved="4", default="1-7") == static_policy.restored(
        ledger("1-7"), STRICT
    )


def test_a_strict_state_must_not_hold_reserved_cpus_at_all() -> None:
    assert CpuStateOtherCpus(available="1-3,5-7", found="0-3,5-7") == static_policy.restored(
        ledger("1-3,5-7", u_c="0"), STRICT
    )


@pytest.mark.parametrize("far", [30_000_000_000, 2**63 - 1])
@pytest.mark.parametrize("policy", [PLAIN, STRICT])
def test_a_cpu_that_no_machine_has_is_refused_at_once(policy: CpuStaticPolicy, far: int) -> None:
    pool = cpus("1-3,5-7") if policy is STRICT else cpus("0-7")
    for state in (
        CpuLedger(pool | {far}),
        CpuLedger(pool - {3}, {"u": {"c": frozenset({3, far})}}),
        CpuLedger(pool, pods={"u": frozenset({far})}),
    ):
        refused = static_policy.restored(state, policy)
        assert isinstance(refused, CpuStateOtherCpus)
        assert refused.found.endswith(f",{far}")
