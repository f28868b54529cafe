"""A matrix as JSON, as CSV, or as a table of 80 columns.

Columns of the table with the same value in every row are shown once above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from numalet.cli import output
from numalet.cli.breaking import Breakable
from numalet.cli.output import RowsFormat
from numalet.cli.tables import Column, Columns, table
from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import StartStage
from numalet.core.model import grammar, resources
from numalet.insight.explain import matrix
from numalet.insight.explain.matrix import Matrix, VariantDocument, VariantRow
from numalet.wording import explanations, kubelet_start, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_NAMES: Final = ("machine", "config", "policy", "scope", "options", "mode", "release")
_MOST_NODES: Final = 4
_MOST_REJECTED: Final = 20


def show(rows: Sequence[VariantRow], seed: int, chosen: RowsFormat) -> None:
    match chosen:
        case RowsFormat.TABLE:
            output.print_all(_tables(rows))
        case RowsFormat.CSV:
            output.print_rows(matrix.table(row.document for row in rows))
        case _:
            document = Matrix("numalet.what-if/1", seed, [row.document for row in rows])
            output.print_document(document, chosen)


def _tables(rows: Sequence[VariantRow]) -> Iterator[RenderableType]:
    from rich.text import Text

    named = [_names(row.document) for row in rows]
    differing = _differing(rows)
    yield from _replay_refused(rows, differing)
    for at, name in enumerate(_NAMES):
        if at not in differing and named[0][at]:
            yield Text(output.printable(f"{name}: {named[0][at]}"))
    runs = max(len(row.document.runs) for row in rows)
    orders = f", {runs} orders: fewest-median-most" if runs > 1 else ""
    yield Text(f"pods: {rows[0].document.pods}{orders}")
    yield Text("")
    yield table([*map(_name_column, differing), *_FIGURES], rows)
    yield from _rejected(rows)
    yield from _refusals(rows)


def _replay_refused(
    rows: Sequence[VariantRow], differing: Sequence[int]
) -> Iterator[RenderableType]:
    """Yield first the pods that run on the user's node and are rejected by some variants."""
    from rich.text import Text

    by_pod: dict[str, list[VariantRow]] = {}
    started = [row for row in rows if row.refused is None]
    for row in started:
        for each in row.document.runs[0].replay_refused:
            by_pod.setdefault(each.pod, []).append(row)
    refused = [(pod, _by(by, started, differing)) for pod, by in by_pod.items()]
    if refused:
        for line in explanations.variants_refuse(refused):
            yield Text(output.printable(line), style="yellow")
        yield Text("")


def _by(
    those: Sequence[VariantRow], started: Sequence[VariantRow], differing: Sequence[int]
) -> str:
    # Naming every variant would say less.
    if len(those) == len(started):
        return "by all"
    return "; ".join(_called(row, differing) for row in those)


def _names(row: VariantDocument) -> tuple[str, ...]:
    shown = "" if row.options is None else matrix.option_text(row.options) or "none"
    scope = "-" if row.policy == "none" else row.scope
    # Exact mode is the default, so show it only if the column also has native mode.
    mode_name = "" if row.mode is Mode.EXACT else row.mode.value
    return row.machine, row.config, row.policy, scope, shown, mode_name, row.release


def _name_column(at: int) -> Column[VariantRow]:
    from rich.text import Text

    def cell(row: VariantRow) -> Breakable | str:
        text = output.printable(_names(row.document)[at])
        # Policies and options are long words; the name of a machine or of a file stays whole.
        return text if at < _NAMES.index("policy") else Breakable(Text(text), "-=,")

    return Column(_NAMES[at].upper(), cell)


def _admitted(row: VariantRow) -> str:
    if row.refused is not None:
        return "undecided" if row.refused.is_undecided else "no start"
    fewest, middle, most = row.document.admitted
    return str(most) if len(row.document.runs) == 1 else f"{fewest}-{middle:g}-{most}"


