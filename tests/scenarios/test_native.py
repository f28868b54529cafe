"""Native mode, rule by rule: what it does where the kubelet has an accident or a limit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.agent.controller import settings
from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import AllocationRefused, KubeletWouldCrash, NotAligned
from numalet.core.checkpoint import memory_file
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour, Mode
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.numalet_config import NumaletConfig
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.hints.provider import Candidates, Hint
from numalet.core.model import numa_mask
from numalet.core.model.findings import Severity
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot import invariants
from numalet.insight.maps.resource_maps import memory_map
from numalet.insight.state import verify
from numalet.insight.state.verify import Soundness
from numalet.io.machines import MachineChoice
from numalet.wording import kubelet
from values.builders import GI, container, init, machine, pod, simple
from values.device_bench import GPU, devices

ONE_GIB = {"memory": Quantity.parse("1Gi")}
NO_TOPOLOGY = KubeletConfig(
    memory_manager_policy="Static",
    kube_reserved={"memory": "1Gi"},
    reserved_memory=(ReservedMemory(0, ONE_GIB),),
)
BEST_EFFORT = replace(NO_TOPOLOGY, topology_manager_policy="best-effort")


def _started(machine: MachineInfo, config: KubeletConfig, mode: Behaviour = NATIVE) -> Node:
    node = nodes.start(config, machine, behaviour=mode)
    assert isinstance(node, Node), node
    return node


def _admitted(node: Node, *pods: Pod) -> Node:
    """The node after all of them were admitted and their containers started."""
    for each in pods:
        node, decision = node.admit(each)
        assert decision.admitted, decision.rejection
        node = node.pod_started(each.uid)
    return node


def test_modes_have_their_names() -> None:
    assert (EXACT.mode, NATIVE.mode) == (Mode.EXACT, Mode.NATIVE)
    assert Mode.NATIVE is replace(EXACT, release_at_once=True).mode


def test_node_ids_above_63_are_ordinary() -> None:
    node = _started(machine(10, 10, 10, node_ids=(0, 64, 700)), BEST_EFFORT)

    node = _admitted(node, simple("wide", "25Gi"))

    (block,) = node.snapshot.memory.blocks["wide"]["c"]
    assert block.nodes == (0, 64, 700)
    again = node.restart(BEST_EFFORT, node.rules.machine, node.state_files())
    assert isinstance(again, Node)
    assert again.snapshot.memory.nodes == node.snapshot.memory.nodes


@pytest.mark.parametrize("option", [None, "8", "12"])
def test_any_number_of_nodes_is_accepted(option: str | None) -> None:
    options = None if option is None else {"max-allowable-numa-nodes": option}
    asked = replace(BEST_EFFORT, topology_manager_policy_options=options)

    node = _started(machine(*[10] * 20), asked)

    assert node.rules.topology.node_limit is None
    assert node.admit(simple("p", "15Gi"))[1].admitted


def test_a_node_limit_that_no_kubelet_reads_is_refused_all_the_same() -> None:
    options = {"max-allowable-numa-nodes": "7"}
    asked = replace(BEST_EFFORT, topology_manager_policy_options=options)

    refused = nodes.start(asked, machine(10, 10), behaviour=NATIVE)

    assert isinstance(refused, StartRefused)
    assert refused.findings[0].code == "config/topology-node-limit"


def test_distances_are_by_position() -> None:
    distances = ((10, 40, 12), (40, 10, 30), (12, 30, 10))
    asked = replace(
        BEST_EFFORT, topology_manager_policy_options={"prefer-closest-numa-nodes": "true"}
    )
    node = _started(machine(10, 10, 10, node_ids=(0, 5, 9), distances=distances), asked)

    _, decision = node.admit(simple("wide", "15Gi"))

    # Nodes 0 and 9 are the nearest pair.
    assert numa_mask.of((0, 9)) == decision.affinities["c"].mask


def test_what_is_refused_or_removed_leaves_at_once() -> None:
    node = _started(machine(10, 10), NO_TOPOLOGY)
    before = node.snapshot.memory

    after, decision = node.admit(pod("two", container("a", "6Gi"), container("b", "99Gi")))

    assert not decision.admitted
    assert before == after.snapshot.memory
    assert after.leftovers() == ()
    there = _admitted(after, simple("one", "6Gi"))
    gone = there.remove("one")
    assert before.nodes == gone.snapshot.memory.nodes
    assert not memory_map(gone.snapshot, gone.rules.machine, (), {}).active


def _on_gpus(uid: str, memory: str, count: str = "1") -> Pod:
    """A pod that has to be where the devices are."""
    return pod(uid, container("c", memory, ContainerKind.APP, **{GPU: count}))


def test_a_node_inside_a_group_is_not_used_alone() -> None:
    found = {}
    for mode in (EXACT, NATIVE):
        node = _started(machine(11, 10, 10), BEST_EFFORT, mode)
        node = _admitted(node.devices_reported({GPU: devices("g0@1")}), simple("big", "12Gi"))
        found[mode] = _admitted(node, _on_gpus("small", "2Gi")).snapshot

    assert found[EXACT].memory.blocks["small"]["c"][0].nodes == (1,)
    assert invariants.violations(found[EXACT])
    assert found[NATIVE].memory.blocks["small"]["c"][0].nodes == (0, 1)
    assert invariants.violations(found[NATIVE]) == ()


def test_a_group_that_is_only_met_is_joined_as_a_whole() -> None:
    """Two nodes of a group of three: the kubelet refuses, though the group has room."""
    found = {}
    for mode in (EXACT, NATIVE):
        node = _started(machine(11, 10, 10, 10), BEST_EFFORT, mode)
        node = node.devices_reported({GPU: devices("g0@0 g1@1")})
        node = _admitted(node, simple("big", "25Gi"), simple("fill", "9Gi"))
        node = _admitted(node, simple("in-group", "4Gi")).remove("big").remove("fill")
        found[mode] = node.release_stale().admit(_on_gpus("small", "2Gi", "2"))[1]

    assert not found[EXACT].admitted
    assert found[NATIVE].placements["c"].memory_nodes == (0, 1, 2)


def test_lack_of_memory_is_reported_before_anything_is_given() -> None:
    restricted = replace(BEST_EFFORT, topology_manager_policy="restricted")
    found = {}
    for mode in (EXACT, NATIVE):
        _, decision = _started(machine(10, 10), restricted, mode).admit(simple("p", "30Gi"))
        found[mode] = decision.rejection

    assert isinstance(found[EXACT], AllocationRefused)
    assert isinstance(found[NATIVE], NotAligned)


def _again(node: Node, asked: KubeletConfig, *pods: Pod) -> tuple[Node, list[Decision]]:
    """The node after a restart at which these pods were seen again, and the decisions."""
    after = node.restart(asked, node.rules.machine, node.state_files())
    assert isinstance(after, Node), after
    decisions = []
    for each in pods:
        after, decision = after.admit(each)
        decisions.append(decision)
    return after.sources_ready(), decisions


def _reserved(node: Node) -> list[int]:
    """Whole GiB of memory that are reserved, by NUMA node."""
    return [each.tables["memory"].reserved // GI for each in node.snapshot.memory.nodes.values()]


@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted"])
def test_ended_init_containers_get_nothing_after_a_restart(policy: str, scope: str) -> None:
    asked = replace(BEST_EFFORT, topology_manager_policy=policy, topology_manager_scope=scope)
    mine = pod("p", init("i", "7Gi"), container("c", "2Gi"))
    other = simple("other", "8Gi")
    found = {}
    for mode in (EXACT, NATIVE):
        node = _admitted(_started(machine(11, 10), asked, mode), mine, other)
        assert _reserved(node) == [10, 0]
        after, (decision, _) = _again(node, asked, mine, other)
        found[mode] = (decision.admitted, _reserved(after))

    assert found[NATIVE] == (True, [10, 0])
    # In pod scope the kubelet even rejects the running pod.
    on_one_node = scope == "pod" and policy != "none"
    assert (not on_one_node, [10, 0 if on_one_node else 7]) == found[EXACT]


def test_an_init_container_that_runs_keeps_its_memory() -> None:
    node = _started(machine(11, 10), BEST_EFFORT)
    mine = pod("p", init("i", "7Gi"), container("c", "2Gi"))
    node, _ = node.admit(mine)

    after, (decision,) = _again(node, BEST_EFFORT, mine)

    assert decision.admitted
    assert node.snapshot.memory.blocks == after.snapshot.memory.blocks


def test_running_pods_offer_where_their_memory_is() -> None:
    asked = replace(BEST_EFFORT, topology_manager_scope="pod")
    mine = pod("p", container("a", "2Gi"), container("b", "3Gi"))
    found = {}
    for mode in (EXACT, NATIVE):
        node = _admitted(_started(machine(3, 10), asked, mode), mine)
        _, (decision,) = _again(node, asked, mine)
        found[mode] = decision.alignments["pod"].hints["memory"]

    assert found[EXACT] == {}
    assert Candidates((Hint(0b10, True),)) == found[NATIVE]["memory"]


def test_a_running_pod_whose_memory_is_in_two_places_offers_neither() -> None:
    mine = pod("p", container("a", "7Gi"), container("b", "7Gi"))
    node = _admitted(_started(machine(11, 10), BEST_EFFORT), mine)

    _, (decision,) = _again(node, replace(BEST_EFFORT, topology_manager_scope="pod"), mine)

    assert decision.admitted
    assert decision.alignments["pod"].hints["memory"] == {}


def test_memory_is_not_used_again_after_it_was_given_back() -> None:
    mine = pod("p", init("i", "7Gi"), container("c", "2Gi"))
    found = {}
    for mode in (EXACT, NATIVE):
        node = _admitted(_started(machine(11, 10), NO_TOPOLOGY, mode), mine).remove("p")
        node, decision = node.admit(mine)
        assert decision.admitted
        found[mode] = node

    assert invariants.violations(found[EXACT].snapshot)
    assert _reserved(found[EXACT]) == [4, 0]
    assert invariants.violations(found[NATIVE].snapshot) == ()
    assert _reserved(found[NATIVE]) == [7, 0]


def test_every_memory_type_counts_in_pod_scope() -> None:
    """The init container's pages are on node 1 only; the kubelet looks at the memory alone."""
    asked = replace(
        BEST_EFFORT, topology_manager_policy="single-numa-node", topology_manager_scope="pod"
    )
    early = container("i", "1Gi", ContainerKind.INIT, hugepages_1Gi="2Gi")
    pages = (HugePages(1 << 20, 0), HugePages(1 << 20, 4))
    on = machine(11, 10)
    on = replace(
        on,
        nodes=tuple(replace(n, hugepages=(p,)) for n, p in zip(on.nodes, pages, strict=True)),
        hugepages=(HugePages(1 << 20, 4),),
    )
    found = {
        mode: _started(on, asked, mode).admit(pod("p", early, container("c", "2Gi")))[1]
        for mode in (EXACT, NATIVE)
    }

    assert not found[EXACT].admitted
    assert found[NATIVE].admitted
    assert [each.mask for each in found[NATIVE].affinities.values()] == [0b10] * 2


