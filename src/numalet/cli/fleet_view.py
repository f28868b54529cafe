"""Answers about a fleet in tables: copies that fit, traps, pods to evict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from numalet.cli import breaking, output
from numalet.cli.tables import Column, Columns, table
from numalet.core.cluster.cluster import Cluster, ClusterPod, Origin
from numalet.core.model import pod_demand
from numalet.insight.fleet import free_words, parts, victims
from numalet.insight.fleet.evicting import CopiesAnswer, FreeAnswer
from numalet.insight.fleet.fit import Fit, Landing, ReasonGroup
from numalet.insight.fleet.moves import MovePlan, Step
from numalet.insight.fleet.traps import (
    KeptAway,
    PoolTraps,
    ShapeRefusal,
    Trap,
    Traps,
    TrapShape,
    urgent_first,
)
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

MOST_ROWS: Final = 40
"""Limit of rows in a table; -o json prints all."""
_MOST_TEXTS: Final = 5
_ORIGINS: Final[Mapping[Origin, str]] = {
    Origin.PUBLISHED: "published",
    Origin.REBUILT: "rebuilt from their pods",
    Origin.DESCRIBED: "described",
}


def fits(cluster: Cluster, answers: Sequence[Fit]) -> None:
    """Print the places of copies, and why they do not fit elsewhere."""
    output.print_all(_fits(cluster, answers))


def traps(cluster: Cluster, answer: Traps) -> None:
    """Print traps, their cost and the measures."""
    output.print_all(_traps(cluster, answer))


def free(
    cluster: Cluster, name: str, answer: CopiesAnswer, plans: Sequence[MovePlan | None]
) -> None:
    """Print the pods to evict by copy and node, and new places for them."""
    output.print_all(_copies(cluster, name, answer, plans))


def origins(cluster: Cluster) -> str:
    counts = [f"{count} {_ORIGINS[origin]}" for origin, count in cluster.origins().items()]
    if cluster.undecided:
        counts.append(f"{len(cluster.undecided)} undecided")
    found = cluster.releases()
    releases = [
        f"v{name} ({count})" if len(found) > 1 else f"v{name}" for name, count in found.items()
    ]
    followed = f"; kubelet {', '.join(releases)}" if releases else ""
    return f"Nodes: {', '.join(counts) or 'none'}{followed}."


def noted(cluster: Cluster) -> Iterator[RenderableType]:
    """Yield reasons for undecided nodes, and notes on others: each text once.

    Of each kind of note only the first texts are printed, and the number of others.
    """
    # Equal texts of one kind share a line: 5,000 nodes may have the same note.
    kinds: dict[str, dict[str, list[str]]] = {}
    for name, each in sorted(cluster.undecided.items()):
        fix = f"; {each.why.fix}" if each.why.fix else ""
        text = f"not decided on: {each.why}{fix}"
        kinds.setdefault(each.why.code, {}).setdefault(text, []).append(name)
    for name, on in sorted(cluster.nodes.items()):
        for note in on.notes:
            kinds.setdefault(note.code, {}).setdefault(str(note), []).append(name)
    for by_text in kinds.values():
        texts = list(by_text.items())
        for text, names in texts[:_MOST_TEXTS]:
            more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
            yield output.one_line(f"  {names[0]}{more}: {text}", "dim")
        rest = {name for _, names in texts[_MOST_TEXTS:] for name in names}
        if rest:
            count = numbers.counted(len(texts) - _MOST_TEXTS, "note")
            nodes = numbers.counted(len(rest), "node")
            yield output.one_line(f"  and {count} of this kind on {nodes} (see -o json)", "dim")


def ending(cluster: Cluster) -> Iterator[RenderableType]:
    yield ""
    yield output.one_line(origins(cluster))
    yield from noted(cluster)


_LANDINGS: Final[Columns[Landing]] = (
    Column("COPY", lambda each: each.number, right=True),
    Column("NODE", lambda each: each.node),
    Column("NUMA NODES", lambda each: each.where),
    Column("DEVICES", lambda each: victims.held(each.containers).devices),
    Column("CPUS", lambda each: victims.held(each.containers).cpus),
    Column("MEMORY", lambda each: victims.held(each.containers).memory),
)
_REASONS: Final[Columns[ReasonGroup]] = (
    Column("NODES", lambda each: each.count, right=True),
    Column("REASON", lambda each: each.text),
    Column("FIRST", lambda each: each.nodes[0]),
)


def _fits(cluster: Cluster, answers: Sequence[Fit]) -> Iterator[RenderableType]:
    for at, fit in enumerate(answers):
        if at:
            yield ""
        of = "" if fit.asked is None else f" of {fit.asked}"
        yield output.one_line(f"{fit.shape}: {fit.count}{of} fit", "green" if fit.fits else "red")
        if fit.landings:
            yield table(_LANDINGS, fit.landings[:MOST_ROWS])
            if len(fit.landings) > MOST_ROWS:
                yield output.one_line(f"and {len(fit.landings) - MOST_ROWS} more (see -o json)")
        yield from left_out(fit)
    yield from ending(cluster)


def left_out(fit: Fit) -> Iterator[RenderableType]:
    """Yield the nodes on which a pod does not fit, by reason."""
    if fit.left_out:
        count = sum(each.count for each in fit.left_out)
        yield ""
        yield output.one_line(f"It does not fit on {numbers.counted(count, 'node')}:")
        yield table(_REASONS, fit.left_out[:MOST_ROWS])


_TRAPS: Final[Columns[Trap]] = (
    Column("NODE", lambda each: each.node),
    Column("POOL", lambda each: each.pool or "-"),
    Column("STRANDED", lambda each: numbers.amounts(each.stranded)),
    Column("WHY", lambda each: each.text),
    Column("REJECTS", lambda each: breaking.words(numbers.some(each.refused))),
)
_POOLS: Final[Columns[PoolTraps]] = (
    Column("POOL", lambda each: each.pool or "-"),
    Column("NODES", lambda each: numbers.nodes_and_closed(each.nodes, each.closed), right=True),
    Column("TRAPS", lambda each: each.traps, right=True),
    Column("STRANDED", lambda each: numbers.amounts(each.stranded)),
    Column("FREE BY THE SUMS", lambda each: numbers.amounts(each.free)),
)

_SHAPES: Final[Columns[TrapShape]] = (
    Column("SHAPE", lambda each: breaking.words(each.shape)),
    Column("ASKS FOR", lambda each: numbers.amounts(each.amounts)),
    Column("RUN", lambda each: each.running, right=True),
    Column("WAIT", lambda each: each.waiting, right=True),
    Column("REJECTED", lambda each: each.rejected, right=True),
    Column("NODES WITH ROOM", lambda each: each.fitting_nodes, right=True),
    Column("NODES THAT REJECT", lambda each: each.refusing_nodes, right=True),
)
_REFUSALS: Final[Columns[ShapeRefusal]] = (
    Column("NODES", lambda each: each.nodes, right=True),
    Column("WHY THEY REJECT", lambda each: each.text),
    Column("FIRST", lambda each: each.first),
)


def _traps(cluster: Cluster, answer: Traps) -> Iterator[RenderableType]:
    if not cluster.nodes:
        yield output.one_line("No node has enough data for a decision.", "yellow")
    elif not answer.shapes:
        yield output.one_line("No running or pending pod has a shape to test; see --shape.")
    elif not answer.traps and any(each.refused_by for each in answer.shapes):
        text = "No node is a trap, but nodes reject other pods:"
        yield output.one_line(text, "yellow")
    elif not answer.traps:
        yield output.one_line("No node is a trap for these shapes.", "green")
    else:
        count = len(answer.traps)
        nodes = numbers.counted(count, "trap node")
        yield output.one_line(f"{nodes}; stranded: {numbers.amounts(answer.stranded)}", "red")
        # A single shape needs no name, and the row is wide enough without it.
        columns = _TRAPS if len(answer.shapes) > 1 else _TRAPS[:-1]
        yield table(columns, answer.traps[:MOST_ROWS])
        if count > MOST_ROWS:
            yield output.one_line(f"and {count - MOST_ROWS} more (see -o json)")
        yield ""
        yield table(_POOLS, answer.pools)
    yield from _by_shape(answer)
    if answer.kept_away is not None:
        yield from _kept_away(answer.kept_away)
    yield from ending(cluster)


def _by_shape(answer: Traps) -> Iterator[RenderableType]:
    """Yield the shapes that wait, were rejected or would be, and why the waiting ones are."""
    asking = [e for e in answer.shapes if e.waiting or e.rejected or e.refused_by]
    # A single shape that traps are named for is the question itself.
    if not asking or (len(answer.shapes) == 1 and answer.traps):
        return
    urgent = urgent_first(asking)
    yield ""
    yield table(_SHAPES, urgent[:MOST_ROWS])
    if len(urgent) > MOST_ROWS:
        yield output.one_line(f"and {len(urgent) - MOST_ROWS} more (see -o json)")
    waiting = [each for each in urgent if each.refused_by and (each.waiting or each.rejected)]
    for each in waiting[:_MOST_TEXTS]:
        yield ""
        yield output.one_line(f"{each.shape}: {each.standing}")
        yield table(_REFUSALS, each.refused_by[:MOST_ROWS])


def _kept_away(done: KeptAway) -> Iterator[RenderableType]:
    yield ""
    if done.is_dry_run:
        how = "add --yes to do it" if done.can_change else "only a live cluster can be changed"
        yield output.one_line(f"--{done.how} would change ({how}):")
        yield from (output.one_line(f"  {name}") for name in done.nodes or ["nothing"])
    else:
        yield output.one_line(f"--{done.how} changed:")
        yield from (output.one_line(f"  {name}") for name in done.changed or ["nothing"])
    if done.over_the_cap:
        yield output.one_line(f"{len(done.over_the_cap)} more are over the cap (see --at-most).")
    if done.still_used:
        text = "some shape still fits there"
        yield output.one_line(f"Left alone, as {text}: {numbers.some(done.still_used)}")


def _copies(
    cluster: Cluster, name: str, answer: CopiesAnswer, plans: Sequence[MovePlan | None]
) -> Iterator[RenderableType]:
    if answer.asked > 1:
        style = "green" if answer.fit == answer.asked else "yellow"
        text = f"{name}: there is room for {answer.fit} of {answer.asked} copies now"
        yield output.one_line(text, style)
    if not cluster.nodes:
        yield output.one_line(f"{name}: no node has enough data for a decision", "red")
    for each, plan in zip(answer.copies, plans, strict=True):
        of = f"{name}, copy {each.number} of {answer.asked}" if answer.asked > 1 else name
        yield from _free(each.before, of, each.answer, plan)
    left = answer.asked - answer.copies[-1].number
    if left and answer.fit != answer.asked:
        yield output.one_line(f"Not asked about: {left} more")
    yield from ending(cluster)


def _free(
    cluster: Cluster, name: str, answer: FreeAnswer, plan: MovePlan | None
) -> Iterator[RenderableType]:
    best = answer.best
    if not cluster.nodes:
        return
    yield output.one_line(free_words.verdict(name, answer), "red" if best is None else "green")
    if best is not None and best.going:
        yield output.one_line(free_words.proof(answer))
        yield table(_GOING, best.going)
        yield ""
        gets = free_words.gets({} if best.decision is None else best.decision.placements)
        yield output.one_line(f"Then it gets: {gets}")
    if others := free_words.other_nodes(answer):
        yield ""
        yield table(_OTHERS, others.items())
    if plan is not None:
        yield from _plan(plan)


_GOING: Final[Columns[ClusterPod]] = (
    Column("POD", lambda each: str(each.pod)),
    Column("PRIORITY", lambda each: each.pod.priority or 0, right=True),
    Column("CONTROLLER", lambda each: parts.controller_text(each) or "-: nothing recreates it"),
    Column("ASKS FOR", lambda each: numbers.amounts(pod_demand.amounts(each.pod))),
)
_OTHERS: Final[Columns[tuple[str, list[str]]]] = (
    Column("NODES", lambda each: len(each[1]), right=True),
    Column("OTHERS", lambda each: each[0]),
    Column("FIRST", lambda each: each[1][0] or "-"),
)


_STEPS: Final[Columns[tuple[int, Step]]] = (
    Column("STEP", lambda each: each[0], right=True),
    Column("DO", lambda each: free_words.of_step(each[1])[0]),
    Column("POD", lambda each: str(each[1].pod.pod)),
    Column("NODE", lambda each: each[1].node_name),
    Column("GETS", lambda each: free_words.of_step(each[1])[1]),
)


def _plan(plan: MovePlan) -> Iterator[RenderableType]:
    yield ""
    yield output.one_line("Plan, each step admitted in this order; nothing is carried out:")
    yield table(_STEPS, enumerate(plan.steps, 1))
    if homeless := free_words.homeless(plan):
        yield output.one_line(homeless, "yellow")
