"""The largest pod on one NUMA node, by trying every number of CPUs with every size of memory."""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.model import numa_mask, resources
from numalet.core.node.node import Node
from numalet.insight.explain import measures
from numalet.insight.maps import node_map, room
from values.shown_nodes import guaranteed


def largest_pods(node: Node) -> set[tuple[int, int]]:
    """CPUs and bytes of the largest pod; empty if none fits."""
    fitting = set(_fitting(node))
    return {max(fitting)} if fitting else set()


def _fitting(node: Node) -> Iterator[tuple[int, int]]:
    left = next(each.left for each in room.request_sums(node) if each.resource == resources.MEMORY)
    for row in room.rooms(node_map.of_node(node.release_stale(), "")):
        size_bytes = left if row.free_bytes is None else min(row.free_bytes, left)
        for cpus in range(1, (row.free_cpus or 0) + 1) if size_bytes else ():
            pod = guaranteed("probe", cpus, size_bytes)
            decision = node.admit(pod)[1]
            if not decision.admitted:
                continue
            span = measures.span_of(node.roster, decision.after, pod)
            if len(numa_mask.ids(span)) == 1:
                yield cpus, size_bytes