def _keeping(limits: dict[str, str], node: int = 1) -> KubeletConfig:
    """The usual reservation, and more of it on one node."""
    entry = ReservedMemory(node, {name: Quantity.parse(text) for name, text in limits.items()})
    return replace(NO_TOPOLOGY, reserved_memory=(*NO_TOPOLOGY.reserved_memory, entry))


def test_huge_pages_are_kept_back() -> None:
    on = machine(11, 10, hugepages={1 << 20: 4})
    asked = _keeping({"hugepages-1Gi": "3Gi"})

    node = _started(on, asked)

    assert isinstance(nodes.start(asked, on), StartRefused)
    table = node.snapshot.memory.nodes[1].tables["hugepages-1Gi"]
    assert (table.system_reserved, table.allocatable) == (3 * GI, 1 * GI)
    after, decision = node.admit(simple("p", "1Gi", hugepages_1Gi="5Gi"))
    assert decision.placements["c"].memory_nodes == (0, 1)
    assert not after.admit(simple("q", "1Gi", hugepages_1Gi="1Gi"))[1].admitted


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"hugepages-1Gi": "5Gi"}, "5368709120 bytes of hugepages-1Gi on NUMA node 1"),
        ({"hugepages-2Mi": "2Mi"}, "2097152 bytes of hugepages-2Mi on NUMA node 1, which has 0"),
        ({"hugepages-1Gi": "-1Gi"}, "reserves -1073741824 bytes"),
    ],
)
def test_no_more_is_reserved_than_there_is(limits: dict[str, str], told: str) -> None:
    refused = nodes.start(
        _keeping(limits), machine(11, 10, hugepages={1 << 20: 4}), behaviour=NATIVE
    )

    assert isinstance(refused, StartRefused)
    assert StartStage.NUMALET is refused.stage
    assert told in refused.findings[0].located


