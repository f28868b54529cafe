"""A drafted class file: groups of nodes, their machines with the reasons, and what stays blank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from numalet.core.cluster.building import POOL_LABEL
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.objects import ClusterObjects, ListedNode, ListedState, TopologyFacts
from numalet.core.model.pod import Resources
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import replace
from numalet.insight.fleet import class_draft
from numalet.insight.fleet.class_draft import ClassDraft, DraftPool, KubeletSettings
from numalet.insight.fleet.class_evidence import KnownMachine
from values.builders import simple

if TYPE_CHECKING:
    from numalet.core.cluster.classes import ClassSpec
    from numalet.core.cluster.published_state import PublishedState

GIB = 1 << 30
GPU = "nvidia.com/gpu"
BOX = KnownMachine(
    name="box",
    cpus=64,
    memory_bytes=512 * GIB,
    cpu_nodes=2,
    devices={GPU: ("gpu0@0", "gpu1@0", "gpu2@1", "gpu3@1")},
    instance_types=("box-*",),
    machines=("BOX*",),
    gpus=("NVIDIA-X*",),
)
UNKNOWN = KubeletSettings()
NPS4 = KnownMachine(name="nps4", cpus=64, memory_bytes=512 * GIB, cpu_nodes=4)


def amounts(texts: Mapping[str, str]) -> Resources:
    return {name: Quantity.parse(text) for name, text in sorted(texts.items())}


def node(
    name: str, *, labels: Mapping[str, str] = {}, less: str = "8Gi", **more: str
) -> ListedNode:
    """A node of 64 CPUs and 512Gi with four GPUs, of which 4 CPUs and ``less`` are kept back."""
    extra = {key.replace("gpu", GPU).replace("huge", "hugepages-1Gi"): v for key, v in more.items()}
    capacity = amounts(
        {"cpu": "64", "memory": "512Gi", GPU: "4", "ephemeral-storage": "1", **extra}
    )
    kept = {"cpu": Quantity.parse("4"), "memory": Quantity.parse(less)}
    left = {key: value - kept.get(key, Quantity()) for key, value in capacity.items()}
    return ListedNode(
        name=name,
        labels=labels,
        kubelet_version="v1.34.2",
        capacity=capacity,
        allocatable=left,
    )


def typed(name: str, instance_type: str = "box-1", **more: Any) -> ListedNode:
    return node(name, labels={POOL_LABEL: instance_type}, **more)


def drafted(*nodes: ListedNode, settings: KubeletSettings = UNKNOWN, **more: Any) -> ClassDraft:
    given = ClusterObjects(nodes={each.name: each for each in nodes}, **more)
    return class_draft.draft(given, [BOX, NPS4], POOL_LABEL, settings)


def only(*nodes: ListedNode, **more: Any) -> DraftPool:
    (pool,) = drafted(*nodes, **more).pools
    return pool


def said(pool: DraftPool, field: str) -> str:
    return "; ".join(each.text for each in pool.notes if each.field == field)


def zones(*held: Mapping[str, str], **attributes: str) -> TopologyFacts:
    capacity = {number: amounts(each) for number, each in enumerate(held)}
    return TopologyFacts(node_name="n", zones=len(held), capacity=capacity, attributes=attributes)


def test_nodes_that_look_alike_are_a_pool_that_their_label_matches() -> None:
    pool = only(typed("a"), typed("b"))
    assert (pool.name, pool.nodes) == ("box-1", ("a", "b"))
    assert (pool.match.names, pool.match.labels) == ((), {POOL_LABEL: "box-1"})
    assert pool.machine == "profile:box"
    assert said(pool, "machine") == "the instance type box-1 names it; 64 CPUs and 512Gi agree"
    assert said(pool, "name").startswith(
        "2 nodes, such as a: 64 cpu, 512Gi memory, 4 nvidia.com/gpu"
    )
    # The devices are those of the profile; nothing shows the configuration.
    assert (pool.devices, pool.blank) == (None, ("configuration",))
    assert "get --raw /api/v1/nodes/a/proxy/configz" in said(pool, "configuration")
    assert 'allocatable: {"kubeReserved": {"cpu": "4", "memory": "8092Mi"}}' in said(
        pool, "configuration"
    )


def test_smaller_groups_of_an_instance_type_come_first_and_by_name() -> None:
    old = replace(typed("old"), kubelet_version="v1.30.1")
    draft = drafted(typed("a"), typed("b"), old, typed("kept", less="16Gi"), typed("more", gpu="8"))
    assert [each.nodes for each in draft.pools] == [("more",), ("old",), ("a", "b", "kept")]
    assert [each.name for each in draft.pools] == ["box-1-3", "box-1-2", "box-1"]
    assert [each.match.names for each in draft.pools] == [("more",), ("old",), ()]
    assert "does not know this release" in said(draft.pools[1], "name")
    assert '"1.32" decides' in said(draft.pools[1], "name")


def test_nodes_of_another_memory_are_a_group_of_their_own() -> None:
    draft = drafted(typed("a"), typed("b", memory="511Gi"), typed("c", memory="256Gi"))
    assert [each.nodes for each in draft.pools] == [("c",), ("a", "b")]
    small = draft.pools[0]
    assert small.machine is None
    assert "names profile:box, but that machine has 512Gi, the node 256Gi" in said(small, "machine")


def test_a_machine_that_no_label_names_is_left_blank_and_similar_ones_are_mentioned() -> None:
    pool = only(node("x", labels={"nvidia.com/gpu.product": "NVIDIA-X100"}))
    assert (pool.name, pool.match.names) == ("NVIDIA-X100", ("x",))
    assert pool.machine is None
    assert pool.blank == ("machine", "devices", "configuration")
    reasons = said(pool, "machine")
    assert "no label names a machine that numalet knows (instance type: none)" in reasons
    assert "of its size are profile:box, profile:nps4; no label says" in reasons
    assert "numalet machine --capture x.tar.gz" in reasons
    assert "1n32c2t, 2n16c2t, 4n8c2t" in reasons
    # A profile with other GPUs is none of its size.
    other = only(node("x", cpu="63", labels={"nvidia.com/gpu.product": "NVIDIA-Y"}))
    assert "of its size" not in said(other, "machine")
    assert "shapes" not in said(other, "machine")
    assert only(node("x")).name == "nodes"


def test_the_machine_label_of_the_gpu_operator_names_a_machine() -> None:
    pool = only(node("x", labels={"nvidia.com/gpu.machine": "Box-920"}))
    assert pool.machine == "profile:box"
    assert "the label nvidia.com/gpu.machine=Box-920 names it" in said(pool, "machine")
    fewer = only(node("x", cpu="62", labels={"nvidia.com/gpu.machine": "Box-920"}))
    assert fewer.machine is None
    assert "but that machine has 64 CPUs, the node 62" in said(fewer, "machine")


def test_zones_make_a_shape_and_place_the_devices() -> None:
    facts = zones(
        {"cpu": "32", "memory": "256Gi", GPU: "1"},
        {"cpu": "32", GPU: "3"},
        topologyManagerPolicy="restricted",
    )
    pool = only(node("n"), topologies={"n": facts})
    assert (pool.machine, pool.memory_per_node) == ("2n16c2t", f"{256 << 20}Ki")
    assert pool.devices == (f"{GPU}=gpu0@0,gpu1@1,gpu2@1,gpu3@1",)
    assert pool.blank == ("configuration",)
    assert "2 zones of 32 CPUs; 2 threads of a core (assumed)" in said(pool, "machine")
    assert "topology policy restricted, scope None" in said(pool, "configuration")
    assert '"topologyManagerPolicy": "restricted"' in said(pool, "configuration")


def test_zones_that_contradict_a_profile_win() -> None:
    facts = zones(*[{"cpu": "16", GPU: "1"}] * 4)
    pool = only(typed("n"), topologies={"n": facts})
    assert pool.machine == "4n8c2t"
    assert "has 4 zones with CPUs, that machine 2 (another BIOS setting?)" in said(pool, "machine")


def test_zones_that_are_no_shape_leave_the_machine_blank() -> None:
    for held in (
        [{"cpu": "40"}, {"cpu": "24"}],
        [{"cpu": "16"}, {"cpu": "16"}],
        [{"memory": "1Gi"}],
    ):
        assert only(node("n"), topologies={"n": zones(*held)}).machine is None
    gap = TopologyFacts(node_name="n", zones=1, capacity={3: amounts({"cpu": "64"})})
    assert only(node("n"), topologies={"n": gap}).machine is None


def test_a_node_that_nfd_does_not_label_as_numa_has_one_numa_node() -> None:
    threads = "feature.node.kubernetes.io/cpu-hardware_multithreading"
    pool = only(node("n", gpu="0", labels={threads: "false"}))
    assert (pool.machine, pool.memory_per_node) == ("1n64c1t", f"{512 << 20}Ki")
    assert f"({threads}=false)" in said(pool, "machine")
    assert (pool.devices, pool.blank) == (None, ("configuration",))
    several = {threads: "true", "feature.node.kubernetes.io/memory-numa": "true"}
    assert only(node("n", labels=several)).machine is None


def test_devices_that_no_one_places_are_blank() -> None:
    pool = only(typed("n", **{"x.io/nic": "2"}))
    assert (pool.machine, pool.devices) == ("profile:box", None)
    assert pool.blank == ("devices", "configuration")
    assert f"profile:box has {GPU}=gpu0@0,gpu1@0,gpu2@1,gpu3@1" in said(pool, "devices")
    assert "not known: the NUMA nodes of 2 x.io/nic" in said(pool, "devices")
    fewer = only(typed("n", gpu="3"))
    assert "the NUMA nodes of 3 nvidia.com/gpu" in said(fewer, "devices")
    assert "profile:box has" not in said(fewer, "devices")
    none = only(typed("n", gpu="0"))
    assert (none.devices, none.blank) == ((), ("configuration",))


def test_huge_pages_are_spread_evenly_or_not_known() -> None:
    pool = only(typed("n", huge="8Gi", less="16Gi"))
    assert pool.hugepages_per_node == {"1Gi": 4}
    assert "spread evenly" in said(pool, "hugepages_per_node")
    # The kubelet also takes huge pages from the allocatable memory.
    assert '"memory": "8092Mi"' in said(pool, "configuration")
    odd = only(typed("n", huge="3Gi"))
    assert odd.hugepages_per_node == {}
    assert "is not known" in said(odd, "hugepages_per_node")


def test_a_policy_that_the_user_gives_makes_a_configuration() -> None:
    settings = KubeletSettings(policy="single-numa-node", scope="pod", memory_policy="Static")
    pool = only(typed("n"), settings=settings)
    assert pool.blank == ()
    assert pool.configuration == {
        "topologyManagerPolicy": "single-numa-node",
        "topologyManagerScope": "pod",
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "Static",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "8Gi"}}],
        "kubeReserved": {"cpu": "4", "memory": "8092Mi"},
    }
    none = KubeletSettings(policy="restricted", memory_policy="None")
    assert only(typed("n"), settings=none).configuration == {
        "topologyManagerPolicy": "restricted",
        "topologyManagerScope": "container",
        "cpuManagerPolicy": "static",
        "memoryManagerPolicy": "None",
        "kubeReserved": {"cpu": "4", "memory": "8092Mi"},
    }


def test_without_a_reserved_cpu_the_configuration_stays_blank() -> None:
    whole = typed("n", less="0")
    pool = only(
        replace(whole, allocatable=whole.capacity), settings=KubeletSettings(policy="restricted")
    )
    assert pool.configuration is None
    assert '"kubeReserved"' not in said(pool, "configuration")


def test_a_file_that_the_user_gives_is_the_configuration() -> None:
    pool = only(typed("n"), settings=KubeletSettings(file="kubelet.yaml"))
    assert (pool.configuration, pool.blank) == ("kubelet.yaml", ())


def test_rejections_say_what_the_policy_can_be() -> None:
    pod = replace(simple("p", "1Gi"), node_name="n", phase="Failed")
    rejected = ClusterPod(pod=pod, reason="TopologyAffinityError")
    pool = only(typed("n"), pods={"p": rejected})
    assert "rejected with TopologyAffinityError: 1 pod; so" in said(pool, "configuration")


def test_the_node_that_stands_for_a_group_is_ready() -> None:
    pool = only(replace(typed("a"), is_ready=False), typed("b"))
    assert pool.nodes == ("a", "b")
    assert "/nodes/b/proxy" in said(pool, "configuration")


def test_names_of_pools_do_not_collide() -> None:
    draft = drafted(typed("a", "t"), typed("b", "t", gpu="8"), typed("c", "t-2"))
    assert sorted(each.name for each in draft.pools) == ["t", "t-2", "t-3"]


def test_nodes_that_publish_their_class_need_no_pool() -> None:
    state = ListedState("known", cast("PublishedState", None))
    spec = cast("ClassSpec", None)
    draft = drafted(typed("a"), typed("b"), states={"b": state}, classes={"known": spec})
    assert [each.nodes for each in draft.pools] == [("a",)]
    assert draft.published == ("b",)
    # A class that is missing is none.
    assert drafted(typed("b"), states={"b": state}).published == ()


def test_an_unreadable_version_is_said() -> None:
    pool = only(replace(typed("n"), kubelet_version=""))
    assert "kubelet of unknown release" in said(pool, "name")


def test_nodes_whose_kubelets_report_the_same_are_a_pool() -> None:
    restricted = {"topologyManagerPolicy": "restricted"}
    none = {"topologyManagerPolicy": "none"}
    settings = KubeletSettings(
        reported={"a": restricted, "b": none, "c": dict(restricted)},
        unread={"d": "403 Forbidden"},
    )
    draft = drafted(*map(typed, "abcd"), settings=settings)
    assert [each.nodes for each in draft.pools] == [("b",), ("d",), ("a", "c")]
    other, unread, most = draft.pools
    assert (other.configuration, most.configuration) == (none, restricted)
    assert (most.blank, said(most, "configuration")) == (
        (),
        "as reported by 2 kubelets (/configz)",
    )
    # Nothing is concluded from a neighbour.
    assert (unread.configuration, unread.blank) == (None, ("configuration",))
    assert said(unread, "configuration").startswith("not read: 403 Forbidden; not known: kubectl")
