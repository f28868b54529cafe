"""The NUMA nodes before a decision, in an explanation: free resources, and holders of the rest."""

from __future__ import annotations

from numalet.core.model import cpu_set, numa_mask
from numalet.core.model import machine_queries as ask
from numalet.core.model.pod import ContainerKind
from numalet.core.node.node import Node
from numalet.insight.explain import measures
from numalet.insight.explain.cases import Case
from numalet.insight.explain.explanation_types import (
    ExplanationCpusDocument,
    ExplanationDevicesDocument,
    ExplanationNodeDocument,
    HeldDocument,
    KeptCpusDocument,
    SizesDocument,
)
from numalet.insight.maps import resource_maps


def nodes(node: Node) -> list[ExplanationNodeDocument]:
    """Return every NUMA node with the figures of the managers that are on."""
    classes = ask.classes_by_node(node.rules.machine)
    memory = node.snapshot.memory.nodes
    return [
        ExplanationNodeDocument(
            node=node_id,
            node_class=classes[node_id],
            group=list(numa_mask.ids(memory[node_id].group)) if node_id in memory else [node_id],
            types=_types(node, node_id),
            cpus=_cpus(node, node_id),
            devices=_devices(node, node_id),
        )
        for node_id in node.rules.machine.node_ids
    ]


def _types(node: Node, node_id: int) -> dict[str, SizesDocument]:
    memory = node.snapshot.memory.nodes.get(node_id)
    return {
        each.resource: SizesDocument(
            total_bytes=each.total_bytes,
            allocatable_bytes=each.allocatable_bytes,
            reserved_bytes=each.reserved_bytes,
            free_bytes=each.free_bytes,
        )
        for each in (resource_maps.type_rows(memory) if memory is not None else ())
    }


def _cpus(node: Node, node_id: int) -> ExplanationCpusDocument | None:
    """Return the CPUs of a NUMA node that may become exclusive, if it has any."""
    policy = node.roster.static_cpus
    if policy is None:
        return None
    cpus = measures.cpus_by_node(node.roster)[node_id]
    there = cpus & policy.allocatable
    free = measures.free_cpus(node)[node_id]
    if not there:
        return None
    return ExplanationCpusDocument(len(there), cpu_set.text(free), cpu_set.text(cpus - there))


def _devices(node: Node, node_id: int) -> dict[str, ExplanationDevicesDocument]:
    ledger = node.snapshot.device
    counts = {}
    for resource in sorted(ledger.inventory.registered):
        masks = ledger.inventory.devices_of(resource).masks
        here = {name for name, mask in masks.items() if mask >> node_id & 1}
        if here:
            free = len(here & ledger.free(resource))
            counts[resource] = ExplanationDevicesDocument(len(here), free)
    return counts


def stranded(case: Case) -> list[KeptCpusDocument]:
    """Return CPUs of init containers that the other containers of their pods do not use."""
    snapshot = case.node.snapshot
    of_pods = (
        (str(pod), init.name, snapshot.cpu.exclusive.get(pod.uid, {}), pod.app_containers)
        for pod in snapshot.pods.values()
        # The kubelet treats a pod with pod-level resources as a whole and keeps no such CPUs.
        if pod.uid not in snapshot.cpu.pods
        for init in pod.init_containers
        if init.kind is ContainerKind.INIT
    )
    return [
        KeptCpusDocument(pod, init, cpu_set.text(left))
        for pod, init, held, apps in of_pods
        if init in held and any(app.name in held for app in apps)
        for left in [held[init].difference(*(held[name] for name in held if name != init))]
        if left
    ]


def held(case: Case) -> list[HeldDocument]:
    """Return the holders of memory by node set; smaller sets first, then by name and type."""
    sizes: dict[tuple[tuple[int, ...], str, str], int] = {}
    for uid, containers in case.node.snapshot.memory.blocks.items():
        for blocks in containers.values():
            for block in blocks:
                key = (block.nodes, case.name_of(uid), block.resource)
                sizes[key] = sizes.get(key, 0) + block.size_bytes
    return [
        HeldDocument(list(mask), pod, resource, sizes[mask, pod, resource])
        for mask, pod, resource in sorted(sizes, key=lambda key: (len(key[0]), key))
    ]
