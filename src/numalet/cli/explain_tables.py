"""An explanation as a story for people.

The verdict with its cause and the cheapest fix, the request, the NUMA nodes before, the sets of
nodes that managers offered and why others were not, the ranking of the merge, the allocation, and
changes that would admit the pod. It is drawn from the document, so it is the same for a decision of
this process and of an agent. Sets of nodes without new information are counted, not listed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalet.cli import explain_nodes, output
from numalet.cli.tables import Column, Columns, table
from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import TopologyPolicy
from numalet.core.model import numa_mask
from numalet.core.model.pod import ContainerKind
from numalet.insight.explain import hint_maps
from numalet.insight.explain.explanation_types import (
    AllocatedDocument,
    AnswerDocument,
    AnswerKind,
    CategoryDocument,
    Explanation,
    OfferDocument,
    SetDocument,
    SubjectDocument,
)
from numalet.wording import explanations, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_SETS: Final = 10
_FIRST_OFFERED: Final = 2
_MOST_FINALISTS: Final = 6
_MOST_OFFERS: Final = 4

Renderables = Iterator["RenderableType"]


def story(explanation: Explanation) -> Renderables:
    if explanation.contradiction:
        yield _text(explanation.contradiction, "yellow")
    yield from _replay_refused(explanation)
    yield from _verdict(explanation)
    yield from _asked(explanation)
    yield from _heading("NUMA nodes before")
    if explanation.assumed_running:
        yield Text(f"assumed running: {explanation.assumed_running} (pods of the state files)")
    yield from explain_nodes.drawing(explanation)
    for each in explanation.stranded:
        yield _indented(explanations.stranded(each.pod, each.container, each.cpus))
    for subject in explanation.subjects:
        yield from where_it_could_go(explanation, subject)
    yield from _allocation(explanation)
    if not explanation.admitted:
        yield from _offers(explanations.WOULD_ADMIT, explanation.would_admit)
    elif explanation.cause or explanation.would_align:
        yield from _offers(explanations.WOULD_ALIGN, explanation.would_align)


def _text(text: str, style: str = "") -> Text:
    return Text(output.printable(text), style=style)


def _indented(text: str, style: str = "", by: int = 2) -> Padding:
    return Padding(_text(text, style), (0, 0, 0, by))


def _heading(text: str) -> Renderables:
    yield Text("")
    yield _text(text, "bold")


def _replay_refused(explanation: Explanation) -> Renderables:
    """List earlier pods that were rejected in the replay."""
    refused = [(each.pod, each.reason) for each in explanation.replay_refused]
    if refused:
        lines = explanations.replay_refused(refused, len(explanation.queue), explanations.BEFORE_IT)
        yield from (_text(line, "yellow") for line in lines)
        yield Text("")


def _verdict(explanation: Explanation) -> Renderables:
    colour = "bold green" if explanation.admitted else "bold red"
    yield output.one_line(explanation.first_line, colour)
    if not explanation.admitted:
        yield _indented(explanation.message, "dim")


def _asked(explanation: Explanation) -> Renderables:
    policy = f"topology policy {explanation.policy.value}"
    if explanation.policy is not TopologyPolicy.NONE:
        policy += f", scope {explanation.scope.value}"
    if explanation.mode is not Mode.EXACT:
        policy += f", {explanation.mode.value} mode"
    yield from _heading(f"Asked for ({policy}, the kubelet v{explanation.release})")
    whole = ", ".join(f"{name} {each}" for name, each in explanation.pod.pod_requests.items())
    if whole:
        yield _indented(f"{explanations.WHOLE_POD_WORDS}: {whole}, which its containers divide")
    for container in explanation.pod.containers:
        asked = ", ".join(f"{name} {each}" for name, each in container.requests.items())
        kind = "" if container.kind is ContainerKind.APP else f" ({container.kind.value})"
        yield _indented(f"{container.name}{kind}: {asked or 'nothing'}")


def where_it_could_go(explanation: Explanation, subject: SubjectDocument) -> Renderables:
    """List the sets of NUMA nodes that managers offered, and the result of the merge."""
    yield from _heading(f"Where {subject.subject} could go")
    merged = subject.merged
    # If the result is preferred, or only single nodes count, the other sets need no reason.
    is_clear = merged.preferred or explanation.policy is TopologyPolicy.SINGLE_NUMA_NODE
    yield from _answers(subject.answers, merged.nodes, is_clear=is_clear)
    yield from _ranking(subject)
    if merged.bounded:
        yield _indented(f"merge: {explanations.BOUNDED}")
    yield _indented(hint_maps.verdict(merged, explanation.policy.value), "bold")


def _answers(
    answers: Iterable[AnswerDocument], chosen: list[int] | None, *, is_clear: bool
) -> Renderables:
    """List every answer; with ``is_clear`` it does not matter why a set is not preferred."""
    silent = [_resources(each) for each in answers if each.answer is AnswerKind.NO_PREFERENCE]
    if silent:
        yield _indented(f"no preference: {', '.join(silent)}")
    for answer in answers:
        match answer.answer:
            case AnswerKind.NO_PREFERENCE:
                continue
            case AnswerKind.IMPOSSIBLE:
                reason = "" if answer.reason is None else answer.reason.text
                yield _indented(f"{_resources(answer)}: impossible. {reason}")
                if answer.sets:
                    yield _sets(answer, chosen)
            case AnswerKind.SETS:
                yield _indented(f"{_resources(answer)}:")
                yield _sets(answer, chosen)
                if answer.why_not_preferred is not None and not is_clear:
                    yield _indented(explanations.not_preferred(answer.why_not_preferred), by=4)
            case AnswerKind.NOTHING_FITS:
                yield _indented(f"{_resources(answer)}: {explanations.NOTHING_FITS}")
                yield _sets(answer, chosen)
            case _:
                assert_never(answer.answer)


def _resources(answer: AnswerDocument) -> str:
    names = [name for name in answer.resources if name != answer.provider]
    return f"{answer.provider} manager" + (f" ({', '.join(answer.resources)})" if names else "")


_SetRow: TypeAlias = tuple[str, "Text | str", "Text | str"]
_SETS: Final[Columns[_SetRow]] = (
    Column("NODES", lambda row: row[0], most=20),
    Column("OFFERED", lambda row: row[1], whole=True),
    Column("WHY NOT", lambda row: row[2]),
)


def _sets(answer: AnswerDocument, chosen: list[int] | None) -> Padding:
    shown = _worth_showing(answer.sets, chosen)
    rows: list[_SetRow] = [
        (_nodes(each.nodes), _offered(each), _text(each.brief or "", "dim")) for each in shown
    ]
    others = [each for each in answer.sets if each not in shown]
    if others:
        offered = sum(each.offered for each in others)
        text = f"{len(others)} more sets: {offered} offered, {len(others) - offered} not"
        rows.append(("...", "", text))
    if not answer.all_sets:
        rows.append(("...", "", explanations.NOT_ALL_SETS))
    return Padding(table(_SETS, rows, show_header=False), (0, 0, 0, 4))


def _worth_showing(sets: Sequence[SetDocument], chosen: list[int] | None) -> list[SetDocument]:
    """Return the sets to list: all if few; else the chosen set, some offered ones, single nodes."""
    offered = [each for each in sets if each.offered]
    # In order of interest; the list is cut at the end.
    wanted = [each for each in sets if each.nodes == chosen]
    wanted += offered[:_FIRST_OFFERED]
    wanted += [each for each in sets if len(each.nodes) == 1]
    wanted += sets
    shown = list(dict.fromkeys(tuple(each.nodes) for each in wanted))[:_MOST_SETS]
    return [each for each in sets if tuple(each.nodes) in shown]


def _offered(each: SetDocument) -> Text:
    if not each.offered:
        return Text("no", "red")
    match each.preferred:
        case True:
            return Text("preferred", "green")
        case False:
            return Text("not preferred", "yellow")
        case None:
            return Text("offered")
        case _:
            assert_never(each.preferred)


def _ranking(subject: SubjectDocument) -> Renderables:
    finalists = subject.finalists
    if finalists is None or subject.wanted_size is None:
        return
    if not finalists:
        yield _indented(f"merge: {explanations.NO_FINALISTS}")
        return
    names = [_nodes(each.nodes) for each in finalists[:_MOST_FINALISTS] if each.nodes is not None]
    more = len(finalists) - len(names)
    order = explanations.ranking(
        subject.wanted_size,
        is_preferred=finalists[0].preferred,
        by_distance=bool(subject.by_distance),
    )
    text = ", then ".join(names) + (f", then {more} more" if more else "")
    yield _indented(f"merge: {text} ({order})")


def _allocation(explanation: Explanation) -> Renderables:
    allocated = [
        each for each in explanation.allocated if each.memory or each.cpus_by_node or each.devices
    ]
    refused = explanation.refused_allocation
    if explanation.admitted or refused is not None:
        yield from _heading("Allocation")
        for each in allocated:
            yield from _allocated(each)
        if not allocated and refused is None:
            yield _indented("nothing that is bound to NUMA nodes")
    if refused is not None:
        name = refused.container or explanations.WHOLE_POD_WORDS
        yield _indented(f"{name}: refused by the {refused.provider} manager", "red")
        yield _indented(refused.reason.text, by=4)
        if refused.chosen_among is not None and not _was_shown(explanation, refused.chosen_among):
            yield _sets(refused.chosen_among, None)


def _was_shown(explanation: Explanation, answer: AnswerDocument) -> bool:
    """Return whether an earlier answer for a subject has the same sets."""
    return any(
        each.sets == answer.sets for subject in explanation.subjects for each in subject.answers
    )


def _allocated(allocated: AllocatedDocument) -> Renderables:
    parts = [
        f"{numbers.rounded_size(each.size_bytes)} of {each.type} on {numa_mask.listed(each.nodes)}"
        for each in allocated.memory
    ]
    parts += [f"CPUs {cpus} of node {node}" for node, cpus in allocated.cpus_by_node.items()]
    parts += [f"{name} {', '.join(ids)}" for name, ids in allocated.devices.items()]
    yield _indented(f"{allocated.container}: {'; '.join(parts)}")
    if allocated.chosen_among is not None:
        yield _sets(allocated.chosen_among, None)


def _offers(title: str, searched: Sequence[CategoryDocument]) -> Renderables:
    yield from _heading(title)
    if not searched:
        yield _indented(explanations.NOT_SEARCHED)
    for tally in searched:
        if tally.offers or tally.would_not_start:
            yield from _tally(tally)
    in_vain = [
        explanations.in_vain(each.category.value, each.tried)
        for each in searched
        if each.tried and not (each.offers or each.would_not_start)
    ]
    if in_vain:
        yield _indented(f"{explanations.IN_VAIN}: {', '.join(in_vain)}", "dim")
    if any(each.ended_early for each in searched):
        yield _indented(explanations.ENDED_EARLY)


def _tally(tally: CategoryDocument) -> Renderables:
    summary = explanations.tried(tally.tried, offers=len(tally.offers))
    line = Text(f"  {explanations.CATEGORIES[tally.category.value]}: ")
    line.append(summary, "dim")
    yield line
    for offer in tally.offers[:_MOST_OFFERS]:
        yield Padding(_offer(offer), (0, 0, 0, 4))
    more = len(tally.offers) - _MOST_OFFERS
    if more > 0:
        yield _indented(f"and {more} more (see -o json)", by=4)
    for refused in tally.would_not_start:
        sentence = f"{refused.text}: the kubelet would not start: {refused.start_error}"
        yield _indented(f"- {sentence}", "dim", by=4)


def _offer(offer: OfferDocument) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column()
    grid.add_column(overflow="fold")
    text = offer.text
    if offer.nodes:
        text += f" -> NUMA nodes {_nodes(offer.nodes)}"
    price = explanations.price(offer.lost or ())
    mark, style = ("-", "yellow") if price else ("*", "green")
    grid.add_row(Text(mark, style), _text(f"{text}, {price}" if price else text))
    return grid


def _nodes(node_ids: Iterable[int]) -> str:
    return numa_mask.text(numa_mask.of(node_ids))
