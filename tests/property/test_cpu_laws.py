"""Laws of the CPU Manager over random histories of pods that come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.hints.provider import Hint, Refused
from numalet.core.managers.cpu import static_policy
from numalet.core.managers.cpu.hints import CpuHintFamily
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.model import numa_mask
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod
from values import cpu_builders

pytestmark = pytest.mark.property

MACHINES = [
    cpu_builders.shape(1, 1, 4, 2),
    cpu_builders.shape(2, 2, 3, 2),
    cpu_builders.shape(2, 4, 2, 2, cores_per_cache=2),
    cpu_builders.shape(2, 6, 2, 2),
]
OPTIONS = [
    (),
    ("full-pcpus-only",),
    ("distribute-cpus-across-numa",),
    ("distribute-cpus-across-numa", "full-pcpus-only"),
    ("distribute-cpus-across-cores",),
    ("prefer-align-cpus-by-uncorecache", "align-by-socket"),
    ("strict-cpu-reservation",),
]
MANAGERS = [
    cpu_builders.policy(machine, 2, *options) for machine in MACHINES for options in OPTIONS
]


class Event(NamedTuple):
    """A pod that comes, or the position of one that goes; affinity to this set of nodes."""

    pod: Pod | int
    affinity: int | None


@st.composite
def pods(draw: st.DrawFn) -> tuple[Container, ...]:
    kinds = draw(st.lists(st.sampled_from(ContainerKind), max_size=3))
    return tuple(
        cpu_builders.container(
            f"c{at}", draw(st.sampled_from(["1", "2", "3", "4", "6", "1500m"])), kind
        )
        for at, kind in enumerate([*kinds, ContainerKind.APP])
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    events = []
    for at in range(draw(st.integers(1, 12))):
        who = (
            draw(st.integers(0, 5))
            if draw(st.integers(0, 3)) == 0
            else cpu_builders.pod(f"u{at}", *draw(pods()))
        )
        events.append(Event(who, draw(st.one_of(st.none(), st.integers(1, 15)))))
    return events


def admitted(manager: CpuStaticPolicy, ledger: CpuLedger, event: Event) -> CpuLedger | None:
    """The ledger with the pod; None if one of its containers was refused."""
    assert isinstance(event.pod, Pod)
    for container in event.pod.containers():
        after = manager.allocate(ledger, event.pod, container, Hint(event.affinity, True))
        if isinstance(after, Refused):
            return None
        ledger = after
    return ledger


def active(pods_there: Sequence[Pod]) -> set[ContainerKey]:
    return {ContainerKey(pod.uid, each.name) for pod in pods_there for each in pod.containers()}


def states(manager: CpuStaticPolicy, history: Sequence[Event]) -> list[tuple[CpuLedger, list[Pod]]]:
    """Ledger and pods after every event."""
    ledger, there = cpu_builders.empty(manager), list[Pod]()
    found = [(ledger, list(there))]
    for event in history:
        if isinstance(event.pod, Pod):
            after = admitted(manager, ledger, event)
            if after is not None:
                ledger = after
                there.append(event.pod)
        elif event.pod < len(there):
            del there[event.pod]
            ledger = manager.forget_stale(ledger, active(there))
        found.append((ledger, list(there)))
    return found


@given(st.sampled_from(MANAGERS), histories())
def test_no_cpu_is_held_by_two_pods_or_by_a_pod_and_the_pool(
    manager: CpuStaticPolicy, history: list[Event]
) -> None:
    for ledger, _ in states(manager, history):
        holders = [ledger.default]
        holders += [frozenset().union(*held.values()) for held in ledger.exclusive.values()]

        assert sum(map(len, holders)) == len(frozenset().union(*holders))
        assert manager.initial_default == frozenset().union(*holders)


@given(st.sampled_from(MANAGERS), histories())
def test_containers_that_run_at_the_same_time_share_no_cpu(
    manager: CpuStaticPolicy, history: list[Event]
) -> None:
    for ledger, there in states(manager, history):
        for pod in there:
            held = ledger.exclusive.get(pod.uid, {})
            lasting = [
                held[each.name]
                for each in pod.containers()
                if each.kind is not ContainerKind.INIT and each.name in held
            ]
            assert sum(map(len, lasting)) == len(frozenset().union(*lasting))


@given(st.sampled_from(MANAGERS), histories())
def test_every_container_has_as_many_cpus_as_it_asked_for_and_no_reserved_one(
    manager: CpuStaticPolicy, history: list[Event]
) -> None:
    ledger, there = states(manager, history)[-1]

    for pod in there:
        for container in pod.containers():
            held = ledger.cpus_of(pod.uid, container.name) or frozenset()
            assert static_policy.of_container(pod, container) == len(held)
            assert held <= manager.allocatable


@given(st.sampled_from(MANAGERS), histories())
def test_when_all_pods_are_gone_the_node_is_as_it_was(
    manager: CpuStaticPolicy, history: list[Event]
) -> None:
    ledger, _ = states(manager, history)[-1]
    after = manager.forget_stale(ledger, set())

    assert (manager.initial_default, {}) == (after.default, after.exclusive)


@given(st.sampled_from(MANAGERS), histories())
def test_every_state_with_a_shared_pool_is_accepted_at_the_next_start(
    manager: CpuStaticPolicy, history: list[Event]
) -> None:
    for ledger, _ in states(manager, history):
        if ledger.default:
            assert ledger is static_policy.restored(ledger, manager)


@given(st.sampled_from(MANAGERS), histories())
def test_a_decision_does_not_change_the_ledger_it_was_made_on(
    manager: CpuStaticPolicy, history: list[Event]
) -> None:
    found = states(manager, history)
    copies = [
        CpuLedger(ledger.default, {uid: dict(held) for uid, held in ledger.exclusive.items()})
        for ledger, _ in found
    ]
    again = states(manager, history)

    for (ledger, _), copy, (second, _) in zip(found, copies, again, strict=True):
        assert (copy.default, copy.exclusive) == (ledger.default, ledger.exclusive)
        assert ledger == second


@given(st.sampled_from(MANAGERS), histories(), st.sampled_from(["1", "2", "4", "7"]))
def test_hints_list_exactly_the_sets_that_have_no_reason_against_them(
    manager: CpuStaticPolicy, history: list[Event], cpu: str
) -> None:
    ledger, _ = states(manager, history)[-1]
    pod = cpu_builders.simple("new", cpu)
    answer = manager.container_hints(ledger, pod, pod.app_containers[0])
    assert not isinstance(answer, Refused)
    family = answer["cpu"]
    free = ledger.default & manager.allocatable

    if not isinstance(family, CpuHintFamily):
        assert len(free) < int(cpu)
        return
    offered = [hint.mask for hint in family.hints()]
    for mask in numa_mask.by_size(manager.topology.node_ids):
        here = sum(
            1
            for node in manager.topology.nodes
            for each in free
            if mask >> node.part_id & 1 and node.cpus >> each & 1
        )
        assert (here >= int(cpu)) == (mask in offered) == (family.why_not(mask) is None)
