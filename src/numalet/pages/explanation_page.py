"""The page of an explanation: the sentence, the hints as a matrix, the merge, ways out.

It is made of the document, so it reads the same whether this process or an agent decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from numalet.core.hints.hint import Hint
from numalet.core.model import numa_mask
from numalet.drawing import node_drawing
from numalet.insight.explain.considered_sets import AnswerKind
from numalet.insight.maps.node_map import NodeMap
from numalet.insight.output import explanation_verdict
from numalet.insight.output.explanation_types import (
    AllocatedDocument,
    AnswerDocument,
    Explanation,
    SubjectDocument,
)
from numalet.pages import pod_lines, templating
from numalet.pages.values import PageOrigin, TextTable
from numalet.wording import english, explanations, numbers

_MOST_SETS: Final = 64


@dataclass(frozen=True, slots=True)
class SubjectText:
    """What was aligned as one: node sets by resources, and what the merge made of them."""

    matrix: TextTable
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryText:
    """An explanation in words, part by part."""

    admitted: bool
    verdict: str
    message: str
    asked: TextTable
    subjects: tuple[SubjectText, ...]
    allocated: TextTable
    ways_out: tuple[str, ...]
    no_way_out: str


def body(chart: NodeMap, explanation: Explanation, origin: PageOrigin) -> Any:
    """The body of the page, as markup; ``chart`` is the node before the decision."""
    return templating.part(
        "bodies/explanation.html",
        origin=origin,
        story=story(explanation),
        drawing=templating.trusted(node_drawing.draw(chart)),
        lines=pod_lines.of_chart(chart),
    )


def story(explanation: Explanation) -> StoryText:
    """The texts of an explanation, for the part ``explanation_part``."""
    searched = bool(explanation.would_admit)
    return StoryText(
        admitted=explanation.admitted,
        verdict=_verdict(explanation),
        message=explanation.message,
        asked=TextTable(
            "Asked for",
            ("Container", "Requests"),
            tuple(
                (each.name, ", ".join(f"{name} {size}" for name, size in each.requests.items()))
                for each in explanation.pod.containers
            ),
        ),
        subjects=tuple(_subject(explanation, each) for each in explanation.subjects),
        allocated=TextTable(
            "Allocation",
            ("Container", "Memory", "CPUs by NUMA node", "Devices"),
            tuple(_allocated(each) for each in explanation.allocated),
        ),
        ways_out=tuple(_ways_out(explanation)),
        no_way_out=explanations.NO_WAY_OUT if searched else explanations.NOT_SEARCHED,
    )


def _verdict(explanation: Explanation) -> str:
    if explanation.why is not None:
        return explanation_verdict.rejected(explanation)
    asked = explanation.pod
    where = (
        f" on NUMA nodes {_braced(explanation.nodes)}"
        if explanation.nodes
        else ", and bound to no NUMA node"
    )
    return f"{asked.namespace}/{asked.name} ({asked.qos_class.value}) is admitted{where}"


def _subject(explanation: Explanation, subject: SubjectDocument) -> SubjectText:
    return SubjectText(_matrix(subject), tuple(_merged(explanation, subject)))


def _matrix(subject: SubjectDocument) -> TextTable:
    """Node sets by what was answered for resources; those that say nothing are left out."""
    answers = [each for each in subject.answers if each.sets]
    sets: dict[tuple[int, ...], dict[int, str]] = {}
    for at, answer in enumerate(answers):
        for each in answer.sets:
            if each.offered:
                text = {True: "preferred", False: "not preferred", None: "offered"}[each.preferred]
            else:
                text = each.brief or "no"
            sets.setdefault(tuple(each.nodes), {})[at] = text
    ordered = sorted(sets, key=lambda nodes: (len(nodes), nodes))[:_MOST_SETS]
    left = len(sets) - len(ordered)
    rows = [
        (
            numa_mask.text(numa_mask.of(nodes)),
            *(sets[nodes].get(at, "") for at in range(len(answers))),
        )
        for nodes in ordered
    ]
    if left:
        rows.append((f"{left} more", *("" for _ in answers)))
    columns = ("NUMA nodes", *(", ".join(each.resources) for each in answers))
    return TextTable(f"Where {subject.subject} could go", columns, tuple(rows))


def _merged(explanation: Explanation, subject: SubjectDocument) -> Iterator[str]:
    for answer in subject.answers:
        if not answer.sets or answer.answer is AnswerKind.NOTHING_FITS:
            yield _without_sets(answer)
    if subject.finalists and subject.wanted_size is not None:
        names = [
            numa_mask.text(numa_mask.of(each.nodes)) for each in subject.finalists if each.nodes
        ]
        order = explanations.ranking(
            subject.wanted_size,
            is_preferred=subject.finalists[0].preferred,
            by_distance=bool(subject.by_distance),
        )
        yield f"The merge ranks {', then '.join(names[:8])} ({order})"
    elif subject.finalists is not None and subject.wanted_size is not None:
        yield f"The merge: {explanations.NO_FINALISTS}"
    merged = subject.merged
    if merged.bounded:
        yield explanations.BOUNDED
    chosen = None if merged.nodes is None else numa_mask.of(merged.nodes)
    verb = "accepts" if merged.admit else "does not accept"
    hint = english.hint(Hint(chosen, merged.preferred))
    yield f"{explanation.policy.value} {verb} {hint}"


def _without_sets(answer: AnswerDocument) -> str:
    resources = ", ".join(answer.resources)
    name = f"{answer.provider} manager" + (f" ({resources})" if resources else "")
    if answer.answer is AnswerKind.NO_PREFERENCE:
        return f"{name}: no preference"
    reason = "" if answer.reason is None else f" {answer.reason.text}"
    if answer.answer is AnswerKind.IMPOSSIBLE:
        return f"{name}: impossible.{reason}"
    return f"{name}: {explanations.NOTHING_FITS}"


def _allocated(each: AllocatedDocument) -> tuple[str, ...]:
    return (
        each.container,
        ", ".join(
            f"{numbers.rounded_size(part.size_bytes)} of {part.type}"
            f" on {numa_mask.listed(part.nodes)}"
            for part in each.memory
        ),
        ", ".join(f"{node}: {cpus}" for node, cpus in each.cpus_by_node.items()),
        pod_lines.devices_text(each.devices),
    )


def _ways_out(explanation: Explanation) -> Iterator[str]:
    for tally in explanation.would_admit:
        title = explanations.CATEGORIES[tally.category.value]
        for offer in tally.offers:
            price = explanations.price(offer.lost or ())
            where = _braced(offer.nodes) if offer.nodes else ""
            text = f"{title}: {offer.text}" + (f", then on NUMA nodes {where}" if where else "")
            yield f"{text}, {price}" if price else text


def _braced(nodes: Iterable[int]) -> str:
    return numa_mask.text(numa_mask.of(nodes))