def _mean(row: VariantRow, mean: float | None, digits: int) -> str:
    if row.refused is not None:
        return ""
    return "-" if mean is None else f"{mean:.{digits}f}"


def _stranded(row: VariantDocument) -> str:
    """Return memory and CPUs by node; sums if the nodes are many."""
    memory, cpus = row.stranded_bytes(resources.MEMORY), row.stranded_cpus()
    parts = {
        f"{node_id}": [
            *([numbers.size(round(memory[node_id]))] if memory[node_id] else []),
            *([grammar.singular(f"{cpus[node_id]:.3g} CPUs")] if cpus[node_id] else []),
        ]
        for node_id in memory
    }
    stranded = {name: texts for name, texts in parts.items() if texts}
    if not stranded:
        return "-"
    if len(stranded) <= _MOST_NODES:
        return "\n".join(f"{name}: {' '.join(texts)}" for name, texts in stranded.items())
    sums = [
        numbers.size(round(sum(memory.values()))),
        grammar.singular(f"{sum(cpus.values()):.4g} CPUs"),
    ]
    return f"{len(stranded)} nodes: {' '.join(sums)}"


_FIGURES: Final[Columns[VariantRow]] = (
    Column("ADMITTED", _admitted, right=True, whole=True),
    Column(
        "GROUPS", lambda row: "" if row.refused else f"{row.document.groups:.3g}", True, whole=True
    ),
    Column("SPAN", lambda row: _mean(row, row.document.mean_span, 2), right=True, whole=True),
    Column(
        "DISTANCE", lambda row: _mean(row, row.document.mean_distance, 1), right=True, whole=True
    ),
    Column("STRANDED", lambda row: "" if row.refused else _stranded(row.document)),
)


def _rejected(rows: Sequence[VariantRow]) -> Iterator[RenderableType]:
    """Yield rejected pods and their reasons: each pod once, with the variants."""
    from rich.text import Text

    started = [row for row in rows if row.refused is None]
    by_pod: dict[tuple[str, str, str], list[VariantRow]] = {}
    for row in started:
        for each in row.document.runs[0].rejected:
            key = each.pod, each.reason, each.cause or each.message
            by_pod.setdefault(key, []).append(row)
    if by_pod:
        yield Text("")
        yield Text("Rejected" + (" in the given order:" if len(rows[0].document.runs) > 1 else ":"))
    differing = _differing(rows)
    for (name, reason, why), by in list(by_pod.items())[:_MOST_REJECTED]:
        where = _by(by, started, differing)
        yield Text(output.printable(f"  {name}: {reason} ({where})"))
        yield Text(output.printable(f"    {why}"), style="dim")
    if len(by_pod) > _MOST_REJECTED:
        yield Text(f"  and {len(by_pod) - _MOST_REJECTED} more (see -o json)")


def _called(row: VariantRow, differing: Sequence[int]) -> str:
    """Return the differences of the variant from the others."""
    names = _names(row.document)
    return " ".join(names[at] for at in differing if names[at] not in ("", "-"))


def _differing(rows: Sequence[VariantRow]) -> list[int]:
    named = [_names(row.document) for row in rows]
    return [at for at in range(len(_NAMES)) if len({names[at] for names in named}) > 1]


def _refusals(rows: Sequence[VariantRow]) -> Iterator[RenderableType]:
    from rich.text import Text

    texts: dict[tuple[str, str], list[str]] = {}
    places: dict[str, list[str]] = {}
    for row in rows:
        if row.refused is not None:
            names = " ".join(filter(None, _names(row.document)))
            what = "Undecided" if row.refused.is_undecided else "The kubelet would not start"
            text = kubelet_start.text(row.refused)
            texts.setdefault((what, text), []).append(names)
            if row.refused.stage is StartStage.FLAGS:
                places[text] = [each.located for each in row.refused.findings]
    for (what, text), variants in texts.items():
        yield Text("")
        yield Text(output.printable(f"{what} ({'; '.join(variants)}):"))
        for line in (text, *places.get(text, ())):
            yield Text(output.printable(f"  {line}"), style="dim")
