"""Answers about a fleet in tables: copies that fit, traps, pods to evict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from numalet.cli import output
from numalet.core.cluster.cluster import Cluster, Origin
from numalet.core.snapshot.placement import Placement
from numalet.insight.fleet import victims as holding
from numalet.insight.fleet.fit import Fit
from numalet.insight.fleet.free import FreeAnswer, NodeAnswer, Outcome, Proof
from numalet.insight.fleet.free_copies import CopiesAnswer
from numalet.insight.fleet.moves import AdmissionStep, MovePlan
from numalet.insight.fleet.traps import Traps
from numalet.insight.output.fleet_fit_document import KeptAwayDocument
from numalet.insight.output.fleet_free_document import controller_text
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

MOST_ROWS: Final = 40
"""Limit of rows in a table; -o json prints all."""
_MOST_TEXTS: Final = 5
_ORIGINS: Final[Mapping[Origin, str]] = {
    Origin.PUBLISHED: "published",
    Origin.REBUILT: "rebuilt from their pods",
    Origin.DESCRIBED: "described",
}


def fits(cluster: Cluster, names: Sequence[str], answers: Sequence[Fit]) -> None:
    """Print the places of copies, and why they do not fit elsewhere."""
    output.print_all(_fits(cluster, names, answers))


def traps(
    cluster: Cluster, answer: Traps, names: Sequence[str], kept_away: KeptAwayDocument | None
) -> None:
    """Print traps, their cost and the measures; ``names`` are those of the shapes."""
    output.print_all(_traps(cluster, answer, names, kept_away))


def free(
    cluster: Cluster, name: str, answer: CopiesAnswer, plans: Sequence[MovePlan | None]
) -> None:
    """Print the pods to evict by copy and node, and new places for them."""
    output.print_all(_copies(cluster, name, answer, plans))


def table(*columns: str) -> Table:
    """Return a table without lines or outer padding; numbers are right-aligned."""
    from rich.table import Table

    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        drawn.add_column(name.removeprefix("#"), justify="right" if name[:1] == "#" else "left")
    return drawn


def origins(cluster: Cluster) -> str:
    parts = [f"{count} {_ORIGINS[origin]}" for origin, count in cluster.origins().items()]
    if cluster.undecided:
        parts.append(f"{len(cluster.undecided)} undecided")
    return f"Nodes: {', '.join(parts) or 'none'}."


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


def _fits(
    cluster: Cluster, names: Sequence[str], answers: Sequence[Fit]
) -> Iterator[RenderableType]:
    for at, (name, fit) in enumerate(zip(names, answers, strict=True)):
        if at:
            yield ""
        of = "" if fit.asked is None else f" of {fit.asked}"
        yield output.one_line(f"{name}: {fit.count}{of} fit", "green" if fit.fits else "red")
        if fit.landings:
            landings = table("#COPY", "NODE", "NUMA NODES", "DEVICES", "CPUS", "MEMORY")
            for each in fit.landings[:MOST_ROWS]:
                landings.add_row(
                    str(each.number),
                    output.printable(each.node),
                    ",".join(map(str, each.numa_nodes)) or "-",
                    *held(each.placements),
                )
            yield landings
            if len(fit.landings) > MOST_ROWS:
                yield output.one_line(f"and {len(fit.landings) - MOST_ROWS} more (see -o json)")
        if fit.left_out:
            count = sum(len(each.nodes) for each in fit.left_out)
            yield ""
            yield output.one_line(f"It does not fit on {numbers.counted(count, 'node')}:")
            reasons = table("#NODES", "REASON", "FIRST")
            for group in fit.left_out[:MOST_ROWS]:
                reasons.add_row(
                    str(len(group.nodes)),
                    output.printable(group.text),
                    output.printable(group.nodes[0]),
                )
            yield reasons
    yield from ending(cluster)


def held(placements: Mapping[str, Placement]) -> tuple[str, str, str]:
    """Return devices, CPUs and memory of all containers together."""
    words = holding.held(placements)
    return output.printable(words.devices), words.cpus, words.memory


def _gets(placements: Mapping[str, Placement]) -> str:
    devices, cpus, memory = held(placements)
    parts = (devices, f"CPUs {cpus}" if cpus != "-" else "-", memory)
    return "; ".join(each for each in parts if each != "-") or "only shared resources"


def _traps(
    cluster: Cluster, answer: Traps, names: Sequence[str], kept_away: KeptAwayDocument | None
) -> Iterator[RenderableType]:
    if not cluster.nodes:
        yield output.one_line("No node has enough data for a decision.", "yellow")
    elif not answer.shapes:
        yield output.one_line("No running or pending pod has a shape to test; see --shape.")
    elif not answer.traps:
        yield output.one_line("No node is a trap for these shapes.", "green")
    else:
        count = len(answer.traps)
        nodes = numbers.counted(count, "trap node")
        yield output.one_line(f"{nodes}; stranded: {numbers.amounts(answer.stranded)}", "red")
        # A single shape needs no name, and the row is wide enough without it.
        several = len(answer.shapes) > 1
        rows = table("NODE", "POOL", "STRANDED", "WHY", *(["REFUSED"] if several else []))
        for each in answer.traps[:MOST_ROWS]:
            refused = some(names[one.shape] for one in each.refused)
            rows.add_row(
                output.printable(each.node),
                output.printable(each.pool) or "-",
                numbers.amounts(each.stranded),
                output.printable(each.text),
                *([output.printable(refused)] if several else []),
            )
        yield rows
        if count > MOST_ROWS:
            yield output.one_line(f"and {count - MOST_ROWS} more (see -o json)")
        yield ""
        pools = table("POOL", "#NODES", "#TRAPS", "STRANDED", "FREE BY THE SUMS")
        for pool in answer.pools:
            pools.add_row(
                output.printable(pool.pool) or "-",
                numbers.nodes_and_closed(pool.nodes, pool.closed),
                str(pool.traps),
                numbers.amounts(pool.stranded),
                numbers.amounts(pool.free),
            )
        yield pools
    if kept_away is not None:
        yield from _kept_away(kept_away)
    yield from ending(cluster)


def _kept_away(done: KeptAwayDocument) -> Iterator[RenderableType]:
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
        yield output.one_line(f"Left alone, as {text}: {some(done.still_used)}")


def some(names: Iterable[str]) -> str:
    """Return the first names, and the number of others."""
    every = list(names)
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")


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
    best, never = answer.best, answer.never
    if not cluster.nodes:
        return
    if best is None and never:
        yield output.one_line(f"{name}: never fits: {never}", "red")
    elif best is None:
        yield output.one_line(f"{name}: no set of pods that may go makes room", "red")
    elif not best.going:
        yield output.one_line(f"{name}: there is room on {best.name}; nothing must go", "green")
    else:
        pods = numbers.counted(len(best.going), "pod")
        yield output.one_line(f"{name}: {pods} must go on {best.name}", "green")
        # Either the search proved it as a whole, or it did so on each node.
        if answer.is_proved or (
            best.proof is Proof.SMALLEST
            and all(each.proof is Proof.SMALLEST for each in answer.nodes)
        ):
            yield output.one_line("Proved smallest: every smaller set was ruled out.")
        else:
            yield output.one_line("Not proved smallest: the search was bounded (see --most-sets).")
        yield _going(best)
        yield ""
        gets = _gets({} if best.decision is None else best.decision.placements)
        yield output.one_line(f"Then it gets: {gets}")
    yield from _other_nodes(answer)
    if plan is not None:
        yield from _plan(plan)


def _going(best: NodeAnswer) -> Table:
    rows = table("POD", "#PRIORITY", "CONTROLLER", "ASKS FOR")
    from numalet.core.model import pod_demand

    for each in best.going:
        rows.add_row(
            output.printable(str(each.pod)),
            str(each.pod.priority or 0),
            output.printable(controller_text(each)) or "-: nothing recreates it",
            numbers.amounts(pod_demand.amounts(each.pod)),
        )
    return rows


def _other_nodes(answer: FreeAnswer) -> Iterator[RenderableType]:
    others = answer.nodes[1 if answer.best is not None else 0 :]
    counts: dict[str, list[str]] = {}
    for each in others:
        counts.setdefault(_of_node(each), []).append(each.name)
    if answer.not_eligible:
        counts["the scheduler would not send it there: 'numalet fleet fit' says why"] = [
            ""
        ] * answer.not_eligible
    if counts:
        yield ""
        rows = table("#NODES", "OTHERS", "FIRST")
        for text, names in counts.items():
            rows.add_row(str(len(names)), text, output.printable(names[0]) or "-")
        yield rows


def _of_node(answer: NodeAnswer) -> str:
    kept = sorted({why.value for why in answer.kept.values()})
    because = f" (kept: {', '.join(kept)})" if kept else ""
    match answer.outcome:
        case Outcome.MAKES_ROOM:
            pods = numbers.counted(len(answer.going), "pod")
            proof = "" if answer.proof is Proof.SMALLEST else ", not proved smallest"
            return f"{pods} must go{proof}"
        case Outcome.LARGER:
            return "more must go"
        case Outcome.NO_SET if answer.never:
            return f"never fits: {answer.never}"
        case Outcome.NO_SET:
            return f"nothing that may go makes room{because}"
        case Outcome.UNDECIDED:
            return f"not decided: the search was bounded{because}"


def _plan(plan: MovePlan) -> Iterator[RenderableType]:
    yield ""
    yield output.one_line("Plan, each step admitted in this order; nothing is carried out:")
    rows = table("#STEP", "DO", "POD", "NODE", "GETS")
    for number, each in enumerate(plan.steps, 1):
        gets = _gets(each.decision.placements) if isinstance(each, AdmissionStep) else ""
        rows.add_row(
            str(number),
            "admit" if isinstance(each, AdmissionStep) else "evict",
            output.printable(str(each.pod.pod)),
            output.printable(each.node_name),
            gets,
        )
    yield rows
    if plan.homeless:
        names = some(str(each.pod) for each in plan.homeless)
        bounded = " (the search was bounded)" if plan.is_bounded else ""
        yield output.one_line(f"No node admits, before or after{bounded}: {names}", "yellow")
