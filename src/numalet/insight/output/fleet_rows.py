"""Answers about a fleet as rows: the names of the columns first, then one row per item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from numalet.core.model import resources
from numalet.insight.fleet import victims
from numalet.insight.fleet.evicting import CopiesAnswer
from numalet.insight.fleet.fit import Fit
from numalet.insight.fleet.parts import FleetPlacement, controller_text
from numalet.insight.fleet.rejected import FleetRejected
from numalet.insight.fleet.traps import Traps


def fits(answers: Sequence[Fit]) -> Iterator[Sequence[object]]:
    yield "shape", "copy", "node", "numa_nodes", "devices", "cpus", "memory_bytes", "code", "reason"
    for fit in answers:
        for each in fit.landings:
            nodes = " ".join(map(str, each.numa_nodes))
            held = victims.held(each.containers)
            devices, cpus = ("" if text == "-" else text for text in (held.devices, held.cpus))
            size_bytes = _memory_bytes(each.containers)
            yield fit.shape, each.number, each.node, nodes, devices, cpus, size_bytes, "", ""
        for group in fit.left_out:
            for node in group.nodes:
                yield fit.shape, "", node, "", "", "", "", group.code, group.text


def _memory_bytes(placements: Mapping[str, FleetPlacement]) -> int | str:
    """Return the memory of all containers without huge pages; empty without allocation."""
    blocks = (block for each in placements.values() for block in each.memory)
    return sum(block.size_bytes for block in blocks if block.type == resources.MEMORY) or ""


def traps(answer: Traps) -> Iterator[Sequence[object]]:
    """Yield a row for each stranded resource of a node."""
    yield "node", "pool", "origin", "resource", "stranded", "reason", "refused"
    for each in answer.traps:
        refused = " ".join(each.refused)
        for resource, amount in each.stranded.items():
            yield each.node, each.pool, each.origin.value, resource, amount, each.text, refused


def rejected(answer: FleetRejected) -> Iterator[Sequence[object]]:
    """Yield a row for each group of rejected pods and each node that rejected some of it."""
    times = "first_at_seconds", "last_at_seconds"
    yield "namespace", "owner", "pod", "reason", "node", "count", *times, "fits_on", "fits_there"
    for each in answer.groups:
        for node, count in each.nodes.items():
            about = each.namespace, each.owner, each.pod, each.reason, node, count
            seen = (each.first_at_seconds, each.last_at_seconds)
            at = ["" if moment is None else moment for moment in seen]
            yield *about, *at, len(each.fits_on), node in each.fits_there


def free(answer: CopiesAnswer) -> Iterator[Sequence[object]]:
    """Yield a row for each pod to evict, and one without a pod for each other node."""
    pod_columns = "namespace", "pod", "uid", "priority", "controller"
    yield "node", "origin", "outcome", "proof", *pod_columns, "copy", "never"
    every = ((one.number, each) for one in answer.copies for each in one.answer.nodes)
    for copy, each in every:
        about = (each.name, each.origin.value, each.outcome.value, each.proof.value)
        if not each.going:
            yield *about, "", "", "", "", "", copy, each.never
        for one in each.going:
            pod = one.pod
            owner = controller_text(one)
            of_pod = pod.namespace, pod.name, pod.uid, pod.priority or 0, owner
            yield *about, *of_pod, copy, each.never
