"""Which of several nodes that admit a pod is best, on fleets small enough to be worked out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Cluster, ClusterNode
from numalet.core.cluster.facts import FactReader
from numalet.core.cluster.verdicts import Verdicts
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import HostPort, NodeConstraints
from numalet.core.model.pod import Pod, PodLevelResources, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.insight.fleet import footprint, preference
from numalet.insight.fleet.footprint import Footprint, Footprints, Remainder, scarcest_first
from numalet.insight.fleet.preference import Preference, PreferredNodes
from values import gpu_fleet
from values.gpu_fleet import GIB

GPUS, CPUS = 8, 64
BOTH = 2 * gpu_fleet.MEMORY_GIB


def _footprint(node: Node, pod: Pod) -> Footprint | None:
    return Footprints(Verdicts().table(pod)).of(FactReader().facts(node))


def _best(by: Preference, cluster: Cluster, pod: Pod) -> str | None:
    asks = gpu_fleet.asking(1)
    asks = replace(asks, pod=pod)
    found = PreferredNodes(cluster.nodes, by).best(asks, shapes.key_of(asks))
    return None if found is None else found.name


def _left(of: Footprint | None) -> tuple[Remainder, ...]:
    assert of is not None
    return of.left


def test_a_pod_on_an_empty_node_breaks_one_numa_node() -> None:
    of = _footprint(gpu_fleet.empty(), gpu_fleet.pod("new", 1))
    # 2 CPUs and 1Gi are kept back on NUMA node 0.
    expected = (
        Remainder(3, 7),
        Remainder((256 - 1 - 32) * GIB, (BOTH - 1 - 32) * GIB),
        Remainder(32 - 2 - 4, (CPUS - 2 - 4) * 1000),
    )
    assert of == Footprint(
        broken=1, grouped=0, left=expected, numa_nodes=1, distance=0, device_distance=10
    )


def test_a_pod_beside_another_breaks_none() -> None:
    node = gpu_fleet.running("seven", [gpu_fleet.pod("x", 1)]).node
    of = _footprint(node, gpu_fleet.pod("new", 1))
    assert of is not None
    assert (of.broken, of.left[0]) == (0, Remainder(2, 6))


def test_a_pod_that_needs_both_numa_nodes_breaks_and_groups_both() -> None:
    of = _footprint(gpu_fleet.empty("restricted"), gpu_fleet.pod("new", 8, cpus=60, gib=500))
    assert of is not None
    assert (of.broken, of.grouped, of.numa_nodes, of.distance) == (2, 2, 2, 20)


def _with_distances(machine: MachineInfo, rows: list[tuple[int, ...]]) -> MachineInfo:
    nodes = [replace(n, distances=row) for n, row in zip(machine.nodes, rows, strict=True)]
    return replace(machine, nodes=tuple(nodes))


def test_distances_are_those_of_the_machine_and_else_the_kernels() -> None:
    known = _with_distances(gpu_fleet.machine(), [(10, 32), (32, 10)])
    assert footprint.distances(known) == {(0, 0): 10, (0, 1): 32, (1, 0): 32, (1, 1): 10}
    short = _with_distances(gpu_fleet.machine(), [(10,), (32,)])
    assert footprint.distances(short) == {(0, 0): 10, (0, 1): 20, (1, 0): 32, (1, 1): 10}
    assert footprint.distances(gpu_fleet.machine())[0, 1] == footprint.REMOTE_DISTANCE


def test_a_device_on_another_numa_node_is_away_from_its_cpus() -> None:
    node = gpu_fleet.running(
        "away",
        [gpu_fleet.pod("gpus", 4, cpus=2, gib=1), gpu_fleet.pod("cpus", cpus=30, gib=1)],
        on=gpu_fleet.empty("best-effort"),
    ).node
    # The GPUs of NUMA node 0 are gone and the CPUs of NUMA node 1: 28 and 4 GPUs are left.
    of = _footprint(node, gpu_fleet.pod("new", 2, cpus=20, gib=1))
    assert of is not None
    assert (of.numa_nodes, of.distance, of.device_distance) == (2, 20, 40)


def test_a_pod_without_cpus_of_its_own_may_run_on_all_numa_nodes() -> None:
    of = _footprint(gpu_fleet.empty(), gpu_fleet.pod("new", 1, cpus=0, gib=1))
    assert of is not None
    assert (of.broken, of.numa_nodes, of.device_distance) == (1, 2, 0)
    plain = _footprint(gpu_fleet.empty(config=KubeletConfig()), gpu_fleet.pod("new", cpus=4, gib=1))
    assert plain is not None
    assert (plain.broken, plain.numa_nodes) == (0, 2)
    assert [each.beside for each in plain.left] == [0, 0]


def test_a_rejected_pod_has_no_footprint() -> None:
    assert _footprint(gpu_fleet.empty(), gpu_fleet.pod("new", 8)) is None


def test_one_admission_is_enough_for_equal_states_and_nothing_grows_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, of = FactReader(), Footprints(Verdicts().table(gpu_fleet.pod("new", 1)))
    empty = gpu_fleet.empty()
    first = of.of(reader.facts(gpu_fleet.running("a", [], on=empty).node))
    assert of.of(reader.facts(gpu_fleet.running("b", [], on=empty).node)) == first
    assert of.admissions == 1
    monkeypatch.setattr(footprint, "_MOST_KEYS", 1)
    used = gpu_fleet.running("c", [gpu_fleet.pod("x", 1)], on=empty)
    assert of.of(reader.facts(used.node)) != first
    assert of.of(reader.facts(empty)) == first
    assert of.admissions == 3


def test_devices_are_scarcer_than_memory_and_memory_than_cpus() -> None:
    names = ["cpu", "hugepages-1Gi", "example.com/nic", "ephemeral-storage", "memory"]
    assert scarcest_first(names) == ("example.com/nic", "hugepages-1Gi", "memory", "cpu")


def test_what_a_pod_asks_for_as_a_whole_counts_whatever_the_release() -> None:
    asked = {"hugepages-1Gi": Quantity.parse("1Gi")}
    whole = PodLevelResources(asked, asked, QosClass.GUARANTEED, count=False)
    pod = replace(gpu_fleet.pod("new", 1), pod_level=whole)
    assert len(_left(_footprint(gpu_fleet.empty(), pod))) == 4


@pytest.mark.parametrize(
    ("by", "gpus", "best"),
    [
        (Preference.PACK, 1, "split"),
        (Preference.PACK, 2, "split"),
        (Preference.PACK, 4, "half"),
        (Preference.SPREAD, 1, "empty"),
        (Preference.SPREAD, 4, "empty"),
        (Preference.CLOSEST, 1, "split"),
        (Preference.PACK, 8, None),
    ],
)
def test_the_best_node_of_a_fleet(by: Preference, gpus: int, best: str | None) -> None:
    assert _best(by, gpu_fleet.split_fleet(), gpu_fleet.pod("new", gpus)) == best


def test_closest_takes_one_numa_node_where_another_node_would_give_two() -> None:
    loose = gpu_fleet.running(
        "a-loose", [gpu_fleet.pod(uid, 2) for uid in "wxyz"], "wy", gpu_fleet.empty("best-effort")
    )
    whole = gpu_fleet.running("whole", [], on=gpu_fleet.empty("best-effort"))
    cluster, pod = gpu_fleet.cluster([loose, whole]), gpu_fleet.pod("new", 4)
    assert _best(Preference.PACK, cluster, pod) == "a-loose"
    assert _best(Preference.CLOSEST, cluster, pod) == "whole"


def test_the_best_node_is_another_one_once_it_has_changed() -> None:
    asks = gpu_fleet.asking(2)
    shape = shapes.key_of(asks)
    nodes = PreferredNodes(gpu_fleet.split_fleet().nodes, Preference.PACK)
    seen = []
    for number in range(7):
        on = nodes.best(asks, shape)
        assert on is not None
        seen.append(on.name)
        node, decision = on.node.admit(replace(asks.pod, uid=f"copy-{number}"))
        assert decision.admitted
        nodes.put(replace(on, node=node))
    assert seen == ["split", "split", "seven", "half", "half", "seven", "seven"]


def test_a_node_to_which_the_scheduler_sends_nothing_is_not_preferred() -> None:
    closed: ClusterNode = replace(gpu_fleet.running("a", []), is_cordoned=True)
    asks = gpu_fleet.asking(1)
    nodes = PreferredNodes({"a": closed}, Preference.PACK)
    assert nodes.best(asks, shapes.key_of(asks)) is None
    nodes.put(replace(closed, is_cordoned=False))
    assert nodes.best(asks, shapes.key_of(asks)) is not None


def test_scores_are_ten_for_the_best_alone_and_fall_to_one() -> None:
    assert preference.scores({}, None) == {}
    assert preference.scores({"b": (1,), "a": (1,)}, "a") == {"a": 10, "b": 9}
    assert preference.scores({"a": (3,), "b": (2,), "c": (2, 5)}, "b") == {"a": 1, "b": 10, "c": 5}
    assert preference.scores({"a": (1,), "b": (2,)}, "b") == {"a": 9, "b": 10}
    many = preference.scores({f"n{at:02}": (at,) for at in range(50)}, "n00")
    assert [*many.values()] == sorted(many.values(), reverse=True)
    assert (many["n00"], many["n01"], many["n49"]) == (10, 9, 1)


def test_a_pod_that_asks_for_a_port_of_the_host_is_decided_node_by_node() -> None:
    pod = replace(gpu_fleet.pod("new", 1), constraints=NodeConstraints(ports=(HostPort(80),)))
    of, reader = Footprints(Verdicts().table(pod)), FactReader()
    first, second = (gpu_fleet.running(name, []).node for name in "ab")
    assert of.of(reader.facts(first)) == of.of(reader.facts(second))
    assert of.admissions == 2
