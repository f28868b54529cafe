"""The allocation of one command: ``numalet run --dry-run -o json``, and an agent's answer.

Sizes are whole bytes. ``schema`` is a name with a number, which grows when a field is removed or
changes its meaning; a new field does not change it. If the command does not fit, the explanation
is that of a pod with one container, but names the command and its options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from numalet.core.config.rules import TopologyPolicy
from numalet.core.enforcement import desired
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model import cpu_set, grammar, numa_mask, resources
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.explain.explanation_types import Explanation, OfferDocument
from numalet.insight.output import explanation_verdict
from numalet.insight.output.json_schema import OutputDocument
from numalet.wording import explanations, numbers

_COMMAND: Final = "the command"

OUTSIDE_AFFINITY: Final = "the CPUs outside the inherited CPU affinity"
OTHER_NUMA_NODES: Final = "the CPUs of the NUMA nodes of other ranks"
"""Who holds the CPUs that a command may not get."""


def for_command(explanation: Explanation) -> Explanation:
    """Return the explanation with "the command" in place of the container's name."""
    (container,) = explanation.pod.containers
    refused = explanation.refused_allocation
    named = replace(
        explanation,
        pod=replace(explanation.pod, containers=[replace(container, name=_COMMAND)]),
        subjects=[replace(each, subject=_COMMAND) for each in explanation.subjects],
        refused_allocation=None if refused is None else replace(refused, container=_COMMAND),
    )
    named.cause = explanation_verdict.cause(named).replace("The pod", "The command")
    return named


def kept_for_others(explanation: Explanation) -> str:
    """Return a sentence about the resources reserved for the system, or an empty text."""
    cpus = cpu_set.EMPTY.union(
        *(cpu_set.parse(each.cpus.reserved) for each in explanation.nodes_before if each.cpus)
    )
    memory = sum(
        sizes.total_bytes - sizes.allocatable_bytes
        for each in explanation.nodes_before
        for name, sizes in each.types.items()
        if name == resources.MEMORY
    )
    parts = [numbers.cpus(cpus)] if cpus else []
    parts += [f"{numbers.rounded_size(memory)} of memory"] if memory else []
    return f"Reserved for the system: {' and '.join(parts)}." if parts else ""


def missing_pages(explanation: Explanation) -> Iterator[str]:
    (container,) = explanation.pod.containers
    for resource, text in container.requests.items():
        page = resources.page_bytes(resource)
        if page is None:
            continue
        there = sum(
            each.types[resource].total_bytes
            for each in explanation.nodes_before
            if resource in each.types
        )
        asked = Quantity.parse(text).value
        if there < asked:
            size = resource.removeprefix(resources.HUGEPAGES_PREFIX)
            has = f"{there // page} huge pages" if there else "no huge pages"
            yield (
                f"The machine has {has} of {size}. Allocate some as root: echo {asked // page} > "
                f"/sys/kernel/mm/hugepages/hugepages-{page // 1024}kB/nr_hugepages"
            )


def offers(explanation: Explanation, *, by_agent: bool) -> Iterator[str]:
    """Yield the changes that would make room; an agent decides by its own policy."""
    for tally in explanation.would_admit:
        for offer in tally.offers:
            text = _offer(offer, explanation, by_agent=by_agent)
            price = explanations.price(offer.lost or ())
            if text:
                yield f"{text}, {price}" if price else text


def _offer(offer: OfferDocument, explanation: Explanation, *, by_agent: bool) -> str:
    """Return the change as an option of the command line; empty if it has no such option."""
    figures = offer.figures
    match offer.code:
        case "explain/no-topology":
            return "" if by_agent else f"--policy {TopologyPolicy.NONE.value}"
        case "explain/other-topology":
            # ``numalet run`` has no option for the scope, and an agent has its own policy.
            is_option = figures["scope"] == explanation.scope.value and not by_agent
            return f"--policy {figures['policy']}" if is_option else ""
        case "explain/without-pods":
            holders = figures["pods"]
            if OUTSIDE_AFFINITY in holders or OTHER_NUMA_NODES in holders:
                return "--any-cpu" if holders == OUTSIDE_AFFINITY else ""
            return f"wait until {holders} ends (--wait)"
        case "explain/smaller-request" | "explain/adjusted-request":
            resource, amount = figures["resource"], figures["amount"]
            if resource in (resources.CPU, resources.MEMORY):
                return f"--{'cpus' if resource == resources.CPU else resource} {amount}"
            if not resource.startswith(resources.HUGEPAGES_PREFIX):
                return f"--device {resource}={amount}"
            return f"--hugepages {resource.removeprefix(resources.HUGEPAGES_PREFIX)}={amount}"
        case _:
            return ""


SCHEMA: Final = "numalet.run/3"

By: TypeAlias = Literal["agent", "node-state"]


class PodPart(OutputDocument, kw_only=True):
    """The pod that stands for the command in the managers."""

    namespace: str
    name: str
    uid: str


