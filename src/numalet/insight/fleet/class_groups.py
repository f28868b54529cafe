"""Nodes that are alike in the API server: the groups from which class files are drafted.

Nodes of a group have the same labels that name machines, the same capacity and kubelet release, the
same difference of capacity and allocatable, the same zones in their NodeResourceTopology, and the
same configuration, if kubelets report theirs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.cluster.objects import ClusterObjects, ListedNode, TopologyFacts
from numalet.core.config.releases import versions
from numalet.core.model import resources
from numalet.core.model.quantity import ZERO
from numalet.core.model.value import Value

GPU_MACHINE: Final = "nvidia.com/gpu.machine"
GPU_PRODUCTS: Final = ("nvidia.com/gpu.product", "amd.com/gpu.product-name")
_NAMING: Final = (GPU_MACHINE, *GPU_PRODUCTS, "nvidia.com/mig.config")
"""Labels of GPU operators by which machines, or their settings, differ."""
POLICY_ATTRIBUTE: Final = "topologyManagerPolicy"
SCOPE_ATTRIBUTE: Final = "topologyManagerScope"
"""Attributes of a NodeResourceTopology with settings of the kubelet."""
_ALIKE: Final = 100
"""Memory of machines of one model differs by less than 1 part in this number."""


class NodeGroup(Value, kw_only=True):
    """Nodes that are alike; the first of them, which is ready if any is, stands for all.

    ``instance_type`` is the value of the label that names the pool. ``rejections`` counts its pods
    by the reason with which a kubelet rejected them.
    """

    nodes: tuple[ListedNode, ...]
    instance_type: str = ""
    topology: TopologyFacts | None = None
    rejections: Mapping[str, int] = MappingProxyType({})

    @property
    def first(self) -> ListedNode:
        return self.nodes[0]

    @property
    def cpus(self) -> int:
        return self.first.capacity.get(resources.CPU, ZERO).value

    @property
    def memory_bytes(self) -> int:
        return self.first.capacity.get(resources.MEMORY, ZERO).value

    @property
    def gpu(self) -> str:
        """The product of its GPUs, as the GPU operator names it."""
        return next(
            (self.first.labels[key] for key in GPU_PRODUCTS if key in self.first.labels), ""
        )

    @property
    def devices(self) -> dict[str, int]:
        """The counts of the resources of device plugins."""
        return {
            name: amount.value
            for name, amount in self.first.capacity.items()
            if resources.is_device(name) and not amount.is_zero
        }

    @property
    def hugepages(self) -> dict[str, int]:
        """Bytes by resource, such as ``hugepages-1Gi``, without sizes that have no pages."""
        return {
            name: amount.value
            for name, amount in self.first.capacity.items()
            if resources.is_hugepages(name) and not amount.is_zero
        }

    @property
    def release(self) -> str:
        version = versions.minor_version(self.first.kubelet_version)
        return self.first.kubelet_version if version is None else version.name


def groups_of(
    given: ClusterObjects, pool_label: str, reported: Mapping[str, object] = MappingProxyType({})
) -> list[NodeGroup]:
    """Return the groups of nodes that do not publish their class, by instance type.

    Of one instance type, the largest group is last.
    """
    rejected = _rejections(given)
    alike: dict[object, list[ListedNode]] = {}
    for name, node in sorted(given.nodes.items()):
        if not is_published(name, given):
            key = _key(node, given.topologies.get(name), pool_label), repr(reported.get(name))
            alike.setdefault(key, []).append(node)
    groups = [
        NodeGroup(
            nodes=tuple(nodes),
            instance_type=nodes[0].labels.get(pool_label, ""),
            topology=given.topologies.get(nodes[0].name),
            rejections=sum((rejected.get(each.name, Counter()) for each in nodes), Counter()),
        )
        for similar in alike.values()
        for nodes in _of_one_memory(similar)
    ]
    return sorted(groups, key=lambda each: (each.instance_type, len(each.nodes), each.first.name))


def is_published(name: str, given: ClusterObjects) -> bool:
    """Whether the node's own objects have its machine and configuration."""
    state = given.states.get(name)
    return state is not None and state.class_name in given.classes


def _rejections(given: ClusterObjects) -> dict[str, Counter[str]]:
    rejected: dict[str, Counter[str]] = {}
    for each in given.pods.values():
        if each.was_rejected and each.pod.node_name:
            rejected.setdefault(each.pod.node_name, Counter())[each.reason] += 1
    return rejected


def _key(node: ListedNode, topology: TopologyFacts | None, pool_label: str) -> object:
    capacity = {
        name: amount.value
        for name, amount in node.capacity.items()
        # Memory is compared with a tolerance, later; disks do not matter.
        if name == resources.CPU or resources.is_device(name) or resources.is_hugepages(name)
    }
    version = versions.minor_version(node.kubelet_version)
    zones = None
    if topology is not None:
        counts = {
            zone: sorted((k, v.value) for k, v in held.items() if k != resources.MEMORY)
            for zone, held in topology.capacity.items()
        }
        settings = [topology.attributes.get(key) for key in (POLICY_ATTRIBUTE, SCOPE_ATTRIBUTE)]
        zones = repr((topology.zones, sorted(counts.items()), settings))
    return (
        tuple(node.labels.get(key) for key in (pool_label, *_NAMING)),
        tuple(sorted(capacity.items())),
        node.kubelet_version if version is None else version.name,
        reserved_of(node)[0],
        zones,
    )


def reserved_of(node: ListedNode) -> tuple[int, int]:
    """Return what the kubelet keeps back: thousandths of a CPU, and bytes of memory.

    The memory includes the threshold of hard eviction. Kubelet v1.32 also takes huge pages from the
    allocatable memory (``nodestatus.MachineInfo``).
    """
    cpu = node.capacity.get(resources.CPU, ZERO) - node.allocatable.get(resources.CPU, ZERO)
    memory = node.capacity.get(resources.MEMORY, ZERO)
    less = memory.value - node.allocatable.get(resources.MEMORY, ZERO).value
    pages = sum(each.value for name, each in node.capacity.items() if resources.is_hugepages(name))
    return max(cpu.milli_value, 0), less - pages if less >= pages else max(less, 0)


def _of_one_memory(nodes: Iterable[ListedNode]) -> list[list[ListedNode]]:
    """Split nodes where the memory differs by more than machines of one model do."""
    parts: list[list[ListedNode]] = []
    smallest = 0
    for node in sorted(nodes, key=lambda each: (_memory(each), each.name)):
        if not parts or (_memory(node) - smallest) * _ALIKE > smallest:
            parts.append([])
            smallest = _memory(node)
        parts[-1].append(node)
    return [sorted(each, key=lambda node: (not node.is_ready, node.name)) for each in parts]


def _memory(node: ListedNode) -> int:
    return node.capacity.get(resources.MEMORY, ZERO).value
