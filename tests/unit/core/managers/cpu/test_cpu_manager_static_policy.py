"""The static policy as a resource manager: hints, allocation, reuse, release."""

from __future__ import annotations

import pytest

from numalet.core.hints.provider import (
    NO_HINTS,
    ZERO_HINT,
    Candidates,
    Hint,
    Impossible,
    NoPreference,
    Refused,
)
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.reasons import (
    NoNodesFit,
    NotWholeCores,
    OtherSize,
    TooFewCpus,
    TooFewWholeCores,
    WouldHang,
)
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.model.pod import ContainerKey, Pod
from values import cpu_builders
from values.cpu_builders import container, cpus, empty, init, mask, pod, sidecar, simple

MACHINE = cpu_builders.shape(2, 2, 3, 2)
"""Cores 0 to 2 and 3 to 5 on two sockets of one node; siblings 6 apart."""
POLICY = cpu_builders.policy(MACHINE, "0,6")


def allocated(
    manager: CpuStaticPolicy, ledger: CpuLedger, of: Pod, *names: str, affinity: Hint = ZERO_HINT
) -> CpuLedger:
    """The ledger after these containers of the pod got their CPUs; all if none is named."""
    for each in of.containers():
        if not names or each.name in names:
            after = manager.allocate(ledger, of, each, affinity)
            assert isinstance(after, CpuLedger), after
            ledger = after
    return ledger


def listed(
    manager: CpuStaticPolicy, ledger: CpuLedger, of: Pod, name: str | None = None
) -> list[str]:
    """Hints for a container, or for the pod as one."""
    if name is None:
        answer = manager.pod_hints(ledger, of)
    else:
        chosen = next(each for each in of.containers() if each.name == name)
        answer = manager.container_hints(ledger, of, chosen)
    assert not isinstance(answer, Refused)
    family = answer["cpu"]
    assert not isinstance(family, Impossible | NoPreference)
    return cpu_builders.masks(family.hints())


def test_a_container_of_the_shared_pool_has_no_preference_and_gets_nothing() -> None:
    shared = pod("u", container("c", "1500m"))
    ledger = empty(POLICY)

    assert POLICY.container_hints(ledger, shared, shared.app_containers[0]) == NO_HINTS
    assert POLICY.pod_hints(ledger, shared) == NO_HINTS
    assert ledger is POLICY.allocate(ledger, shared, shared.app_containers[0], ZERO_HINT)


def test_hints_leave_out_reserved_cpus() -> None:
    assert listed(POLICY, empty(POLICY), simple("u", "4"), "c") == ["{0}*", "{1}*", "{0,1}"]
    assert listed(POLICY, empty(POLICY), simple("u", "5"), "c") == ["{1}*", "{0,1}"]


def test_what_does_not_fit_anywhere_is_impossible() -> None:
    large = simple("u", "11")
    ledger = empty(POLICY)
    impossible = {"cpu": Impossible(NoNodesFit(11, 10))}

    assert impossible == POLICY.container_hints(ledger, large, large.app_containers[0])
    assert impossible == POLICY.pod_hints(ledger, large)


def test_align_by_socket_prefers_all_sets_on_as_few_sockets() -> None:
    manager = cpu_builders.policy(cpu_builders.shape(2, 4, 2, 1), 1, "align-by-socket")

    preferred = [
        hint for hint in listed(manager, empty(manager), simple("u", "1"), "c") if "*" in hint
    ]

    assert preferred == ["{0}*", "{1}*", "{2}*", "{3}*", "{0,1}*", "{2,3}*"]


def test_cpus_of_the_affinity_are_taken_first() -> None:
    ledger = allocated(POLICY, empty(POLICY), simple("u", "2"), affinity=Hint(0b10, True))
    expected = CpuLedger(cpus("0-2,4-8,10-11"), {"u": {"c": cpus("3,9")}}, ledger.reusable)

    assert expected == ledger


def test_what_the_affinity_lacks_is_taken_from_elsewhere() -> None:
    ledger = allocated(POLICY, empty(POLICY), simple("u", "6"), affinity=Hint(0b01, True))

    assert cpus("1-3,7-9") == ledger.cpus_of("u", "c")


