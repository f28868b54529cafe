"""A matrix as rows of figures, for a DataFrame and for ``numalet what-if -o csv``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from numalet.core.model import resources
from numalet.insight.explain.matrix import VariantRow
from numalet.wording import kubelet, kubelet_start

COLUMNS: Final = (
    "machine",
    "config",
    "policy",
    "scope",
    "options",
    "pods",
    "orders",
    "admitted_given_order",
    "admitted_min",
    "admitted_median",
    "admitted_max",
    "groups",
    "mean_span",
    "mean_distance",
    "stranded_memory_bytes",
    "stranded_memory_bytes_by_node",
    "stranded_cpus",
    "stranded_cpus_by_node",
    "start_error",
    "mode",
    "rejected_given_order",
    "release",
)


def figures(row: VariantRow) -> dict[str, Any]:
    """Return a row as numbers; missing figures have no value."""
    variant = row.variant
    cells: dict[str, Any] = dict.fromkeys(COLUMNS) | {
        "machine": variant.machine.name,
        "config": variant.config.name,
        "mode": variant.config.behaviour.mode.value,
        "release": variant.config.behaviour.release.name,
        "policy": variant.policy,
        "scope": variant.scope,
        "options": "" if variant.options is None else option_text(variant.options),
        "pods": row.pods,
    }
    if row.refused is not None:
        return cells | {"start_error": kubelet_start.text(row.refused)}
    fewest, middle, most = row.admitted
    memory, cpus = row.stranded_bytes(resources.MEMORY), row.stranded_cpus()
    return cells | {
        "orders": len(row.runs),
        "admitted_given_order": row.runs[0].admitted,
        "admitted_min": fewest,
        "admitted_median": middle,
        "admitted_max": most,
        "groups": row.groups,
        "mean_span": row.mean_span,
        "mean_distance": row.mean_distance,
        "stranded_memory_bytes": round(sum(memory.values())),
        "stranded_memory_bytes_by_node": {node: round(size) for node, size in memory.items()},
        "stranded_cpus": sum(cpus.values()),
        "stranded_cpus_by_node": cpus,
        "rejected_given_order": {
            str(pod): kubelet.reason(rejection) for pod, rejection in row.runs[0].rejected
        },
    }


def table(rows: Iterable[VariantRow]) -> list[Sequence[str]]:
    """Return the CSV rows, the heading first; missing figures are empty texts."""
    return [COLUMNS, *(_cells(row) for row in rows)]


def _cells(row: VariantRow) -> Sequence[str]:
    return [_cell(figure) for figure in figures(row).values()]


def _cell(figure: object) -> str:
    match figure:
        case None:
            return ""
        case float():
            return f"{figure:.6g}"
        case dict():
            return ";".join(f"{key}={_exact(each)}" for key, each in figure.items())
        case _:
            return str(figure)


def _exact(figure: object) -> str:
    return f"{figure:.16g}" if isinstance(figure, float) else str(figure)


def option_text(options: Sequence[tuple[str, str]]) -> str:
    return ",".join(f"{name}={value}" for name, value in options)
