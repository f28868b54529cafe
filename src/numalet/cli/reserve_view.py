"""A reservation on the terminal: the nodes, the calculation, and lines to paste."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from numalet.cli import output
from numalet.cli.tables import Column, Columns, table
from numalet.core.model import resources
from numalet.wording import kubelet_start, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

    from numalet.core.config.releases.release import Release
    from numalet.core.config.reservation import NodeShare
    from numalet.core.config.rules import StartRefused
    from numalet.insight.usecases.reserving import ChangedFile, Plan

_FLAG: Final = "--reserved-memory="
_UNITS: Final = (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10), ("", 1))
_MOST_NAMES: Final = 2


def print_plan(plan: Plan) -> None:
    """Print everything for people. Lines to paste are never wrapped."""
    from numalet.insight.usecases import reserving

    output.print_all(_drawn(plan))
    output.print_text(f"\nAs a flag:\n\n{_FLAG}'{reserving.flag_value(plan.entries)}'\n")
    output.print_text("\nIn the KubeletConfiguration:\n\n")
    print_yaml(plan)


def print_flag(plan: Plan) -> None:
    """Print the flag alone, as one word without quotes: for ``$(...)``."""
    from numalet.insight.usecases import reserving

    output.print_text(f"{_FLAG}{reserving.flag_value(plan.entries)}\n")


def print_yaml(plan: Plan) -> None:
    lines = ["reservedMemory:"]
    for entry in plan.entries:
        lines += [f"- numaNode: {entry.numa_node}", "  limits:"]
        for name, each in entry.limits.items():
            amount = str(each)
            quoted = f'"{amount}"' if amount.isdigit() else amount
            lines.append(f"    {name}: {quoted}")
    output.print_text("\n".join(lines) + "\n")


def print_json(plan: Plan, written: ChangedFile | None) -> None:
    """Print the document that ``numalet.reserve/1`` describes."""
    from numalet.insight.output import reserve_document

    output.print_document(reserve_document.of(plan, written), output.OutputFormat.JSON)


def say_written(written: ChangedFile) -> None:
    """Print the changed file, and the backup of its former content."""
    if written.backup is None:
        output.say(f"{written.path}: nothing to change")
    else:
        output.say(f"written: {written.path} (before: {written.backup})")


def say_refused(refused: StartRefused, release: Release) -> None:
    """Print why the kubelet of a release would not start, although the memory adds up."""
    text = kubelet_start.complaint(f"the kubelet v{release.name}", refused)
    output.say(f"error: {text.replace('would not', 'would still not', 1)}")
    output.show_findings((*refused.findings, *refused.further))


def _drawn(plan: Plan) -> Iterator[RenderableType]:
    from rich.text import Text

    yield table(_COLUMNS, plan.shares)
    yield ""
    yield Text("Why it adds up:")
    for line in sums(plan):
        yield Text(f"  {line}")


def _size(size_bytes: int) -> str:
    return numbers.size(size_bytes) if size_bytes else "-"


_COLUMNS: Final[Columns[NodeShare]] = (
    Column("NODE", lambda each: each.numa_node, right=True),
    Column("MEMORY", lambda each: _size(each.memory_bytes), right=True, whole=True),
    Column("HUGE PAGES", lambda each: _size(each.hugepages_bytes), right=True, whole=True),
    Column("RESERVED", lambda each: _size(each.reserved_bytes), right=True, whole=True),
    Column("LEFT FOR PODS", lambda each: _size(each.left_bytes), right=True, whole=True),
    Column("", lambda each: "" if each.has_cpus else "no CPUs", whole=True),
)


def sums(plan: Plan) -> Iterator[str]:
    """Yield the equation in words, in the units of its parts, in one unit, and as two numbers."""
    parts = plan.parts
    given = (parts.kube_reserved, parts.system_reserved, parts.eviction)
    kept = {
        entry.numa_node: entry.limits[resources.MEMORY]
        for entry in plan.entries
        if resources.MEMORY in entry.limits
    }
    nodes, names = list(kept.values()), [f"node {numa_node}" for numa_node in kept]
    if len(names) > _MOST_NAMES:
        names = [f"sum over {len(names)} nodes"]
    yield _equation(["kubeReserved", "systemReserved", _eviction(plan)], names)
    yield _equation(list(map(str, given)), list(map(str, nodes)))
    left, right = [each.value for each in given], [each.value for each in nodes]
    unit, size = _common_unit([*left, *right])
    scaled = [[f"{each // size}{unit}" for each in side] for side in (left, right)]
    yield _equation(scaled[0], scaled[1])
    yield f"{sum(left) // size}{unit} = {sum(right) // size}{unit}"


def _equation(left: Sequence[str], right: Sequence[str]) -> str:
    return f"{' + '.join(left)} = {' + '.join(right)}"


def _eviction(plan: Plan) -> str:
    if plan.is_default_threshold:
        return "evictionHard (default)"
    percent = f" ({plan.threshold})" if plan.threshold.endswith("%") else ""
    return f"evictionHard{percent}"


def _common_unit(sizes: Sequence[int]) -> tuple[str, int]:
    """Return the largest unit that divides all sizes."""
    return next((name, size) for name, size in _UNITS if not any(each % size for each in sizes))
