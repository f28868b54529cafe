"""Why a command of ``numalet run`` has no place, in the words of its command line.

The explanation is that of a pod with one container. A command has options instead of fields of a
manifest, and other commands end instead of being deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from numalet.core.config.rules import TopologyPolicy
from numalet.core.model import cpu_set, resources
from numalet.core.model.quantity import Quantity
from numalet.insight.output import explanation_verdict
from numalet.insight.output.explanation_types import Explanation, OfferDocument
from numalet.wording import explanations, numbers

_COMMAND: Final = "the command"


def of(explanation: Explanation) -> Explanation:
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


def kept(explanation: Explanation) -> str:
    """Return the resources that are reserved for the system; empty if there are none."""
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
            return f"wait until {figures['pods']} ends (--wait)"
        case "explain/smaller-request" | "explain/adjusted-request":
            resource, amount = figures["resource"], figures["amount"]
            if resource in (resources.CPU, resources.MEMORY):
                return f"--{'cpus' if resource == resources.CPU else resource} {amount}"
            if not resource.startswith(resources.HUGEPAGES_PREFIX):
                return f"--device {resource}={amount}"
            return f"--hugepages {resource.removeprefix(resources.HUGEPAGES_PREFIX)}={amount}"
        case _:
            return ""