def test_no_more_memory_is_reserved_than_a_node_has() -> None:
    asked = replace(
        NO_TOPOLOGY,
        kube_reserved={"memory": "7Gi"},
        reserved_memory=(ReservedMemory(1, {"memory": Quantity.parse("7Gi")}),),
    )
    on = machine(11, 10, hugepages={1 << 20: 4})

    assert isinstance(nodes.start(asked, on), Node)
    assert isinstance(nodes.start(asked, on, behaviour=NATIVE), StartRefused)


def _with_accelerators() -> MachineInfo:
    """Two ordinary nodes, and two with memory only, which are larger."""
    on = machine(11, 10, 40, 40, hugepages={1 << 20: 4})
    bare = tuple(replace(node, cores=()) for node in on.nodes[2:])
    return replace(on, nodes=(*on.nodes[:2], *bare))


@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted"])
def test_memory_of_pods_stays_out_of_accelerators(policy: str) -> None:
    asked = replace(BEST_EFFORT, topology_manager_policy=policy)
    near_accelerator = {GPU: devices("g0@0+2")}
    wide, pages = simple("wide", "11Gi"), simple("pages", "1Gi", hugepages_1Gi="5Gi")
    on_gpu = _on_gpus("gpu", "1Gi")
    found = {}
    for mode in (EXACT, NATIVE):
        node = _started(_with_accelerators(), asked, mode).devices_reported(near_accelerator)
        found[mode] = [
            set(node.admit(each)[1].placements["c"].memory_nodes) for each in (wide, pages, on_gpu)
        ]

    assert any(each & {2, 3} for each in found[EXACT])
    assert [{0, 1}, {0, 1}, {0}] == found[NATIVE]


