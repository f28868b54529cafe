"""State files drawn for a terminal: node map, reports, differences, the result of a restore.

Texts from the files are never read as markup; their control characters are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.padding import Padding
from rich.text import Text

from numalet.cli import breaking, node_tables, output
from numalet.cli.tables import Column, Columns, grouped, table
from numalet.core.config.rules import CpuPolicy
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, Severity
from numalet.insight.maps.resource_maps import TypeDocument
from numalet.insight.state import verify
from numalet.insight.state.holder_map import GroupRow, HeldMemory, HolderRow, StateMap
from numalet.insight.state.reading import Seal
from numalet.insight.state.rebase import Rebased
from numalet.insight.state.restart_check import RestartAnswer, RestoreCheck
from numalet.insight.state.state_diff import StateDifference
from numalet.insight.state.verify import FileReport, Soundness
from numalet.insight.usecases.state_doctor import ReplacedStateFile
from numalet.wording import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

_MOST_NODES: Final = 8
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}
_SOUNDNESS: Final = {
    Soundness.SOUND: ("sound", "green"),
    Soundness.DOUBTFUL: ("doubtful", "yellow"),
    Soundness.BROKEN: ("broken", "red"),
}
_SEALS: Final = {
    Seal.SOUND: "checksum right",
    Seal.FIRST_FORMAT: "first format, checksum right",
    Seal.UNSEALED: "no checksum",
    Seal.EARLY_LAYOUT: "early layout, checksum right by its rule",
    Seal.WRONG: "checksum wrong",
}
_ANSWERS: Final = {
    RestartAnswer.ACCEPTED: ("The kubelet starts with these files.", "green"),
    RestartAnswer.BY_CHANCE: ("The kubelet starts with these files by chance only.", "yellow"),
    RestartAnswer.REFUSED: ("The kubelet does not start with these files.", "red"),
    RestartAnswer.NOT_ASKED: (
        "The kubelet does not start with this configuration, whatever the files say.",
        "red",
    ),
}


def _text(text: str, style: str = "") -> Text:
    return Text(output.printable(text), style=style)


def chart(state: StateMap) -> Iterator[RenderableType]:
    """Yield the groups with their sums and nodes, the pool, the devices, and the holders."""
    policies = ", ".join(f"{name} {policy}" for name, policy in state.policies.items())
    yield _text(f"policies: {policies or 'not known'}")
    for row in state.groups:
        yield Text("")
        yield from _group(row)
    if any(row.types for row in state.groups):
        yield Padding(output.legend_of_bars(), (0, 0, 0, 2))
    if state.default_cpu_set or state.policies.get("cpu") == CpuPolicy.STATIC.value:
        yield Text("")
        yield Text.assemble(("Shared pool", "bold"), f"  CPUs {state.default_cpu_set or 'none'}")
    for resource, ids in state.registered_devices.items():
        yield _text(f"{resource}: {', '.join(ids) or 'none'} healthy when the file was written")
    yield Text("")
    yield table(_HOLDERS, state.holders) if state.holders else Text("No container holds anything.")
    if any(row.stale for row in state.holders):
        yield Text("")
        yield _text("stale: the pod is deleted or finished; the next admission frees its resources")


def _group(row: GroupRow) -> Iterator[RenderableType]:
    # A block may lack nodes.
    several = len(row.numa_nodes) != 1
    title = (
        f"NUMA nodes {{{_nodes(row.numa_nodes)}}}" if several else f"NUMA node {row.numa_nodes[0]}"
    )
    count = numbers.counted(len(row.containers), "container")
    yield Text.assemble((title, "bold"), f"  {'one group, ' if several else ''}{count}")
    if not row.types:
        yield Text("  no node is in this group, though memory on exactly these nodes is held")
        return
    rows = [(each.resource, "", each) for each in row.types]
    if several:
        rows += [
            (f"  node {node.node_id}: {each.resource}", "dim", each)
            for node in row.nodes
            for each in node.types
        ]
    yield Padding(table(_SIZES, rows), (0, 0, 0, 2))


_SizesRow: TypeAlias = tuple[str, str, TypeDocument]
"""A name, a style, and the sizes."""
_SIZES: Final[Columns[_SizesRow]] = (
    Column("TYPE", lambda each: _text(*each[:2])),
    Column("", lambda each: "" if each[1] else node_tables.bar(each[2]), whole=True),
    Column("FREE", lambda each: _size(each, each[2].free_bytes), right=True, whole=True),
    Column("USED", lambda each: _size(each, each[2].reserved_bytes), right=True, whole=True),
    Column("ALLOCATABLE", lambda each: _size(each, each[2].allocatable_bytes), True, whole=True),
)


def _size(row: _SizesRow, size_bytes: int) -> Text:
    return Text(numbers.size(size_bytes), row[1])


_HOLDERS: Final[Columns[HolderRow]] = (
    Column(
        "CONTAINER",
        lambda row: breaking.name(
            output.printable(f"{row.name}/{row.container}{' (stale)' * row.stale}")
        ),
    ),
    Column("MEMORY", lambda row: _text("\n".join(map(_part, row.memory)) or "-")),
    Column("CPUS", lambda row: row.cpus or "-"),
    Column(
        "DEVICES",
        lambda row: _text("\n".join(f"{name} {ids}" for name, ids in row.devices.items()) or "-"),
    ),
)


def _part(part: HeldMemory) -> str:
    name = "" if part.type == "memory" else f" {part.type}"
    return f"{numbers.size(part.size)}{name} on {{{_nodes(part.numa_nodes)}}}"


def _nodes(node_ids: Sequence[int]) -> str:
    if len(node_ids) > _MOST_NODES:
        return cpu_set.text(node_ids)
    return ",".join(map(str, node_ids))


def reports(files: Sequence[FileReport]) -> Iterator[RenderableType]:
    for report in files:
        word, colour = _SOUNDNESS[report.soundness]
        about = [] if report.policy_name is None else [f"policy {report.policy_name!r}"]
        about += [] if report.seal is None else [_SEALS[report.seal]]
        line = Text.assemble((report.name, "bold"), ": ", (word, colour))
        line.append(output.printable("".join(f", {each}" for each in about)))
        yield line
        for finding in report.findings:
            yield from _finding(finding)


def _finding(finding: Finding) -> Iterator[RenderableType]:
    line = Text(f"{finding.severity.value}: ", style=_COLOURS[finding.severity])
    where = f"{finding.where.path}: " if finding.where.path else ""
    line.append(output.printable(f"{where}{finding!s}"), style="default")
    yield Padding(line, (0, 0, 0, 2))
    yield Padding(Text(f"rule: {verify.rule(finding)}", "dim"), (0, 0, 0, 4))


def differences(
    changes: Sequence[StateDifference], has_unreadable: bool
) -> Iterator[RenderableType]:
    if not changes:
        if not has_unreadable:
            yield Text("The content is the same.")
        return
    for name in dict.fromkeys(each.file for each in changes):
        yield Text(name, "bold")
        of_file = (each for each in changes if each.file == name)
        by_subject = groupby(of_file, key=lambda each: each.subject)
        yield table(_DIFFERENCES, grouped(by_subject))


_DIFFERENCES: Final[Columns[tuple[str | None, StateDifference]]] = (
    Column("", lambda each: each[0] or ""),
    Column("", lambda each: each[1].what),
    Column("BEFORE", lambda each: _value(each[1].before), right=True),
    Column("AFTER", lambda each: _value(each[1].after), right=True),
    Column("CHANGE", lambda each: _change(each[1].change_bytes), right=True),
)


def _value(value: int | str | None) -> str:
    return "-" if value is None else str(value)


def _change(change_bytes: int | None) -> str:
    if change_bytes is None:
        return ""
    return ("-" if change_bytes < 0 else "+") + numbers.size(abs(change_bytes))


def check(checked: RestoreCheck, start_error: str | None) -> Iterator[RenderableType]:
    """Yield the answer, the kubelet's words, the drift, and the fix."""
    sentence, colour = _ANSWERS[checked.answer]
    if checked.refused is not None and checked.refused.is_undecided:
        sentence, colour = str(checked.refused.findings[0]), "yellow"
    yield _text(sentence, style=colour)
    if start_error is not None and checked.answer is not RestartAnswer.NOT_ASKED:
        yield Text("")
        yield _text(start_error)
    if checked.drift:
        yield Text("")
        yield Text("Changes since the files were written, and errors in them", "bold")
        for finding in checked.drift:
            yield from _named(finding.where.document, finding)
    if checked.pods is not None:
        yield Text("")
        yield Text("What becomes of the pods that run", "bold")
        if not checked.loses_pods:
            yield Text("  The kubelet admits all of them again.")
        for finding in checked.pods:
            yield from _named(finding.severity.value, finding)
    if checked.rebased is not None and checked.answer is not RestartAnswer.ACCEPTED:
        yield Text("")
        yield Text("What 'numalet state rebase' would do", "bold")
        yield from _summary(checked.rebased)


