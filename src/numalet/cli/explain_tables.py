"""An explanation as a story for people, in 80 columns.

The verdict, what was asked for, the NUMA nodes before, for every subject the sets of nodes that
were offered and why others were not, how the merge ranked them, what was allocated, and what
would have admitted the pod. Sets of nodes that say nothing new are counted, not listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, assert_never

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalet.cli import explain_nodes, output
from numalet.cli.explain_result import Result
from numalet.config.behaviour import Mode
from numalet.config.rules import StartRefused, TopologyPolicy
from numalet.explain.considered import Answer, Kind, SetAnswer
from numalet.explain.ranking import Ranking
from numalet.explain.story import Story, Subject, Taken
from numalet.explain.tally import Offer, Tally
from numalet.model import cpu_set, numa_mask
from numalet.model.numa_mask import NumaMask
from numalet.wording import english, explanations, kubelet, kubelet_start

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_SETS: Final = 10
_FIRST_OFFERED: Final = 2
_MOST_FINALISTS: Final = 6
_MOST_OFFERS: Final = 4

Renderables = Iterator["RenderableType"]


def story(result: Result) -> Renderables:
    """The whole explanation, one thing below the other."""
    told = result.told
    yield from _verdict(told)
    yield from _asked(told)
    yield from _heading("NUMA nodes before")
    if result.running:
        yield Text(f"assumed running: {result.running} (pods of the state files)")
    yield from explain_nodes.drawing(result.case)
    for subject in told.subjects:
        yield from _subject(told, subject, result.case.name_of)
    yield from _allocation(told, result.case.name_of)
    if not told.decision.admitted:
        yield from _would_admit(result)


def _text(text: str, style: str = "") -> Text:
    return Text(output.printable(text), style=style)


def _indented(text: str, style: str = "", by: int = 2) -> Padding:
    return Padding(_text(text, style), (0, 0, 0, by))


def _heading(text: str) -> Renderables:
    yield Text("")
    yield _text(text, "bold")


def _verdict(told: Story) -> Renderables:
    rejection = told.decision.rejection
    pod = f"{told.decision.pod} ({told.decision.pod.qos_class.value})"
    if rejection is None:
        nodes = _span(told)
        yield _text(f"{pod} is admitted{nodes}", "bold green")
        return
    yield _text(f"{pod} is rejected: {kubelet.reason(rejection)}", "bold red")
    yield _indented(kubelet.message(rejection))
    yield _indented(english.of_reason(rejection), "dim")


def _span(told: Story) -> str:
    from numalet.explain import measures

    span = measures.span_of(told.roster, told.decision.after, told.decision.pod)
    return f" on NUMA nodes {_nodes(span)}" if span else ", and bound to no NUMA node"


def _asked(told: Story) -> Renderables:
    rules = told.roster.rules.topology
    policy = f"topology policy {rules.policy.value}"
    if rules.policy is not TopologyPolicy.NONE:
        policy += f", scope {rules.scope.value}"
    mode = told.roster.rules.behaviour.mode
    if mode is not Mode.EXACT:
        policy += f", {mode.value} mode"
    yield from _heading(f"Asked for ({policy})")
    for container in told.decision.pod.containers():
        asked = ", ".join(f"{name} {each}" for name, each in sorted(container.requests.items()))
        kind = "" if container.kind.value == "app" else f" ({container.kind.value})"
        yield _indented(f"{container.name}{kind}: {asked or 'nothing'}")


def _subject(told: Story, subject: Subject, name_of: Callable[[str], str]) -> Renderables:
    yield from _heading(f"Where {subject.name} could go")
    yield from _answers(subject.answers, subject.merged.affinity.mask, name_of)
    if subject.ranking is not None:
        yield from _ranking(subject.ranking)
    merged = subject.merged
    if merged.bounded:
        yield _indented(explanations.BOUNDED)
    policy = told.roster.rules.topology.policy.value
    verb = "accepts" if merged.admit else "does not accept"
    yield _indented(f"{policy} {verb} {english.hint(merged.affinity)}", "bold")


def _answers(
    answers: Iterable[Answer], chosen: NumaMask | None, name_of: Callable[[str], str]
) -> Renderables:
    silent = [_resources(each) for each in answers if each.kind is Kind.NO_PREFERENCE]
    if silent:
        yield _indented(f"no preference: {', '.join(silent)}")
    for answer in answers:
        match answer.kind:
            case Kind.NO_PREFERENCE:
                continue
            case Kind.IMPOSSIBLE:
                assert answer.reason is not None
                reason = english.of_reason(answer.reason)
                yield _indented(f"{_resources(answer)}: impossible. {reason}")
                if answer.sets:
                    yield _sets(answer, chosen, name_of)
            case Kind.SETS:
                yield _indented(f"{_resources(answer)}:")
                yield _sets(answer, chosen, name_of)
            case Kind.NOTHING_FITS:
                yield _indented(f"{_resources(answer)}: {explanations.NOTHING_FITS}")
                yield _sets(answer, chosen, name_of)
            case _:
                assert_never(answer.kind)


def _resources(answer: Answer) -> str:
    names = [name for name in answer.resources if name != answer.provider]
    return f"{answer.provider} manager" + (f" ({', '.join(answer.resources)})" if names else "")


def _sets(answer: Answer, chosen: NumaMask | None, name_of: Callable[[str], str]) -> Padding:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column("NODES", overflow="fold", max_width=20)
    table.add_column("OFFERED", no_wrap=True)
    table.add_column("WHY NOT", overflow="fold")
    shown = _worth_showing(answer.sets, chosen)
    for each in shown:
        table.add_row(_nodes(each.mask), _offered(each), _text(_why_not(each, name_of), "dim"))
    others = [each for each in answer.sets if each not in shown]
    if others:
        offered = sum(each.offered for each in others)
        text = f"{len(others)} more sets: {offered} offered, {len(others) - offered} not"
        table.add_row("...", "", text)
    if not answer.is_complete:
        table.add_row("...", "", explanations.NOT_ALL_SETS)
    return Padding(table, (0, 0, 0, 4))


def _worth_showing(sets: Sequence[SetAnswer], chosen: NumaMask | None) -> list[SetAnswer]:
    """Sets to list: all if they are few; else the chosen set, some offered ones, single nodes."""
    offered = [each for each in sets if each.offered]
    wanted = [each.mask for each in sets if each.mask == chosen]
    wanted += [each.mask for each in offered[:_FIRST_OFFERED]]
    wanted += [each.mask for each in sets if each.mask.bit_count() == 1]
    wanted += [each.mask for each in sets]
    shown = list(dict.fromkeys(wanted))[:_MOST_SETS]
    return [each for each in sets if each.mask in shown]


def _offered(each: SetAnswer) -> Text:
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


def _why_not(each: SetAnswer, name_of: Callable[[str], str]) -> str:
    if each.reason is None:
        return ""
    names = dict.fromkeys(name_of(uid) for uid, _ in each.holders)
    return explanations.brief(each.reason, tuple(names))


def _ranking(ranking: Ranking) -> Renderables:
    finalists = ranking.finalists
    if not finalists:
        yield _indented(f"merge: {explanations.NO_FINALISTS}")
        return
    names = [_nodes(each.mask) for each in finalists[:_MOST_FINALISTS] if each.mask is not None]
    more = len(finalists) - len(names)
    order = explanations.ranking(
        ranking.wanted_size,
        is_preferred=finalists[0].preferred,
        by_distance=ranking.by_distance,
    )
    text = ", then ".join(names) + (f", then {more} more" if more else "")
    yield _indented(f"merge: {text} ({order})")


def _allocation(told: Story, name_of: Callable[[str], str]) -> Renderables:
    taken = [each for each in told.taken if each.memory or each.cpus or each.devices]
    if told.decision.admitted or told.refusal is not None:
        yield from _heading("Allocation")
        for each in taken:
            yield from _taken(each, name_of)
        if not taken and told.refusal is None:
            yield _indented("nothing that is bound to NUMA nodes")
    if told.refusal is not None:
        refusal = told.refusal
        yield _indented(f"{refusal.container}: refused by the {refusal.provider} manager", "red")
        yield _indented(english.of_reason(refusal.reason), by=4)
        if refusal.looked_at is not None:
            yield _sets(refusal.looked_at, None, name_of)


def _taken(taken: Taken, name_of: Callable[[str], str]) -> Renderables:
    parts = [
        f"{english.size(block.size_bytes)} of {block.resource} on {numa_mask.listed(block.nodes)}"
        for block in taken.memory
    ]
    parts += [f"CPUs {cpu_set.text(cpus)} of node {node}" for node, cpus in taken.cpus.items()]
    parts += [f"{name} {', '.join(ids)}" for name, ids in taken.devices.items()]
    yield _indented(f"{taken.container}: {'; '.join(parts)}")
    if taken.looked_at is not None:
        yield _sets(taken.looked_at, None, name_of)


def _would_admit(result: Result) -> Renderables:
    yield from _heading("What would have admitted it")
    if not result.tallies:
        yield _indented(explanations.NOT_SEARCHED)
    for tally in result.tallies:
        yield from _tally(tally, result)


def _tally(tally: Tally, result: Result) -> Renderables:
    summary = explanations.tried(
        tally.tried, offers=len(tally.offers), ended_early=tally.ended_early
    )
    line = Text(f"  {explanations.CATEGORIES[tally.category.value]}: ")
    line.append(summary, "dim")
    yield line
    for offer in tally.offers[:_MOST_OFFERS]:
        yield Padding(_offer(offer, result), (0, 0, 0, 4))
    more = len(tally.offers) - _MOST_OFFERS
    if more > 0:
        yield _indented(f"and {more} more (see -o json)", by=4)
    for refused in tally.refusals:
        if isinstance(refused.outcome.decision, StartRefused):
            text = kubelet_start.text(refused.outcome.decision)
            sentence = english.of_reason(refused.change)
            yield _indented(f"- {sentence}: the kubelet would not start: {text}", "dim", by=4)


def _offer(offer: Offer, result: Result) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column()
    grid.add_column(overflow="fold")
    text = english.of_reason(offer.change)
    if offer.outcome.span:
        text += f" -> NUMA nodes {_nodes(offer.outcome.span)}"
    price = explanations.price([result.case.name_of(uid) for uid in offer.outcome.lost])
    mark, style = ("-", "yellow") if price else ("*", "green")
    grid.add_row(Text(mark, style), _text(f"{text}, {price}" if price else text))
    return grid


def _nodes(mask: NumaMask) -> str:
    return numa_mask.text(mask)
