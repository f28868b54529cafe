"""The largest pod of one container that would get all it asks for on one NUMA node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from numalet.core.model import numa_mask, resources
from numalet.core.model.pod import Container, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.core.node import largest_request
from numalet.core.node.node import Node
from numalet.insight.explain import measures
from numalet.insight.maps import node_map, room
from numalet.insight.maps.room import RoomRow

_PROBE: Final = "numalet-largest-pod"


class LargestPod(Value):
    """Most CPUs first, then most memory; ``node_id`` is the NUMA node that it would be on.

    Without the Memory Manager's policy Static, the memory is all that the node has left.
    """

    node_id: int
    cpus: int
    memory_bytes: int


def largest_pod(node: Node) -> LargestPod | None:
    """Return the largest Guaranteed pod of one container, if one fits on one NUMA node.

    It asks for the free memory of a NUMA node, and for as many of its free CPUs as the node admits.
    None without the CPU Manager's policy static.
    """
    # A plugin may act on a device when it is called, so a search must not call it.
    # The next admission first releases what inactive pods have.
    node = node.without_plugins().release_stale()
    unit = largest_request.unit_of(node.rules, resources.CPU)
    rows = room.rooms(node_map.of_node(node, ""))
    left = {each.resource: each.left for each in room.request_sums(node)}
    sizes = {most for row in rows for most in _most(left, row)}
    best: LargestPod | None = None
    # A smaller pod may go to another NUMA node, or nowhere, while a larger one fits: bisection
    # would miss it. The loop tries every number from the largest down; usually the first one fits.
    for most_cpus, size_bytes in sorted(sizes, reverse=True):
        # With more memory, as many CPUs are better.
        is_more = best is not None and size_bytes > best.memory_bytes
        least = 0 if best is None else best.cpus - unit * is_more
        for cpus in range(most_cpus // unit * unit, least, -unit):
            node_id = _place(node, cpus, size_bytes)
            if node_id is not None:
                best = LargestPod(node_id, cpus, size_bytes)
                break
    return best


def _most(left: Mapping[str, int], row: RoomRow) -> Iterator[tuple[int, int]]:
    """Yield the CPUs and the memory that a pod on this NUMA node cannot exceed, if it has CPUs.

    ``left`` is what the requests of all pods leave of the whole node.
    """
    cpus = min(row.free_cpus or 0, left.get(resources.CPU, 0) // 1000)
    of_node = left.get(resources.MEMORY, 0)
    size_bytes = of_node if row.free_bytes is None else min(row.free_bytes, of_node)
    if cpus and size_bytes:
        yield cpus, size_bytes


def _place(node: Node, cpus: int, size_bytes: int) -> int | None:
    wanted = {
        resources.CPU: Quantity.from_int(cpus),
        resources.MEMORY: Quantity.from_bytes(size_bytes),
    }
    pod = Pod(
        uid=_PROBE,
        name=_PROBE,
        app_containers=(Container(name="app", requests=wanted, limits=wanted),),
        qos_class=QosClass.GUARANTEED,
    )
    _, decision = node.admit(pod)
    if not decision.admitted:
        return None
    # Admission is not enough: the pod must use one NUMA node and no other one.
    span = numa_mask.ids(measures.span_of(node.roster, decision.after, pod))
    return span[0] if len(span) == 1 else None