def _named(label: str, finding: Finding) -> Iterator[RenderableType]:
    name = Text(f"{label}: ", style=_COLOURS[finding.severity])
    name.append(output.printable(str(finding)), style="default")
    yield Padding(name, (0, 0, 0, 2))


def _summary(result: Rebased) -> Iterator[RenderableType]:
    for name, kept in result.kept.items():
        lost = sum(each.file == name for each in result.lost)
        what = "new file" if name in result.files else "unchanged"
        yield Text(f"  {name}: {what}, {numbers.counted(len(kept), 'record')} kept, {lost} lost")
    for name, finding in result.unusable.items():
        yield Text(f"  {name}: nothing can be kept. ").append(output.printable(str(finding)))
        yield Text("    Drain the node and delete the file.")


def rebased(result: Rebased, written: Sequence[ReplacedStateFile]) -> Iterator[RenderableType]:
    """Yield kept and lost allocations, file by file, and whether files were written."""
    yield from _summary(result)
    if result.lost:
        yield Text("")
        yield Text("Lost", "bold")
        for each in result.lost:
            uid = f"{each.key.pod_uid}/" if each.key.pod_uid else ""
            yield Padding(_text(f"{uid}{each.key.container}: {each.why!s}"), (0, 0, 0, 2))
    yield Text("")
    if not result.files:
        yield Text("There is nothing to write.")
    elif not written:
        yield Text("Nothing was written; --write replaces the files and keeps backups.")