def test_align_by_socket_takes_from_the_whole_socket() -> None:
    manager = cpu_builders.policy(cpu_builders.shape(2, 4, 2, 1), "0", "align-by-socket")
    ledger = CpuLedger(cpus("0,3-7"))
    after = allocated(manager, ledger, simple("u", "2"), affinity=Hint(0b0100, True))

    assert cpus("4-5") == after.cpus_of("u", "c")
    after = allocated(manager, ledger, simple("u", "3"), affinity=Hint(0b0100, True))
    assert cpus("4-6") == after.cpus_of("u", "c")


def test_too_few_cpus_are_counted_after_those_of_the_affinity() -> None:
    ledger = empty(POLICY)
    large = simple("u", "11")
    answer = POLICY.allocate(ledger, large, large.app_containers[0], Hint(0b10, True))

    assert Refused(TooFewCpus(5, 4)) == answer


def test_a_refusal_while_taking_from_the_affinity_ends_it() -> None:
    manager = cpu_builders.policy(
        cpu_builders.shape(4, 4, 3, 2),
        "0,3,6,9",
        "distribute-cpus-across-numa",
        "full-pcpus-only",
    )
    # Reserved are single threads of cores, so their siblings are free, but count as taken.
    asking = simple("u", "14")
    answer = manager.allocate(empty(manager), asking, asking.app_containers[0], Hint(0b1111, True))

    assert Refused(WouldHang(0b0011, 2, 2)) == answer


@pytest.mark.parametrize(
    ("options", "two", "seven"),
    [
        ((), "3,9", "1,3-5,9-11"),
        (("distribute-cpus-across-cores",), "1-2", "1,3-5,9-11"),
        (("distribute-cpus-across-numa",), "1-2", "1-4,7,9-10"),
        (("distribute-cpus-across-numa", "full-pcpus-only"), "1-2", "1,3-5,9-11"),
        (("prefer-align-cpus-by-uncorecache",), "3,9", "1,3-5,9-11"),
    ],
)
def test_options_choose_the_assignment(options: tuple[str, ...], two: str, seven: str) -> None:
    manager = cpu_builders.policy(MACHINE, "0,6", *options)

    assert two == cpu_builders.text(manager.picker.take(mask("1-3,9"), 2))
    assert seven == cpu_builders.text(manager.picker.take(mask("1-5,7-11"), 7))


@pytest.mark.parametrize(
    ("count", "expected"), [(1, "1"), (2, "1,7"), (6, "3-5,9-11"), (7, "1,3-5,9-11")]
)
def test_the_documented_requests_get_the_documented_cpus(count: int, expected: str) -> None:
    assert expected == cpu_builders.text(POLICY.picker.take(mask("1-5,7-11"), count))


def test_whole_cores_or_nothing() -> None:
    manager = cpu_builders.policy(MACHINE, "0", "full-pcpus-only")
    asking = pod("u", container("odd", "3"), container("large", "12"), container("all", "10"))
    odd, large, everything = asking.app_containers
    ledger = empty(manager)

    assert Refused(NotWholeCores("odd", 3, 2)) == manager.allocate(ledger, asking, odd, ZERO_HINT)
    assert Refused(TooFewWholeCores("large", 12, 10, 2)) == manager.allocate(
        ledger, asking, large, ZERO_HINT
    )
    assert cpus("1-5,7-11") == allocated(manager, ledger, asking, "all").cpus_of("u", "all")
    assert everything.name == "all"


def test_whole_cores_are_counted_before_anyone_looks_whether_there_are_cpus_already() -> None:
    manager = cpu_builders.policy(MACHINE, "0,6", "full-pcpus-only")
    asking = simple("u", "6")
    ledger = allocated(manager, empty(manager), asking)
    again = manager.allocate(ledger, asking, asking.app_containers[0], ZERO_HINT)

    assert Refused(TooFewWholeCores("c", 6, 4, 2)) == again


def test_whole_cores_that_could_be_used_again_do_not_count() -> None:
    manager = cpu_builders.policy(MACHINE, "0,6", "full-pcpus-only")
    asking = pod("u", init("i", "6"), container("c", "6"))
    ledger = allocated(manager, empty(manager), asking, "i")
    answer = manager.allocate(ledger, asking, asking.app_containers[0], ZERO_HINT)

    assert Refused(TooFewWholeCores("c", 6, 4, 2)) == answer


