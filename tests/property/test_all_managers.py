"""Laws of a node on which the CPU, Device and Memory Manager all work at once.

Pods of every shape come and go under every policy and scope. What is said here holds whatever
the topology policy admits, and in spite of the kubelet's accidents: nobody shares a CPU or a
device with another pod, what is given back is there again, a decision changes nothing but the
snapshot that it returns, and does not depend on who was asked first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.admission import lifecycle
from numalet.core.admission.decision import Decision
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.hints import filtering, policies
from numalet.core.model.machine_info import CoreInfo, HugePages, MachineInfo, NumaNodeInfo
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot import invariants, placement
from numalet.core.snapshot.placement import Placement
from values import builders
from values.device_bench import GPU, NIC, devices

pytestmark = pytest.mark.property

NODES, CORES = 3, 3
RESERVED_CPUS = frozenset({0, 9})
"""A core of node 0."""


def _machine(
    ids: tuple[int, ...] = (0, 1, 2),
    sizes_gib: tuple[int, ...] = (8, 8, 8),
    cores: tuple[int, ...] = (CORES, CORES, CORES),
    paged: tuple[int, ...] = (),
) -> MachineInfo:
    """Three NUMA nodes with 8Gi and three cores of two threads each, or odd ones.

    ``paged`` are the places of nodes with 512 pages of 2 Mi, a size that the others do not know.
    """
    pages = (HugePages(2048, 512),)
    return MachineInfo(
        nodes=tuple(
            NumaNodeInfo(
                node_id=node_id,
                memory_bytes=sizes_gib[at] * builders.GI,
                hugepages=pages if at in paged else (),
                cores=tuple(
                    CoreInfo(at, core, (first := at * CORES + core, first + 9))
                    for core in range(cores[at])
                ),
                distances=tuple(10 if other == at else 20 + at for other in range(NODES)),
            )
            for at, node_id in enumerate(ids)
        ),
        memory_capacity_bytes=sum(sizes_gib) * builders.GI,
        cpu_count=2 * sum(cores),
        socket_count=sum(map(bool, cores)),
        hugepages=tuple(HugePages(2048, 512 * len(paged)) for _ in paged[:1]),
    )


MACHINES = (
    _machine(),
    _machine(ids=(0, 1, 63)),
    _machine(ids=(0, 4, 9), sizes_gib=(9, 3, 12)),
    _machine(sizes_gib=(8, 0, 12)),
    _machine(ids=(0, 2, 5), cores=(CORES, CORES, 0), paged=(0, 2)),
    _machine(ids=(0, 1, 8), sizes_gib=(8, 8, 0), cores=(CORES, 1, 0), paged=(0,)),
)
"""Even; high and sparse ids; uneven; without memory or CPUs somewhere; with uneven page sizes."""
DEVICES = {GPU: devices("g0@0 g1@1 g2@2 g3@1+2"), NIC: devices("n0@0 n1@2 n2")}
OPTIONS = (
    None,
    {"full-pcpus-only": "true"},
    {"distribute-cpus-across-numa": "true"},
    {"align-by-socket": "true"},
    {"distribute-cpus-across-cores": "true"},
    {"strict-cpu-reservation": "true"},
    {"prefer-align-cpus-by-uncorecache": "true"},
)
TOPOLOGY_OPTIONS = (None, None, {"prefer-closest-numa-nodes": "true"})


@st.composite
def started(draw: st.DrawFn) -> Node:
    """An empty node with all managers on, under any topology policy, scope and CPU option."""
    policy = draw(st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"]))
    options = draw(st.sampled_from(OPTIONS))
    if policy == "single-numa-node" and options == {"align-by-socket": "true"}:
        options = None  # The kubelet refuses the two together.
    config = KubeletConfig(
        cpu_manager_policy="static",
        cpu_manager_policy_options=options,
        reserved_system_cpus="0,9",
        memory_manager_policy="Static",
        topology_manager_policy=policy,
        topology_manager_policy_options=draw(st.sampled_from(TOPOLOGY_OPTIONS)),
        topology_manager_scope=draw(st.sampled_from(["container", "pod"])),
        kube_reserved={"memory": "1Gi"},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
        feature_gates={"CPUManagerPolicyAlphaOptions": True},
    )
    node = nodes.start(config, draw(st.sampled_from(MACHINES)), devices=DEVICES)
    assert isinstance(node, Node), node
    return node


@st.composite
def containers(draw: st.DrawFn, name: str, kind: ContainerKind) -> Container:
    """A container with whole or shared CPUs, memory, and perhaps devices."""
    asked = {
        "cpu": draw(st.sampled_from(["500m", "1", "2", "3", "4", "6"])),
        "memory": draw(st.sampled_from(["1Gi", "3Gi", "9Gi"])),
    }
    asked |= draw(
        st.sampled_from([{}, {}, {GPU: "1"}, {GPU: "2"}, {NIC: "1"}, {GPU: "1", NIC: "1"}])
    )
    asked |= draw(st.sampled_from([{}, {}, {}, {"hugepages-2Mi": "256Mi"}]))
    amounts = {resource: Quantity.parse(amount) for resource, amount in asked.items()}
    return Container(name, kind, amounts, amounts)


@st.composite
def pods(draw: st.DrawFn, uid: str) -> Pod:
    """A pod of one to three containers, most of them Guaranteed."""
    early = draw(st.lists(st.sampled_from([ContainerKind.INIT, ContainerKind.SIDECAR]), max_size=2))
    kinds = [*early, *[ContainerKind.APP] * draw(st.integers(1, 2))]
    made = [draw(containers(f"c{at}", kind)) for at, kind in enumerate(kinds)]
    qos = draw(st.sampled_from([QosClass.GUARANTEED] * 5 + [QosClass.BURSTABLE]))
    return builders.pod(uid, *made, qos=qos)


@dataclass(frozen=True)
class Life:
    """A node that has just started, the same in the middle of its life, and one more pod.

    ``sound`` says that no group was broken: the kubelet lets that happen when what a pod's memory
    has in common with the rest is one node of a group, and can lose memory on the way afterwards.
    """

    fresh: Node = field(repr=False)
    node: Node = field(repr=False)
    newcomer: Pod
    story: tuple[str, ...]
    sound: bool


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """Up to six pods come, some of them go, and another one is at the door."""
    fresh = node = draw(started())
    story = [str(node.rules.topology)]
    sound = True
    for count in range(draw(st.integers(0, 6))):
        node, decision = node.admit(draw(pods(f"pod-{count}")))
        story.append(f"{decision.pod}: {'admitted' if decision.admitted else 'rejected'}")
        sound = sound and not invariants.violations(node.snapshot)
        if decision.admitted:
            node = node.pod_started(decision.pod.uid)
        if node.snapshot.pods and draw(st.integers(0, 3)) == 0:
            node = node.remove(gone := draw(st.sampled_from(list(node.snapshot.pods))))
            story.append(f"{gone}: removed")
    return Life(fresh, node, draw(pods("newcomer")), tuple(story), sound)


def _claims(held: dict[ContainerKey, Placement]) -> Iterator[tuple[object, str]]:
    """Every CPU and device that is held, with the pod that holds it."""
    for key, part in held.items():
        yield from ((cpu, key.pod_uid) for cpu in part.cpus)
        for resource, names in part.devices.items():
            yield from (((resource, name), key.pod_uid) for name in names)


@given(lives())
def test_no_cpu_and_no_device_is_held_by_two_pods(life: Life) -> None:
    node, pod = life.node, life.newcomer
    after, _ = node.admit(pod)

    owners: dict[object, str] = {}
    for claimed, uid in _claims(placement.of_all(after.snapshot)):
        assert uid == owners.setdefault(claimed, uid)


@given(lives())
def test_a_cpu_is_in_the_shared_pool_or_held_never_both_or_neither(life: Life) -> None:
    node, pod = life.node, life.newcomer
    snapshot = node.admit(pod)[0].snapshot
    held = [part.cpus for part in placement.of_all(snapshot).values()]
    exclusive = frozenset[int]().union(*held)

    assert frozenset() == exclusive & (snapshot.cpu.default | RESERVED_CPUS)
    kept = RESERVED_CPUS if node.rules.cpu.strict_cpu_reservation else frozenset[int]()
    assert frozenset(node.rules.machine.cpu_ids) == exclusive | snapshot.cpu.default | kept


@given(lives())
def test_an_admitted_container_has_what_it_asked_for(life: Life) -> None:
    node, pod = life.node, life.newcomer
    _, decision = node.admit(pod)
    for container in pod.containers() if decision.admitted else ():
        held = decision.placements[container.name]
        cpu = container.requests["cpu"]
        whole = pod.qos_class is QosClass.GUARANTEED and cpu.milli_value % 1000 == 0
        assert len(held.cpus) == (cpu.value if whole else 0)
        assert {name: len(ids) for name, ids in held.devices.items()} == {
            name: container.limits[name].value for name in (GPU, NIC) if name in container.limits
        }


@given(lives())
def test_what_all_pods_held_is_there_again_when_they_are_gone(life: Life) -> None:
    node, _ = life.node.admit(life.newcomer)
    sound = life.sound and not invariants.violations(node.snapshot)
    for uid in list(node.snapshot.pods):
        node = node.remove(uid)
    empty = node.release_stale().snapshot

    assert placement.of_all(empty) == {}
    fresh = life.fresh
    assert fresh.snapshot.cpu.default == empty.cpu.default
    assert not sound or fresh.snapshot.memory.nodes == empty.memory.nodes
    for resource in DEVICES:
        assert fresh.snapshot.device.free(resource) == empty.device.free(resource)


@given(lives())
def test_a_decision_changes_nothing_and_is_always_the_same(life: Life) -> None:
    node, pod = life.node, life.newcomer
    before, files = repr(node.snapshot), node.state_files()
    after, first = node.admit(pod)
    _, second = node.admit(pod)

    assert before == repr(node.snapshot)
    assert files == node.state_files()
    assert (first.rejection, first.placements) == (second.rejection, second.placements)
    assert after.state_files() == node.at(second.after).state_files()


@given(lives(), st.permutations(range(3)))
def test_who_is_asked_first_does_not_matter_to_the_merge(life: Life, order: list[int]) -> None:
    node, pod = life.node, life.newcomer
    slots = tuple(node.roster.slots[at] for at in order)
    expected = node.admit(pod)[1]
    actual = lifecycle.admit(replace(node.roster, slots=slots), node.snapshot, pod)

    assert expected.admitted == actual.admitted
    assert expected.placements == actual.placements
    assert _merges(expected) == _merges(actual)
    for alignment in expected.alignments.values():
        # Neither does the order of the resources inside of what a manager answers.
        lists = filtering.lists_of(
            dict(reversed(list(hints.items())))
            for hints in reversed(list(alignment.hints.values()))
        )
        roster = node.roster
        again = policies.decide(
            roster.rules.topology.policy, lists, roster.all_nodes, roster.distances
        )
        # Where the kubelet would crash, the order decides whether it lives to see an answer.
        if alignment.merged is not None and isinstance(again, policies.Merged):
            assert alignment.merged == again


def _merges(decision: Decision) -> dict[str, object]:
    """What was made of the hints, by subject."""
    return {subject: alignment.merged for subject, alignment in decision.alignments.items()}
