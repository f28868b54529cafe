"""The Memory Manager's ledger: the node map, the containers' blocks, reusable memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cached_property

from numalet.core.hints import few_nodes
from numalet.core.model import numa_mask
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.pod import ContainerKey, container_keys
from numalet.core.model.value import Value, field, replace

UINT64 = (1 << 64) - 1
"""Sizes are modulo 2^64: in the kubelet a reservation larger than the node wraps around."""


class MemoryTable(Value, dict=True):
    """One memory type on one NUMA node, in bytes. ``free + reserved == allocatable``."""

    total: int
    system_reserved: int
    allocatable: int
    reserved: int
    free: int


class NodeMemory(Value, dict=True):
    """One NUMA node: its assignments, a table per memory type, and its group.

    Every block counts once on each of its nodes. The group of a single node is the node itself.
    """

    assignments: int
    tables: Mapping[str, MemoryTable]
    group: NumaMask


class MemoryBlock(Value, dict=True):
    """A container's allocation of one memory type: node ids, type, bytes."""

    nodes: tuple[int, ...]
    resource: str
    size_bytes: int


Blocks = tuple[MemoryBlock, ...]


class ReusableMemory(Value):
    """Memory of one pod's ended init containers, by node set and type, in bytes."""

    pod_uid: str
    sizes: Mapping[tuple[NumaMask, str], int]

    def size_bytes(self, pod_uid: str, mask: NumaMask, resource: str) -> int:
        return self.sizes.get((mask, resource), 0) if pod_uid == self.pod_uid else 0

    def of_pod(self, pod_uid: str) -> Mapping[tuple[NumaMask, str], int]:
        """Return the memory that this pod may reuse, by node set and type."""
        return self.sizes if pod_uid == self.pod_uid else {}


NOTHING_REUSABLE = ReusableMemory("", {})


class MemoryCapacity(Value):
    """Values that do not depend on allocations: equal in every ledger of one machine.

    ``types`` are the memory types with a table on every node. ``of_sets``, filled on few nodes
    only, has the allocatable bytes of each set of nodes, by type.
    """

    nodes: NumaMask
    types: frozenset[str]
    of_sets: Mapping[str, Mapping[NumaMask, int]]


class MemoryLedger(Value, dict=True):
    """The Memory Manager's state.

    ``pods`` has, by uid, the blocks of pods that were placed as a whole. The node map counts these
    blocks; their containers' blocks only divide them.
    """

    nodes: Mapping[int, NodeMemory]
    blocks: Mapping[str, Mapping[str, Blocks]]
    reusable: ReusableMemory = NOTHING_REUSABLE
    pods: Mapping[str, Blocks] = field(default_factory=dict)

    def blocks_of(self, pod_uid: str, container: str) -> Blocks | None:
        """Return a container's blocks, if it has a record; a record may be empty."""
        return self.blocks.get(pod_uid, {}).get(container)

    def holders(self, pod_uid: str | None = None) -> list[ContainerKey]:
        """Return every container with a record, of one pod or of all."""
        return container_keys(self.blocks, pod_uid)

    def stale(self, active: Set[ContainerKey]) -> list[ContainerKey]:
        """Return the inactive containers with a record, sorted."""
        return sorted({*self.holders()} - active)

    @cached_property
    def capacity(self) -> MemoryCapacity:
        all_nodes = numa_mask.of(self.nodes)
        tables = [self.nodes[node_id].tables for node_id in numa_mask.ids(all_nodes)]
        types = frozenset(tables[0]).intersection(*tables[1:]) if tables else frozenset()
        summed = types if few_nodes.are_few(all_nodes) else frozenset()
        of_sets = {
            name: few_nodes.sums(all_nodes, [each[name].allocatable for each in tables])
            for name in summed
        }
        return MemoryCapacity(all_nodes, types, of_sets)

    def knowing_capacity(self) -> MemoryLedger:
        """Compute the capacity at the start of a node, so that no decision has to."""
        return self.following(self)

    def following(self, before: MemoryLedger) -> MemoryLedger:
        self.__dict__["capacity"] = before.capacity
        return self

    def with_reusable(self, reusable: ReusableMemory) -> MemoryLedger:
        return replace(self, reusable=reusable).following(self)

    def counted_blocks(self) -> Iterator[tuple[ContainerKey, MemoryBlock]]:
        """Yield the blocks that the node map counts, with their containers.

        Blocks of a pod that was placed as a whole have an empty container name.
        """
        for uid, containers in self.blocks.items():
            if self.pods.get(uid):
                yield from ((ContainerKey(uid, ""), block) for block in self.pods[uid])
                continue
            for name, blocks in containers.items():
                yield from ((ContainerKey(uid, name), block) for block in blocks)


EMPTY_LEDGER = MemoryLedger({}, {})


def with_blocks(
    all_blocks: Mapping[str, Mapping[str, Blocks]], pod_uid: str, container: str, blocks: Blocks
) -> dict[str, Mapping[str, Blocks]]:
    return {**all_blocks, pod_uid: {**all_blocks.get(pod_uid, {}), container: blocks}}
