"""Records of exclusive CPUs: what is given back, what a pod may use again."""

from __future__ import annotations

from numalet.core.managers.cpu.ledger import CpuLedger, ReusableCpus
from numalet.core.model.pod import ContainerKey
from values.cpu_builders import container, cpus, init, pod, sidecar

POD = pod("u", init("i", "2"), sidecar("s", "1"), container("c", "1"))
INIT, SIDECAR, APP = POD.containers()


def test_taken_cpus_leave_the_shared_pool() -> None:
    before = CpuLedger(cpus("0-3"))
    free = ReusableCpus("u", cpus("3"))
    after = before.with_cpus(ContainerKey("u", "c"), cpus("1-2"), 0b110, free)

    assert CpuLedger(cpus("0,3"), {"u": {"c": cpus("1-2")}}, free) == after
    assert CpuLedger(cpus("0,3")).default_mask == after.default_mask
    assert CpuLedger(cpus("0-3")) == before


def test_a_released_container_gives_its_cpus_back() -> None:
    ledger = CpuLedger(cpus("0"), {"u": {"c": cpus("1")}, "v": {"c": cpus("2")}})

    assert CpuLedger(cpus("0-1"), {"v": {"c": cpus("2")}}) == ledger.without(ContainerKey("u", "c"))


def test_cpus_that_another_container_of_the_pod_holds_are_not_given_back() -> None:
    ledger = CpuLedger(cpus("0"), {"u": {"i": cpus("1-3"), "c": cpus("2-3"), "d": cpus("3")}})

    assert CpuLedger(cpus("0-1"), {"u": {"c": cpus("2-3"), "d": cpus("3")}}) == ledger.without(
        ContainerKey("u", "i")
    )


def test_every_container_with_a_record_is_a_holder() -> None:
    ledger = CpuLedger(cpus("0"), {"u": {"i": cpus("1"), "c": cpus("1")}, "v": {"c": cpus("2")}})

    assert ledger.holders() == [("u", "i"), ("u", "c"), ("v", "c")]
    assert cpus("2") == ledger.cpus_of("v", "c")
    assert ledger.cpus_of("v", "d") is None


def test_an_init_containers_cpus_may_be_used_again() -> None:
    assert ReusableCpus("u", cpus("1-3")) == ReusableCpus("u", cpus("1")).after(
        POD, INIT, cpus("2-3")
    )


def test_sidecars_and_app_containers_keep_what_they_took() -> None:
    before = ReusableCpus("u", cpus("1-3"))

    assert ReusableCpus("u", cpus("1,3")) == before.after(POD, SIDECAR, cpus("2"))
    assert ReusableCpus("u", cpus("1")) == before.after(POD, APP, cpus("2-4"))


def test_another_pod_does_not_inherit_what_may_be_used_again() -> None:
    before = ReusableCpus("v", cpus("1-3"))

    assert cpus("") == before.of_pod("u")
    assert ReusableCpus("u", cpus("5")) == before.after(POD, INIT, cpus("5"))


def test_a_whole_pods_cpus_stay_until_its_last_container_is_released() -> None:
    whole = {"u": cpus("1-3")}
    parts = {"u": {"i": cpus("1-3"), "c": cpus("2")}}
    ledger = CpuLedger(cpus("0"), parts, pods=whole)
    after = ledger.without(ContainerKey("u", "i"))

    assert CpuLedger(cpus("0"), {"u": {"c": cpus("2")}}, pods=whole) == after
    assert CpuLedger(cpus("0-3")) == after.without(ContainerKey("u", "c"))
