"""Memory of init containers that later containers of the pod use again.

An init container has ended when the next container runs, so its memory may be counted again
for a later container *on exactly the same nodes*. Several init containers contribute their
largest size, not their sum; sidecars and app containers use it up one after the other.

It is recorded twice. ``ReusableMemory`` is what may be used again. And the blocks of init
containers shrink by what later containers took over, so that the sizes of all blocks add up to
what is reserved; a block may shrink to 0 and stays.
Kubelet: ``updateInitContainersMemoryBlocks``, ``updatePodReusableMemory``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.managers.memory.ledger import Blocks, MemoryBlock, ReusableMemory
from numalet.core.model import numa_mask
from numalet.core.model.pod import Container, ContainerKind, Pod


def after(
    reusable: ReusableMemory, pod: Pod, container: Container, blocks: Blocks
) -> ReusableMemory:
    """What may be used again once this container has its blocks. Other pods are forgotten."""
    is_init = container.kind is ContainerKind.INIT
    before = reusable.of_pod(pod.uid)
    if not before and not is_init:
        return ReusableMemory(pod.uid, before)
    sizes = dict(before)
    for block in blocks:
        place = (numa_mask.of(block.nodes), block.resource)
        if is_init:
            sizes[place] = max(sizes.get(place, 0), block.size_bytes)
        else:
            sizes[place] = max(0, sizes.get(place, 0) - block.size_bytes)
    return ReusableMemory(pod.uid, sizes)


def shrunk(
    records: Mapping[str, Blocks], pod: Pod, container: Container, blocks: Blocks
) -> dict[str, Blocks]:
    """The pod's records with earlier init containers' blocks smaller by what is taken over."""
    result = dict(records)
    for new in blocks:
        left = new.size_bytes
        for earlier in pod.init_containers:
            if earlier.name == container.name or not left:
                break
            if earlier.kind is ContainerKind.SIDECAR or earlier.name not in result:
                continue
            result[earlier.name], left = _shrink(result[earlier.name], new, left)
    return result


def _shrink(blocks: Blocks, new: MemoryBlock, left: int) -> tuple[Blocks, int]:
    """The blocks less what the new block takes over; what is left to take over."""
    mask = numa_mask.of(new.nodes)
    shrunk_blocks = []
    for block in blocks:
        removed = 0
        if block.resource == new.resource and numa_mask.of(block.nodes) == mask:
            removed = min(block.size_bytes, left)
        left -= removed
        shrunk_blocks.append(MemoryBlock(block.nodes, block.resource, block.size_bytes - removed))
    return tuple(shrunk_blocks), left