def test_more_memory_than_ordinary_nodes_have_is_refused() -> None:
    node = _started(_with_accelerators(), BEST_EFFORT)

    assert not node.admit(simple("p", "30Gi"))[1].admitted
    assert list(node.snapshot.memory.nodes) == [0, 1]


def test_an_administrator_may_give_accelerator_memory_to_pods() -> None:
    mode = NumaletConfig(
        mode=Mode.NATIVE, memory_node_classes=(NodeClass.CPU, NodeClass.MEMORY)
    ).behaviour
    node = _started(_with_accelerators(), BEST_EFFORT, mode)

    assert node.admit(simple("p", "30Gi"))[1].placements["c"].memory_nodes == (2,)


def test_a_device_at_an_accelerator_s_node_does_not_take_memory_there() -> None:
    node = _started(_with_accelerators(), BEST_EFFORT)
    node = node.devices_reported({GPU: devices("g0@2")})

    _, decision = node.admit(_on_gpus("p", "1Gi"))

    assert {0, 1} >= set(decision.placements["c"].memory_nodes)
    assert decision.placements["c"].devices


def test_some_node_must_give_memory() -> None:
    mode = NumaletConfig(mode=Mode.NATIVE, memory_node_classes=(NodeClass.EMPTY,)).behaviour

    refused = nodes.start(BEST_EFFORT, _with_accelerators(), behaviour=mode)

    assert isinstance(refused, StartRefused)
    assert "[empty]" in refused.findings[0].located
    assert "[cpu, memory]" in refused.findings[0].located


