"""Memory of init containers that later containers of the pod reuse, *on exactly the same nodes*.

``ReusableMemory`` has the reusable sizes. In addition the blocks of init containers shrink by the
sizes that later containers take over, so that the sizes of all blocks add up to the reserved
memory; a block may shrink to 0 and stays. Kubelet: ``updateInitContainersMemoryBlocks``,
``updatePodReusableMemory``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping

from numalet.core.managers.memory.ledger import Blocks, MemoryBlock, ReusableMemory
from numalet.core.model import numa_mask
from numalet.core.model.pod import Container, ContainerKind, Pod


def after(
    reusable: ReusableMemory, pod: Pod, container: Container, blocks: Blocks
) -> ReusableMemory:
    """Return the reusable memory after this container got its blocks; forget other pods."""
    is_init = container.kind is ContainerKind.INIT
    before = reusable.of_pod(pod.uid)
    if not before and not is_init:
        return ReusableMemory(pod.uid, before)
    sizes = dict(before)
    for block in blocks:
        place = (numa_mask.of(block.nodes), block.resource)
        # Several init containers contribute their largest size, not their sum; sidecars and app
        # containers use it up.
        if is_init:
            sizes[place] = max(sizes.get(place, 0), block.size_bytes)
        else:
            sizes[place] = max(0, sizes.get(place, 0) - block.size_bytes)
    return ReusableMemory(pod.uid, sizes)


def shrunk(
    records: Mapping[str, Blocks], pod: Pod, container: Container, blocks: Blocks
) -> dict[str, Blocks]:
    """Shrink the blocks of earlier init containers by the sizes that ``blocks`` take over."""
    result = dict(records)
    for new in blocks:
        left = new.size_bytes
        for earlier in pod.init_containers:
            # Init containers run in order, so those after this container have not got blocks to
            # take over.
            if earlier.name == container.name or not left:
                break
            if earlier.kind is ContainerKind.SIDECAR or earlier.name not in result:
                continue
            result[earlier.name], left = _shrink(result[earlier.name], new, left)
    return result


def _shrink(blocks: Blocks, new: MemoryBlock, left: int) -> tuple[Blocks, int]:
    """Return the shrunk blocks, and the size still to take over."""
    mask = numa_mask.of(new.nodes)
    shrunk_blocks = []
    for block in blocks:
        removed = 0
        if block.resource == new.resource and numa_mask.of(block.nodes) == mask:
            removed = min(block.size_bytes, left)
        left -= removed
        shrunk_blocks.append(MemoryBlock(block.nodes, block.resource, block.size_bytes - removed))
    return tuple(shrunk_blocks), left