def test_a_container_that_has_cpus_keeps_them() -> None:
    asking = simple("u", "2")
    ledger = CpuLedger(cpus("0-2,4-8,10-11"), {"u": {"c": cpus("3,9")}})

    again = allocated(POLICY, ledger, asking)

    assert (ledger.default, ledger.exclusive) == (again.default, again.exclusive)
    assert listed(POLICY, ledger, asking, "c") == ["{1}*", "{0,1}"]
    assert listed(POLICY, ledger, asking) == ["{1}*", "{0,1}"]


def test_a_container_that_has_another_number_of_cpus_is_impossible() -> None:
    asking = simple("u", "3")
    ledger = CpuLedger(cpus("0-2,4-8,10-11"), {"u": {"c": cpus("3,9")}})
    impossible = {"cpu": Impossible(OtherSize("c", 3, 2))}

    assert impossible == POLICY.container_hints(ledger, asking, asking.app_containers[0])
    assert impossible == POLICY.pod_hints(ledger, asking)
    assert cpus("3,9") == allocated(POLICY, ledger, asking).cpus_of("u", "c")


def test_pod_hints_count_what_some_containers_hold_already() -> None:
    asking = pod("u", container("a", "2"), container("b", "2"))
    ledger = CpuLedger(cpus("0-2,4-8,10-11"), {"u": {"a": cpus("3,9")}})

    assert listed(POLICY, ledger, asking) == ["{1}*", "{0,1}"]


def test_later_containers_may_use_an_init_containers_cpus() -> None:
    asking = pod("u", init("i", "4"), sidecar("s", "2"), container("a", "2"), container("b", "2"))
    ledger = allocated(POLICY, CpuLedger(cpus("0-2,6-8")), asking, "i")
    assert cpus("1-2,7-8") == ledger.cpus_of("u", "i")
    assert listed(POLICY, ledger, asking, "s") == ["{0}*", "{0,1}"]

    ledger = allocated(POLICY, ledger, asking, "s", "a")

    assert cpus("1,7") == ledger.cpus_of("u", "s")
    assert cpus("2,8") == ledger.cpus_of("u", "a")
    assert cpus("1-2,7-8") == ledger.cpus_of("u", "i")
    last = asking.app_containers[1]
    assert Refused(TooFewCpus(2, 0)) == POLICY.allocate(ledger, asking, last, ZERO_HINT)


def test_an_app_container_may_strand_the_init_containers_cpus() -> None:
    manager = cpu_builders.policy(
        cpu_builders.machine(
            [(0, (core, core + 6), None) for core in (0, 2, 4)],
            [(1, (core, core + 6), None) for core in (1, 3, 5)],
        ),
        "0,6",
    )
    ledger = allocated(manager, empty(manager), pod("u", init("i", "4"), container("c", "6")))

    assert {"i": cpus("2,4,8,10"), "c": cpus("1,3,5,7,9,11")} == ledger.exclusive["u"]


def test_pod_hints_count_init_containers_cpus_as_the_pods_own() -> None:
    asking = pod("u", init("i", "4"), container("c", "5"))
    ledger = allocated(POLICY, CpuLedger(cpus("0-3,6-9")), asking, "i")

    assert listed(POLICY, ledger, asking) == ["{0,1}"]


def test_stale_containers_are_forgotten_and_their_cpus_shared_again() -> None:
    gone, stays = simple("u", "2"), simple("v", "2")
    ledger = allocated(POLICY, allocated(POLICY, empty(POLICY), gone), stays)
    active = {ContainerKey("v", "c")}

    after = POLICY.forget_stale(ledger, active)

    assert {"v": ledger.exclusive["v"]} == after.exclusive
    assert POLICY.initial_default - ledger.exclusive["v"]["c"] == after.default
    assert after is POLICY.forget_stale(after, active)
    assert [ContainerKey("v", "c")] == list(POLICY.holders(after))


def test_a_start_changes_nothing() -> None:
    asking = pod("u", init("i", "2"), container("c", "2"))
    ledger = allocated(POLICY, empty(POLICY), asking)

    assert ledger is POLICY.container_started(ledger, asking, asking.app_containers[0])


def test_an_explicit_list_is_not_what_the_manager_answers() -> None:
    answer = POLICY.container_hints(empty(POLICY), simple("u", "2"), container("c", "2"))

    assert not isinstance(answer, Refused)
    assert not isinstance(answer["cpu"], Candidates)