def _pages_on_one_node() -> MachineInfo:
    """Two nodes, of which only the second lists a page size."""
    on = machine(11, 10)
    with_pages = replace(on.nodes[1], hugepages=(HugePages(1 << 20, 4),))
    return replace(on, nodes=(on.nodes[0], with_pages), hugepages=with_pages.hugepages)


@pytest.mark.parametrize("policy", ["none", "restricted"])
def test_a_node_without_a_page_size_has_no_such_pages(policy: str) -> None:
    asked = replace(BEST_EFFORT, topology_manager_policy=policy)
    wants_pages = simple("p", "1Gi", hugepages_1Gi="2Gi")
    found = {
        mode: _started(_pages_on_one_node(), asked, mode).admit(wants_pages)[1]
        for mode in (EXACT, NATIVE)
    }

    assert isinstance(found[EXACT].rejection, KubeletWouldCrash)
    assert found[NATIVE].placements["c"].memory_nodes == (1,)


@pytest.mark.parametrize("policy", ["none", "restricted"])
def test_a_page_size_that_no_node_has_is_refused_plainly(policy: str) -> None:
    asked = replace(BEST_EFFORT, topology_manager_policy=policy)

    _, decision = _started(machine(11, 10), asked).admit(simple("p", "1Gi", hugepages_1Gi="2Gi"))

    expected = {"none": "no NUMA node has hugepages-1Gi", "restricted": "Topology locality"}
    assert expected[policy] in kubelet.message(decision.rejection)
    assert not isinstance(decision.rejection, KubeletWouldCrash)


def test_what_goes_while_sources_are_awaited_takes_nobody_along() -> None:
    node = _admitted(_started(machine(11, 10), NO_TOPOLOGY), simple("a", "6Gi"), simple("b", "4Gi"))
    after = node.restart(NO_TOPOLOGY, node.rules.machine, node.state_files())
    assert isinstance(after, Node)

    waiting = after.admit(simple("a", "6Gi"))[0].remove("a")
    assert _reserved(waiting) == [10, 0]
    seen = waiting.admit(simple("b", "4Gi"))[0].sources_ready()

    assert _reserved(seen) == [4, 0]
    assert seen.leftovers() == ()


def _verified(node: Node, on: MachineInfo | None = None) -> dict[str, str]:
    """Sentences of what a verification finds in the memory file, by code; all are notes."""
    text = node.state_files()[memory_file.FILE_NAME]
    report = verify.verify_file(memory_file.FILE_NAME, text, on)
    assert Soundness.SOUND is report.soundness, report.findings
    assert {Severity.NOTE} >= {each.severity for each in report.findings}
    assert all(each.why for each in report.findings)
    return {each.code: str(each) for each in report.findings}


def test_a_file_that_no_kubelet_takes_says_why() -> None:
    pages = _keeping({"hugepages-1Gi": "3Gi"})
    high = machine(10, 10, node_ids=(0, 64))
    by_code = {
        "state/native-node-ids": (_started(high, BEST_EFFORT), high, "there are [64]"),
        "state/native-many-nodes": (_started(machine(*[10] * 9), BEST_EFFORT), None, "9 NUMA"),
        "state/native-reserved-pages": (
            _started(machine(11, 10, hugepages={1 << 20: 4}), pages),
            None,
            "3221225472 bytes of hugepages-1Gi are reserved on NUMA node 1",
        ),
        "state/native-node-classes": (
            _started(_with_accelerators(), BEST_EFFORT),
            _with_accelerators(),
            "NUMA nodes [2, 3] are left out",
        ),
        "state/native-page-size": (
            _started(_pages_on_one_node(), BEST_EFFORT),
            _pages_on_one_node(),
            "NUMA node 0 does not list pages of hugepages-1Gi",
        ),
    }

    for code, (node, on, told) in by_code.items():
        found = _verified(node, on)
        assert [code] == list(found)
        assert told in found[code]


