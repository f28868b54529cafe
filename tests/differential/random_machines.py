"""Random machines and devices, as documents of the scenario format.

Half of them are regular. The others have what breaks assumptions: NUMA node ids with gaps, nodes
without CPUs or memory, sockets of several nodes and nodes of several sockets, uneven caches, and
missing distances.
"""

from __future__ import annotations

import random
from typing import Any, Final

GIB: Final = 1 << 30
DEVICE_NAMES: Final = ("nvidia.com/gpu", "example.com/nic")
_NODE_COUNTS: Final = (1, 2, 2, 2, 3, 4, 4, 5, 6, 8)
_PAGE_KIB: Final = {"2Mi": 2048, "1Gi": 1 << 20}


def machine(rng: random.Random) -> dict[str, Any]:
    """Return a machine of 1 to 8 NUMA nodes."""
    count = rng.choice(_NODE_COUNTS)
    is_odd = rng.random() < 0.5
    ids = _node_ids(rng, count, sparse=is_odd and rng.random() < 0.5)
    nodes = [
        {
            "id": number,
            "memory_bytes": rng.choice([4, 8, 8, 16]) * GIB,
            "hugepages": _huge_pages(rng) if rng.random() < 0.3 else [],
            "distances": [10 if to == at else 20 + 2 * abs(to - at) for to in range(count)],
            "cores": [],
        }
        for at, number in enumerate(ids)
    ]
    _add_cores(rng, nodes, is_odd)
    if is_odd:
        _make_odd(rng, nodes)
    return {"numa_nodes": nodes}


def _node_ids(rng: random.Random, count: int, *, sparse: bool) -> list[int]:
    if not sparse:
        return list(range(count))
    return sorted(rng.sample(range(2 * count + 2), count))


def _huge_pages(rng: random.Random) -> list[dict[str, int]]:
    sizes = rng.choice([["2Mi"], ["1Gi"], ["2Mi", "1Gi"]])
    counts = {"2Mi": rng.choice([256, 512]), "1Gi": rng.choice([1, 2])}
    return [{"page_size_kib": _PAGE_KIB[size], "count": counts[size]} for size in sizes]


def _add_cores(rng: random.Random, nodes: list[dict[str, Any]], is_odd: bool) -> None:
    """Number the CPUs one way or another: siblings far apart, or side by side."""
    per_node, threads = rng.choice([2, 3, 4, 4, 6]), rng.choice([1, 2, 2])
    nodes_per_socket = rng.choice([1, 1, 2])
    per_cache = rng.choice([None, None, 2, 3])
    total = per_node * len(nodes)
    siblings_are_far = rng.random() < 0.7
    for core in range(total):
        at = core // per_node
        cpus = [
            core + total * thread if siblings_are_far else core * threads + thread
            for thread in range(threads)
        ]
        cache = None if per_cache is None else core // per_cache
        if is_odd and cache is not None and rng.random() < 0.2:
            cache = rng.choice([None, cache + 1])
        nodes[at]["cores"].append(
            {
                "id": core,
                "socket": at // nodes_per_socket,
                "threads": cpus,
                "uncore_cache": cache,
            }
        )


def _make_odd(rng: random.Random, nodes: list[dict[str, Any]]) -> None:
    if len(nodes) > 1 and rng.random() < 0.3:
        rng.choice(nodes[1:])["cores"] = []
    if len(nodes) > 1 and rng.random() < 0.3:
        rng.choice(nodes[1:]).update(memory_bytes=0, hugepages=[])
    if rng.random() < 0.2:
        for node in nodes:
            del node["distances"]
    elif rng.random() < 0.3:
        for node in nodes:
            node["distances"] = [rng.choice([10, 11, 12, 20, 21]) for _ in nodes]
    if rng.random() < 0.2:
        _split_a_node(rng.choice(nodes))


def _split_a_node(node: dict[str, Any]) -> None:
    """Give the second half of a node's cores to another socket."""
    for core in node["cores"][len(node["cores"]) // 2 :]:
        core["socket"] += 100


def devices(rng: random.Random, of: dict[str, Any]) -> list[dict[str, Any]]:
    """Return device plugins; their devices are on one, several or no NUMA nodes."""
    ids = [node["id"] for node in of["numa_nodes"]]
    resources = rng.sample(DEVICE_NAMES, rng.choice([1, 1, 2]))
    return [
        {
            "resource": resource,
            "devices": [
                {"id": f"{resource[-3:]}{at}", "numa_nodes": _nodes_of_device(rng, ids)}
                for at in range(rng.choice([2, 3, 4, 6]))
            ],
        }
        for resource in resources
    ]


def _nodes_of_device(rng: random.Random, ids: list[int]) -> list[int]:
    count = rng.choices([0, 1, 2], weights=[1, 8, 2])[0]
    return sorted(rng.sample(ids, min(count, len(ids))))
