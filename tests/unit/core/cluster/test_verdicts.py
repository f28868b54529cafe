"""Tables of verdicts: what is decided anew, what is at hand, and that neither changes an answer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from numalet.core.cluster import asking, facts, keys, shapes, verdicts
from numalet.core.cluster.asking import CpuView
from numalet.core.cluster.cluster import ClusterNode, ClusterPod, Origin, Toleration
from numalet.core.cluster.facts import FactReader
from numalet.core.cluster.verdicts import NodeReader, Verdicts
from numalet.core.config.behaviour import NATIVE
from numalet.core.config.rules import StartRefused
from numalet.core.hints.provider import Indifferent
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.managers.memory.ledger import UINT64
from numalet.core.model.node_constraints import UNCONSTRAINED, HostPort, NodeConstraints
from numalet.core.model.pod import Container, ContainerKind, Pod, PodLevelResources, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot.slots import ExtraManager
from values import gpu_fleet, random_nodes
from values.gpu_fleet import GPU


def decide(table: Verdicts, pod: Pod, *nodes: ClusterNode) -> dict[str, bool]:
    every = {each.name: each for each in nodes}
    return {name: each.admitted for name, each in table.decide(every, pod).items()}


def fleet() -> list[ClusterNode]:
    pairs = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    return [gpu_fleet.running(f"n{at}", pairs, gone="ac") for at in range(20)]


def test_nodes_in_one_state_are_decided_once() -> None:
    table, asks = Verdicts(), gpu_fleet.pod("p", 4)
    # Started once, so that they are of one class.
    first = gpu_fleet.empty()
    pairs = [gpu_fleet.pod(uid, 2) for uid in "abcd"]
    every = [gpu_fleet.running(f"n{at}", pairs, gone="ac", on=first) for at in range(20)]
    assert decide(table, asks, *every) == {each.name: False for each in every}
    assert table.table(asks).admissions == 1
    assert decide(table, asks, *every) == {each.name: False for each in every}
    assert table.table(asks).admissions == 1
    changed = replace(every[3], node=every[3].node.remove("b"))
    assert decide(table, asks, *every[:3], changed, *every[4:])["n3"]
    assert table.table(asks).admissions == 2


def test_pods_of_one_shape_have_one_table() -> None:
    table = Verdicts(most_shapes=2)
    one = table.table(gpu_fleet.pod("p", 4))
    assert table.table(gpu_fleet.pod("q", 4)) is one
    assert table.table(gpu_fleet.pod("q", 2)) is not one
    table.table(gpu_fleet.pod("q", 1))
    assert table.table(gpu_fleet.pod("p", 4)) is not one


def test_nodes_that_are_gone_are_forgotten() -> None:
    table, asks = Verdicts(), gpu_fleet.pod("p", 1)
    node = gpu_fleet.running("n", [])
    many = [replace(node, name=f"n{at}") for at in range(1200)]
    decide(table, asks, *many)
    assert decide(table, asks, *many[:50]) == {each.name: True for each in many[:50]}
    assert len(table.reader._by_name) == 50
    assert len(table.table(asks)._by_name) == 50


def test_a_full_table_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, "_MOST_KEYS", 1)
    monkeypatch.setattr(facts, "_MOST_CLASSES", 1)
    table, every = Verdicts(), fleet()[:3]
    assert decide(table, gpu_fleet.pod("p", 2), *every) == {each.name: True for each in every}
    of_shape = table.table(gpu_fleet.pod("p", 2))
    of_shape.remember_copies(("a",), 1)
    of_shape.remember_copies(("b",), 2)
    assert of_shape.copies == {("b",): 2}


def test_a_shape_has_no_name_and_no_place() -> None:
    label = {"kubernetes.io/os": "linux", "app": "x"}
    pod = replace(gpu_fleet.pod("p", 1), node_name="n", phase="Running", labels=label)
    shape = shapes.shape_of(pod)
    assert (shape.node_name, shape.phase, shape.labels) == ("", "", {"kubernetes.io/os": "linux"})
    other = replace(gpu_fleet.pod("q", 1), labels={"kubernetes.io/os": "linux"})
    assert shapes.shape_key(pod) == shapes.shape_key(other)
    assert shapes.shape_key(pod) != shapes.shape_key(gpu_fleet.pod("q", 1))


def test_pods_that_tolerate_other_taints_are_not_treated_alike() -> None:
    pod = ClusterPod(pod=gpu_fleet.pod("p", 1))
    other = replace(pod, pod=gpu_fleet.pod("q", 1), created_at_seconds=1.0)
    assert shapes.key_of(pod) == shapes.key_of(other)
    tolerant = replace(other, tolerations=(Toleration("reserved", exists=True),))
    assert shapes.key_of(tolerant) != shapes.key_of(other)


def test_what_decides_is_in_the_key_of_a_shape() -> None:
    pod = gpu_fleet.pod("p", 1)
    others = [
        replace(pod, constraints=None),
        replace(pod, constraints=NodeConstraints(selector={"a": "b"})),
        replace(pod, priority=5),
        replace(pod, pod_level=PodLevelResources({}, {}, QosClass.GUARANTEED)),
    ]
    assert len({shapes.shape_key(each) for each in (pod, *others)}) == 5


def test_equal_amounts_that_go_reads_differently_are_of_two_shapes() -> None:
    def asking_for(memory: str) -> Pod:
        asked = {"memory": Quantity.parse(memory)}
        only = Container("c", requests=asked, limits=asked)
        return replace(gpu_fleet.pod("p"), app_containers=(only,))

    assert shapes.shape_key(asking_for("1.5Gi")) != shapes.shape_key(asking_for("1536Mi"))


def seeds() -> Iterator[tuple[Node, Pod]]:
    """Nodes and shapes of a few seeds, chosen so that every kind of key is among them."""
    for seed in range(12):
        rng = random.Random(seed)
        for node in random_nodes.states(rng, random_nodes.setup(rng), 3):
            yield node, shapes.shape_of(random_nodes.shape(rng))


def test_a_key_is_that_of_the_state_and_not_of_the_object() -> None:
    reader = FactReader()
    for node, shape in seeds():
        once, twice = reader.facts(node), reader.facts(replace(node))
        asked = asking.of(shape, once.node_class)
        assert hash(keys.of(once, asked)) is not None
        if once.alone not in (*keys.of(once, asked), *keys.whole(once, asked)):
            assert keys.of(once, asked) == keys.of(twice, asked)
            assert keys.whole(once, asked) == keys.whole(twice, asked)


def view(pod: Pod, **options: str) -> CpuView:
    """What a pod distinguishes on a node with these options of the CPU Manager."""
    policy, scope = options.pop("policy", "single-numa-node"), options.pop("scope", "pod")
    config = replace(
        gpu_fleet.kubelet_config(policy, scope), cpu_manager_policy_options=options or None
    )
    config = replace(config, feature_gates={"CPUManagerPolicyAlphaOptions": True})
    node = nodes.start(config, gpu_fleet.machine())
    assert not isinstance(node, StartRefused), node
    return asking.of(pod, FactReader().class_of(node.roster)).cpu_view


def test_how_much_of_the_cpus_is_in_a_key() -> None:
    one = gpu_fleet.pod("p", 0, 4, 1)
    (only,) = one.app_containers
    two = replace(one, app_containers=(only, replace(only, name="other")))
    early = replace(only, name="early", kind=ContainerKind.INIT)
    begun = replace(one, init_containers=(early,))
    wide = replace(two, app_containers=(only, *gpu_fleet.pod("q", 0, 30, 1).app_containers))
    assert view(one) is view(two) is view(one, scope="container") is CpuView.ENOUGH
    assert view(two, scope="container") is CpuView.BY_NODE
    assert view(one, policy="best-effort") is view(two, policy="restricted") is CpuView.BY_NODE
    assert view(two, policy="none") is CpuView.SUM
    assert view(begun) is view(two, policy="best-effort") is CpuView.EVERYTHING
    assert view(wide, policy="restricted") is CpuView.EVERYTHING
    assert view(two, **{"align-by-socket": "true"}, policy="best-effort") is CpuView.EVERYTHING
    assert view(one, **{"distribute-cpus-across-numa": "true"}) is CpuView.EVERYTHING
    assert view(two, **{"full-pcpus-only": "true"}) is CpuView.ENOUGH
    assert view(replace(two, qos_class=QosClass.BURSTABLE)) is CpuView.NOTHING


def test_a_part_of_a_core_that_is_reserved_puts_every_cpu_into_the_key() -> None:
    config = replace(
        gpu_fleet.kubelet_config(),
        cpu_manager_policy_options={"full-pcpus-only": "true"},
        reserved_system_cpus="0",
    )
    node = nodes.start(config, gpu_fleet.machine())
    assert not isinstance(node, StartRefused), node
    reader = FactReader()
    (only,) = gpu_fleet.pod("p", 0, 4, 1).app_containers
    two = replace(gpu_fleet.pod("p"), app_containers=(only, replace(only, name="other")))
    of_class = reader.class_of(node.roster)
    assert asking.of(two, of_class).cpu_view is CpuView.EVERYTHING
    one = asking.of(replace(two, app_containers=(only,)), of_class)
    assert (one.cpu_view, one.counts_whole_cores) == (CpuView.ENOUGH, True)
    assert keys.of(reader.facts(node), one) == keys.of(reader.facts(replace(node)), one)


@pytest.mark.parametrize(("policy", "view"), [("restricted", "EVERYTHING"), ("none", "SUM")])
def test_where_resources_are_put_together_every_cpu_counts(policy: str, view: str) -> None:
    node = gpu_fleet.empty(policy, behaviour=NATIVE)
    (only,) = gpu_fleet.pod("p", 0, 4, 1).app_containers
    two = replace(gpu_fleet.pod("p"), app_containers=(only, replace(only, name="other")))
    assert asking.of(two, FactReader().class_of(node.roster)).cpu_view is CpuView[view]


def test_sizes_that_wrap_around_are_in_the_key_as_they_are() -> None:
    node, reader = gpu_fleet.empty(), FactReader()
    first, *_ = node.snapshot.memory.nodes.values()
    table = replace(first.tables["memory"], allocatable=UINT64, free=UINT64)
    ledger = replace(
        node.snapshot.memory,
        nodes={**node.snapshot.memory.nodes, 0: replace(first, tables={"memory": table})},
    )
    odd = reader.facts(node.at(replace(node.snapshot, memory=ledger)))
    asked = asking.of(gpu_fleet.pod("p", 1), odd.node_class)
    assert not odd.sizes_are_sane
    assert odd.all_memory in keys.of(odd, asked)
    assert odd.all_memory[-1] == ("memory",)


def test_a_size_that_go_can_not_read_puts_all_memory_into_the_key() -> None:
    reader, node = FactReader(), gpu_fleet.empty()
    asked = {"memory": Quantity.parse("1.5Gi"), "cpu": Quantity.parse("1")}
    only = Container("c", requests=asked, limits=asked)
    pod = replace(gpu_fleet.pod("p"), app_containers=(only,))
    odd = asking.of(pod, reader.class_of(node.roster))
    assert odd.memory is None
    assert reader.facts(node).all_memory in keys.of(reader.facts(node), odd)


def test_a_manager_from_outside_makes_every_state_its_own() -> None:
    extra = ExtraManager("fpga", Indifferent(), None)
    node = nodes.start(gpu_fleet.kubelet_config(), gpu_fleet.machine(), managers=[extra])
    assert not isinstance(node, StartRefused)
    reader = FactReader()
    one, other = reader.facts(node), reader.facts(replace(node))
    asked = asking.of(gpu_fleet.pod("p", 0, 1, 1), one.node_class)
    assert keys.of(one, asked) == keys.of(one, asked) != keys.of(other, asked)
    assert keys.whole(one, asked) != keys.whole(other, asked)


def test_devices_are_positions_and_what_nothing_knows_is_counted() -> None:
    reader, empty = FactReader(), gpu_fleet.empty()
    renamed = [Device(f"uuid-{at}", (at // 4,)) for at in range(8)]
    other = empty.devices_reported({GPU: renamed})
    asked = asking.of(gpu_fleet.pod("p", 2), reader.class_of(empty.roster))
    assert keys.of(reader.facts(empty), asked) == keys.of(reader.facts(other), asked)
    node, _ = empty.admit(gpu_fleet.pod("q", 2))
    gone = node.devices_reported({GPU: renamed})
    of_gone = reader.facts(gone).devices[GPU]
    assert (of_gone.in_use, of_gone.strays, of_gone.in_use_count) == (0, 2, 2)
    ill = [replace(each, health=Health.UNHEALTHY) for each in renamed]
    assert reader.facts(empty.devices_reported({GPU: ill})).devices[GPU].free_by_mask() == {}
    stopped = node.plugin_stopped(GPU).resource_expired(GPU)
    assert not reader.facts(stopped).devices[GPU].devices.is_registered


def test_what_is_stale_is_forgotten_only_where_it_would_be() -> None:
    node, _ = gpu_fleet.empty().admit(gpu_fleet.pod("q", 2))
    gone, reader = node.remove("q"), NodeReader()
    assert reader.facts("n", gone).devices[GPU].in_use == 0
    not_ready = gone.at(replace(gone.snapshot, sources_ready=False))
    assert reader.facts("n", not_ready).devices[GPU].in_use == 3
    assert reader.facts("n", not_ready) is reader.facts("n", not_ready)


def test_an_evicting_pod_is_decided_for_each_node_where_it_lacks_something() -> None:
    critical = replace(gpu_fleet.pod("c", 0, 1, 1), priority=2_000_000_001)
    reader, empty = FactReader(), gpu_fleet.empty()
    asked = asking.of(shapes.shape_of(critical), reader.class_of(empty.roster))
    one, other = reader.facts(empty), reader.facts(replace(empty))
    assert keys.of(one, asked) == keys.of(other, asked)
    with_gpu = asking.of(
        shapes.shape_of(replace(gpu_fleet.pod("c", 1), priority=2_000_000_001)), one.node_class
    )
    assert keys.of(one, with_gpu) != keys.of(other, with_gpu)


def test_ports_are_in_the_key() -> None:
    web = replace(gpu_fleet.pod("w", 0, 1, 1), constraints=NodeConstraints(ports=(HostPort(80),)))
    assert web.constraints != UNCONSTRAINED
    table = Verdicts()
    empty = gpu_fleet.running("empty", [])
    busy = replace(empty, name="busy", node=empty.node.admit(web)[0])
    assert decide(table, web, empty, busy) == {"empty": True, "busy": False}
    assert empty.origin is Origin.DESCRIBED


def test_without_the_policy_static_no_cpu_is_in_a_key() -> None:
    config = replace(gpu_fleet.kubelet_config(), cpu_manager_policy="none")
    of_node = FactReader().facts(gpu_fleet.empty(config=config))
    assert (of_node.free_cpus, of_node.node_class.is_nested) == ((), True)
    asked = asking.of(gpu_fleet.pod("p", 0, 4, 1), of_node.node_class)
    assert asked.cpu_view is CpuView.NOTHING


def test_nodes_whose_pods_hold_the_same_have_equal_keys_but_for_pods_that_evict() -> None:
    first, reader = gpu_fleet.empty(), FactReader()
    both = [
        gpu_fleet.running(name, [gpu_fleet.pod(f"{name}-{at}", 2) for at in range(3)], on=first)
        for name in "ab"
    ]

    def known(pod: Pod, places: slice) -> list[object]:
        every = [reader.facts(each.node) for each in both]
        asked = asking.of(shapes.shape_of(pod), every[0].node_class)
        return [keys.with_holders(each, asked, list(each.snapshot.pods)[places]) for each in every]

    pod = gpu_fleet.pod("p", 4)
    one, other = known(pod, slice(2))
    assert one == other
    assert known(pod, slice(1, 3))[0] != one
    critical, another = known(replace(pod, priority=2_000_000_001), slice(2))
    assert critical != another


def test_what_a_pod_says_about_its_node_is_in_the_key_and_ports_are_never_alike() -> None:
    reader = FactReader()
    node = gpu_fleet.running("n", [gpu_fleet.pod("p", 2)]).node
    every = [node, node.at(replace(node.snapshot))]

    def known(constraints: NodeConstraints) -> list[object]:
        asked = replace(gpu_fleet.pod("q", 4), constraints=constraints)
        facts = [reader.facts(each) for each in every]
        of_class = asking.of(shapes.shape_of(asked), facts[0].node_class)
        return [keys.with_holders(each, of_class, ("p",)) for each in facts]

    one, other = known(NodeConstraints(selector={"a": "b"}))
    assert one == other != known(NodeConstraints())[0]
    one, other = known(NodeConstraints(ports=(HostPort(80),)))
    assert one != other