def test_an_ordinary_node_that_is_left_out_is_another_machine() -> None:
    text = _started(machine(11, 10), BEST_EFFORT).state_files()[memory_file.FILE_NAME]

    report = verify.verify_file(memory_file.FILE_NAME, text, machine(11, 10, 10))

    assert [each.code for each in report.findings] == ["state/other-nodes"]


@pytest.mark.parametrize(
    ("asked", "size"), [("1.5Gi", 3 * GI // 2), ("1073741824500m", GI + 1), ("900Ti", None)]
)
def test_sizes_are_bytes_however_they_are_written(asked: str, size: int | None) -> None:
    both = [_started(machine(4, 4), BEST_EFFORT, mode) for mode in (EXACT, NATIVE)]
    (exact, kubelets), (native, ours) = (each.admit(simple("p", asked)) for each in both)
    assert isinstance(kubelets.rejection, AllocationRefused)
    assert kubelets.rejection.cause.code == "memory/not-an-integer"
    assert exact.snapshot.memory.blocks_of("p", "c") is None
    if size is None:
        assert isinstance(ours.rejection, AllocationRefused)
        assert ours.rejection.cause.code != "memory/not-an-integer"
        return
    blocks = native.snapshot.memory.blocks_of("p", "c")
    assert blocks is not None
    assert [size] == [block.size_bytes for block in blocks]


def _two_of_32(mode: Behaviour) -> Node:
    """Two nodes with 32 CPUs and 128 GiB each, as ``numalet run`` has them."""
    on = MachineChoice(text="2n32c1t", memory_per_node="128Gi").open().info
    return _started(on, settings.fitted(on), mode)


def _sized(uid: str, cpus: int, memory: str) -> Pod:
    amounts = {"cpu": Quantity.parse(str(cpus)), "memory": Quantity.parse(memory)}
    one = Container("c", requests=amounts, limits=amounts)
    return pod(uid, one, qos=QosClass.GUARANTEED)


@pytest.mark.parametrize(
    ("cpus", "memory", "by_kubelet"), [(40, "1Gi", False), (8, "200Gi", False), (60, "240Gi", True)]
)
def test_what_one_node_can_not_hold_is_on_the_fewest_that_can(
    cpus: int, memory: str, by_kubelet: bool
) -> None:
    asked = _sized("a", cpus, memory)
    _, exact = _two_of_32(EXACT).admit(asked)
    after, native = _two_of_32(NATIVE).admit(asked)
    assert by_kubelet == exact.admitted
    assert native.admitted, native.rejection
    blocks = after.snapshot.memory.blocks_of("a", "c")
    assert blocks is not None
    assert {(0, 1)} == {block.nodes for block in blocks}
    assert invariants.violations(after.snapshot) == ()


def test_a_resource_that_has_no_node_left_says_how_few_it_would_need_all_the_same() -> None:
    on = MachineChoice(text="2n32c1t", memory_per_node="128Gi").open().info
    config = replace(settings.fitted(on), memory_manager_policy="None", reserved_memory=())
    gpus = {GPU: devices("a@0 b@0 c@1 d@1")}
    node = nodes.start(config, on, devices=gpus, behaviour=NATIVE)
    assert isinstance(node, Node)
    node = _admitted(node, _sized("a", 28, "1Gi"), _sized("b", 28, "1Gi"))
    amounts = {name: Quantity.parse(text) for name, text in (("cpu", "5"), (GPU, "3"))}
    amounts |= ONE_GIB

    # One node could have the CPUs if nothing ran, but three devices take both.
    one = Container("c", requests=amounts, limits=amounts)
    _, decision = node.admit(pod("c", one, qos=QosClass.GUARANTEED))

    assert decision.admitted, decision.rejection
    assert decision.affinities["c"] == Hint(0b11, True)


def test_what_one_node_could_hold_is_not_scattered_all_the_same() -> None:
    node = _admitted(_two_of_32(NATIVE), _sized("a", 20, "1Gi"), _sized("b", 20, "1Gi"))
    _, decision = node.admit(_sized("c", 16, "1Gi"))
    assert isinstance(decision.rejection, NotAligned)
