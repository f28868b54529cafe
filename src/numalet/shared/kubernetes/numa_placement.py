"""The attributes ``numaplacement`` of a NodeResourceTopology: the NUMA node of each container.

NodeResourceTopologyMatch of scheduler-plugins reads them in the dry run of a preemption. Containers
are numbered in the order of their hashes, so that names are not sent. A zone lists the numbers of
its containers, as differences; the zone with the most containers has no list. Format ``npv0v001``,
vectors LEB89: the Go module github.com/k8stopologyawareschedwg/numaplacement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import xxhash

from numalet.core.config.rules import TopologyPolicy, TopologyRules
from numalet.core.model.machine_info import MachineInfo
from numalet.shared.kubernetes import node_resource_topology
from numalet.shared.kubernetes.pod_resources import ContainerEntry, PodEntry

METADATA: Final = "topology.node.k8s.io/numaplacement-metadata"
VECTOR: Final = "topology.node.k8s.io/numaplacement-vector"

_FORMAT: Final = "npv0v001"
_ALPHABET: Final = "".join(chr(each) for each in range(0x21, 0x7F) if chr(each) not in '"&<>\\')
"""The 89 characters that Go's JSON does not escape: 64 end a number, 25 continue it."""
_ENDING: Final = 64
_CONTINUING: Final = 25


def with_placement(
    content: Mapping[str, Any],
    machine: MachineInfo,
    rules: TopologyRules,
    pods: Iterable[PodEntry],
) -> dict[str, Any]:
    """Add the attributes to the content of a NodeResourceTopology.

    The content is unchanged if the format cannot express the placement: another policy than
    single-numa-node, a container on several NUMA nodes, or gaps in the numbers of the nodes.
    """
    count = len(machine.node_ids)
    is_expressible = rules.policy is TopologyPolicy.SINGLE_NUMA_NODE and sorted(
        machine.node_ids
    ) == list(range(count))
    places = dict(_places(machine, pods)) if is_expressible else {}
    if not is_expressible or None in places.values():
        return dict(content)
    numbers: dict[int, list[int]] = {}
    for number, (_, node_id) in enumerate(sorted(places.items())):
        numbers.setdefault(node_id or 0, []).append(number)
    busiest = max(sorted(numbers), key=lambda each: len(numbers[each]), default=0)
    metadata = f"{_FORMAT}::ve=leb89::cc={len(places)}::nn={count}::bn={busiest}"
    vectors = {
        node_resource_topology.zone_name(node_id): [{"name": VECTOR, "value": _vector(listed)}]
        for node_id, listed in numbers.items()
        if node_id != busiest
    }
    attributes = [*content["attributes"], {"name": METADATA, "value": metadata}]
    return {
        **content,
        "attributes": sorted(attributes, key=lambda each: each["name"]),
        "zones": [
            {**zone, "attributes": vectors[zone["name"]]} if zone["name"] in vectors else zone
            for zone in content["zones"]
        ],
    }


def _places(machine: MachineInfo, pods: Iterable[PodEntry]) -> Iterator[tuple[int, int | None]]:
    """Yield the hash and the NUMA node of every container that has one; None for several nodes."""
    node_of = machine.node_of_cpu
    for pod in pods:
        for each in pod.containers:
            nodes = _nodes(each, node_of)
            if nodes:
                name = "\0".join((pod.namespace, pod.name, each.name))
                node_id = next(iter(nodes)) if len(nodes) == 1 else None
                yield xxhash.xxh64_intdigest(name.encode()), node_id


def _nodes(container: ContainerEntry, node_of: Mapping[int, int]) -> set[int]:
    nodes = {node_of[cpu] for cpu in container.cpus if cpu in node_of}
    nodes.update(each.node_id for each in container.devices if each.node_id is not None)
    for block in container.memory:
        nodes.update(block.nodes)
    return nodes


def _vector(numbers: Iterable[int]) -> str:
    text, before = "", 0
    for number in numbers:
        text += _encoded(number - before)
        before = number
    return text


def _encoded(number: int) -> str:
    if number < _ENDING:
        return _ALPHABET[number]
    number, ending = divmod(number - _ENDING, _ENDING)
    number, digit = divmod(number, _CONTINUING)
    text = _ALPHABET[_ENDING + digit] + _ALPHABET[ending]
    while number:
        number, digit = divmod(number, _CONTINUING)
        text = _ALPHABET[_ENDING + digit] + text
    return text
