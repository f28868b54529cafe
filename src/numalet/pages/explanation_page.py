"""The page of an explanation: the sentence, the hints as a matrix, the merge, possible changes.

It is built from the document, so that it is the same for a decision of this process or an agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from numalet.core.model import numa_mask
from numalet.core.model.value import Value
from numalet.drawing import hint_matrix, node_drawing
from numalet.insight.explain import hint_maps
from numalet.insight.explain.explanation_types import AllocatedDocument, Explanation
from numalet.insight.maps.node_map import NodeMap
from numalet.pages import bodies, templating
from numalet.pages.templating import PageOrigin, TextTable
from numalet.wording import explanations, numbers


class StoryText(Value, kw_only=True):
    """The parts of an explanation; ``matrices`` are markup, a drawing of hints per subject."""

    admitted: bool
    verdict: str
    message: str
    asked: TextTable
    matrices: tuple[Any, ...]
    allocated: TextTable
    ways_out_title: str
    ways_out: tuple[str, ...]
    no_way_out: str


def body(chart: NodeMap, explanation: Explanation, origin: PageOrigin) -> Any:
    """Return the body of the page, as markup; ``chart`` is the node before the decision."""
    return templating.part(
        "bodies/explanation.html",
        origin=origin,
        story=story(explanation),
        drawing=templating.trusted(node_drawing.draw(chart)),
        lines=bodies.pod_lines_of(chart),
    )


def story(explanation: Explanation) -> StoryText:
    return StoryText(
        admitted=explanation.admitted,
        verdict=explanation.first_line,
        message=" ".join(filter(None, (explanation.contradiction, explanation.message))),
        asked=TextTable(
            "Asked for",
            ("Container", "Requests"),
            tuple(
                (each.name, ", ".join(f"{name} {size}" for name, size in each.requests.items()))
                for each in explanation.pod.containers
            ),
        ),
        matrices=tuple(
            templating.trusted(hint_matrix.draw(each))
            for each in hint_maps.of_explanation(explanation)
        ),
        allocated=TextTable(
            "Allocation",
            ("Container", "Memory", "CPUs by NUMA node", "Devices"),
            tuple(_allocated(each) for each in explanation.allocated),
        ),
        ways_out=tuple(_ways_out(explanation)),
        ways_out_title=explanations.WOULD_ALIGN
        if explanation.admitted
        else explanations.WOULD_ADMIT,
        no_way_out=_no_way_out(explanation),
    )


def _no_way_out(explanation: Explanation) -> str:
    """Return the text without possible changes; empty for a pod that is admitted and aligned."""
    if explanation.admitted:
        # An empty list means that nothing was searched.
        return explanations.NOTHING_ALIGNS if explanation.would_align else ""
    return explanations.NO_WAY_OUT if explanation.would_admit else explanations.NOT_SEARCHED


def _allocated(each: AllocatedDocument) -> tuple[str, ...]:
    return (
        each.container,
        ", ".join(
            f"{numbers.rounded_size(part.size_bytes)} of {part.type}"
            f" on {numa_mask.listed(part.nodes)}"
            for part in each.memory
        ),
        ", ".join(f"{node}: {cpus}" for node, cpus in each.cpus_by_node.items()),
        bodies.devices_text(each.devices),
    )


def _ways_out(explanation: Explanation) -> Iterator[str]:
    for tally in explanation.would_admit or explanation.would_align:
        title = explanations.CATEGORIES[tally.category.value]
        for offer in tally.offers:
            price = explanations.price(offer.lost or ())
            where = numa_mask.text(numa_mask.of(offer.nodes)) if offer.nodes else ""
            text = f"{title}: {offer.text}" + (f", then on NUMA nodes {where}" if where else "")
            yield f"{text}, {price}" if price else text
