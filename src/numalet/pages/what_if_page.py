"""The page of a comparison: admitted pods and stranded resources of each variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from numalet.core.model import cpu_set, resources
from numalet.drawing import charts
from numalet.drawing.charts import BarPart, BarRow, Unit
from numalet.insight.explain import matrix
from numalet.insight.explain.matrix import VariantDocument
from numalet.pages import templating
from numalet.pages.templating import PageOrigin, TextTable
from numalet.wording import numbers

_CHART_PX: Final = 960
_ALWAYS: Final = 2
"""A variant is always named by policy and scope."""


def body(rows: Sequence[VariantDocument], origin: PageOrigin) -> Any:
    return templating.part(
        "bodies/what_if.html",
        origin=origin,
        lead=f"{numbers.counted(rows[0].pods, 'pod')} on {numbers.counted(len(rows), 'variant')}",
        charts=[templating.trusted(each) for each in drawn(rows)],
        figures=figures_table([matrix.figures(row) for row in rows]),
        rejected=rejected_table(rows),
    )


def drawn(rows: Sequence[VariantDocument]) -> list[str]:
    """Return charts: admitted pods by variant, and stranded resources by NUMA node."""
    # A variant that does not start has no figures; the table gives the reason.
    started = [row for row in rows if row.runs]
    labels = _labels(started)
    admitted = [
        BarRow(
            label=label,
            parts=(BarPart("admitted", row.admitted[1]),),
            whole=row.pods,
            note=f"{row.admitted[1]:g} of {row.pods}",
        )
        for label, row in zip(labels, started, strict=True)
    ]
    memory = [row.stranded_bytes(resources.MEMORY) for row in started]
    cpus = [row.stranded_cpus() for row in started]
    title = "Admitted pods" if len(rows[0].runs) < 2 else "Admitted pods, median of all orders"
    wanted = (
        (title, admitted, Unit.COUNT),
        ("Stranded memory by NUMA node", _by_node(labels, memory), Unit.BYTES),
        ("Stranded CPUs by NUMA node", _by_node(labels, cpus), Unit.COUNT),
    )
    return [
        charts.bars(heading, bars, unit, width_px=_CHART_PX)
        for heading, bars, unit in wanted
        if bars
    ]


def _labels(rows: Sequence[VariantDocument]) -> list[str]:
    """Name the variants by policy, scope, and all fields that differ between them."""
    named = [_names(row) for row in rows]
    differs = [len(set(each)) > 1 for each in zip(*named, strict=True)]
    return [
        " ".join(name for at, name in enumerate(names) if name and (at < _ALWAYS or differs[at]))
        for names in named
    ]


def _names(row: VariantDocument) -> tuple[str, ...]:
    options = matrix.option_text(row.options or {})
    return row.policy, row.scope, options, row.machine, row.config, row.release


def _by_node(labels: Sequence[str], figures: Sequence[Mapping[int, float]]) -> list[BarRow]:
    """Return a bar for each variant with stranded resources, with a part for each NUMA node.

    What is stranded is free, so the parts are empty.
    """
    return [
        BarRow(
            label=label,
            parts=tuple(
                BarPart(f"NUMA node {node_id}", value, "free", f"{node_id}")
                for node_id, value in by_node.items()
                if value
            ),
        )
        for label, by_node in zip(labels, figures, strict=True)
        if any(by_node.values())
    ]


def figures_table(rows: Sequence[dict[str, Any]]) -> TextTable:
    """Return a row of texts for each row of figures (``matrix.figures``)."""
    return TextTable(
        "Variants",
        (
            *("Number", "Machine", "Configuration", "Release", "Policy", "Scope", "Options"),
            *("Admitted", "Groups", "Span", "Distance", "Stranded memory", "Stranded CPUs"),
            "Does not start",
        ),
        tuple((str(number), *_cells(row)) for number, row in enumerate(rows, 1)),
    )


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    named = tuple(
        str(row[name]) for name in ("machine", "config", "release", "policy", "scope", "options")
    )
    if row["start_error"] is not None:
        return (*named, "", "", "", "", "", "", row["start_error"])
    admitted = str(row["admitted_max"])
    if row["orders"] > 1:
        admitted = f"{row['admitted_min']}-{row['admitted_median']:g}-{row['admitted_max']}"
    memory: dict[int, int] = row["stranded_memory_bytes_by_node"]
    cpus: dict[int, float] = row["stranded_cpus_by_node"]
    return (
        *named,
        f"{admitted} of {row['pods']}",
        f"{row['groups']:.3g}",
        "" if row["mean_span"] is None else f"{row['mean_span']:.2f}",
        "" if row["mean_distance"] is None else f"{row['mean_distance']:.1f}",
        ", ".join(f"{node}: {numbers.rounded_size(each)}" for node, each in memory.items() if each),
        ", ".join(f"{node}: {each:.3g}" for node, each in cpus.items() if each),
        "",
    )


def rejected_table(rows: Sequence[VariantDocument]) -> TextTable:
    """Return pods rejected in the given order, each reason once, with the variants' numbers."""
    variants: dict[tuple[str, str, str, str], list[int]] = {}
    for number, row in enumerate(rows, 1):
        for each in row.runs[0].rejected if row.runs else ():
            key = each.pod, each.cause or "", each.reason, each.message
            variants.setdefault(key, []).append(number)
    return TextTable(
        "Rejected in the given order",
        ("Pod", "Why", "Reason", "Message", "By variants"),
        tuple(
            (*key, f"{len(by)} of {len(rows)}: {cpu_set.text(by).replace(',', ', ')}")
            for key, by in variants.items()
        ),
    )