class RunMemoryDocument(OutputDocument, kw_only=True):
    """Memory of one type, such as ``memory`` or ``hugepages-1Gi``, and its NUMA nodes."""

    type: str
    size_bytes: int
    numa_nodes: list[int]


class RunDocument(OutputDocument, kw_only=True):
    """The allocation of a command, or the reason of its rejection.

    ``fits_when_empty`` is true if the command would fit on an empty machine.

    ``cpus`` are its exclusive CPUs in the kernel's list form; if empty, it runs on
    ``shared_cpus``. ``numa_nodes`` are the nodes of its memory, with or without a size.
    ``reason`` and ``message`` are those of the kubelet, empty if admitted. ``guarantee`` is the
    means that enforces the allocation, ``shortfalls`` are codes of settings that cannot be
    enforced. ``decided_by`` is the agent, or the node state that commands share
    (``node-state``). ``release`` is the release of the kubelet whose rules were used.

    ``explanation`` is set for a dry run that does not fit, as from ``numalet explain -o json``.
    ``environment`` has the variables of ``variables``, ``note`` is the allocation in a sentence;
    both are in the answer of an agent, for a client that does not load the engine.
    """

    schema: Literal["numalet.run/3"]
    pod: PodPart
    admitted: bool
    reason: str
    message: str
    fits_when_empty: bool
    cpus: str
    shared_cpus: str
    numa_nodes: list[int]
    memory: list[RunMemoryDocument]
    devices: dict[str, list[str]]
    guarantee: GuaranteeLevel
    shortfalls: list[str]
    decided_by: By
    release: str = ""
    explanation: Explanation | None = None
    environment: dict[str, str] | None = None
    note: str = ""


def refused(
    pod: Pod, reason: str, message: str, fits_when_empty: bool, by: By, *, release: str = ""
) -> RunDocument:
    return RunDocument(
        schema=SCHEMA,
        pod=_pod(pod),
        admitted=False,
        reason=reason,
        message=message,
        fits_when_empty=fits_when_empty,
        cpus="",
        shared_cpus="",
        numa_nodes=[],
        memory=[],
        devices={},
        guarantee=GuaranteeLevel.NONE,
        shortfalls=[],
        decided_by=by,
        release=release,
    )


def placed(
    pod: Pod,
    snapshot: Snapshot,
    level: GuaranteeLevel,
    shortfalls: tuple[str, ...],
    by: By,
    memory_nodes: Iterable[int] | None = None,
    *,
    release: str = "",
) -> RunDocument:
    """Return the document of a command whose pod of one container is in this snapshot.

    ``memory_nodes`` are where the kernel keeps its pages; by default those of its allocation.
    """
    (container,) = pod.containers()
    held = placement.of_container(snapshot, pod.uid, container.name)
    shared = None if held.cpus else desired.cpus(snapshot, pod.uid, container.name)
    return RunDocument(
        schema=SCHEMA,
        pod=_pod(pod),
        admitted=True,
        reason="",
        message="",
        fits_when_empty=True,
        cpus=cpu_set.text(held.cpus),
        shared_cpus=cpu_set.text(shared or ()),
        numa_nodes=list(memory_nodes or held.memory_nodes),
        memory=[
            RunMemoryDocument(
                type=each.resource, size_bytes=each.size_bytes, numa_nodes=list(each.nodes)
            )
            for each in held.memory
        ],
        devices={name: list(ids) for name, ids in held.devices.items()},
        guarantee=level,
        shortfalls=list(shortfalls),
        decided_by=by,
        release=release,
    )


def variables(place: RunDocument) -> dict[str, str]:
    """Return the variables that describe the place to the command, except its CPUs."""
    devices = (f"{name}={','.join(ids)}" for name, ids in place.devices.items())
    return {
        "NUMALET_MEMORY_NODES": cpu_set.text(place.numa_nodes),
        "NUMALET_DEVICES": ";".join(devices),
    }


def allocation(place: RunDocument) -> str:
    """Return the allocation for a sentence."""
    parts = [numbers.cpus(cpu_set.parse(place.cpus)) if place.cpus else "the shared CPUs"]
    for each in place.memory:
        size = f"{numbers.size(each.size_bytes)} of {each.type}"
        parts.append(f"{size} on {_nodes(each.numa_nodes)}")
    if not place.memory and place.numa_nodes:
        parts.append(f"memory of {_nodes(place.numa_nodes)}")
    parts += [f"{name} {','.join(ids)}" for name, ids in place.devices.items()]
    return ", ".join(parts)


def _nodes(numa_nodes: Sequence[int]) -> str:
    return grammar.singular(f"NUMA nodes {numa_mask.listed(numa_nodes)}")


def _pod(pod: Pod) -> PodPart:
    return PodPart(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def decode(value: Any) -> RunDocument:
    """Decode an agent's answer.

    Raises:
        msgspec.ValidationError: It is not such a document.
    """
    # An agent of a later release may send fields that this release does not have.
    known = {name: value[name] for name in RunDocument.__struct_fields__ if name in value}
    return msgspec.convert(known, RunDocument)
