"""A simulation as tables: counts, the pods in order, why some were rejected, the node map.

Texts from the user's files are never read as markup; their control characters are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from rich.padding import Padding
from rich.text import Text

from numalet.cli import breaking, node_tables, output
from numalet.cli.tables import Column, FittedTable, table
from numalet.core.admission.decision import Decision
from numalet.core.config.behaviour import Mode
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Inventory
from numalet.core.managers.memory.reasons import GivesNoMemory
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.value import UnsetType
from numalet.insight.maps import map_devices, pod_sums, resource_maps
from numalet.insight.maps.pod_sums import PodSums
from numalet.insight.maps.resource_maps import SimulationHolderDocument
from numalet.insight.simulate.session import (
    Record,
    RemoveStep,
    RestartStep,
    Session,
    decisions,
)
from numalet.insight.simulate.simulation_document import SimulationDocument, StepDocument
from numalet.wording import explanations, kubelet, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType


def tables(
    document: SimulationDocument, session: Session, records: Sequence[Record], running: int
) -> Iterator[RenderableType]:
    """Draw a simulation; ``running`` counts the pods that run on the user's node."""
    if document.mode is not Mode.EXACT:
        yield Text(f"mode: {document.mode.value}")
    yield Text(f"release: {document.release}")
    refused = [(each.pod, each.reason) for each in document.replay_refused]
    if refused:
        lines = explanations.replay_refused(refused, running, explanations.THAT_RUN)
        yield from (_text(line, "yellow") for line in lines)
        yield Text("")
    yield from _counts(document)
    if records:
        yield _pod_table(session, records)
    for step in document.steps:
        yield from _reasons(step)
    if records:
        yield Text("")
    if document.nodes:
        yield from node_tables.memory_table(document.nodes)
        left_out = set(session.machine.node_ids) - {row.node_id for row in document.nodes}
        if left_out:
            yield Text(explanations.of_reason(GivesNoMemory(numa_mask.of(left_out))))
    else:
        yield Text("The Memory Manager is off: nothing is reserved on any NUMA node.")
    cpus = resource_maps.cpus_of_node(session.node)
    if cpus:
        names = {uid: str(pod) for uid, pod in session.pods.items()}
        yield Text("")
        yield from node_tables.cpu_table(cpus, names)
    if document.devices:
        yield Text("")
        yield node_tables.device_table(document.devices)
    if document.left_behind:
        yield Text("")
        yield Text("Left behind until the next admission, by pods that are not active:")
        for holder in document.left_behind:
            yield _text(f"  {holder.name}/{holder.container}: {_held(holder)}")


def _text(text: str, style: str = "") -> Text:
    """Return a text of the user: without markup, and with visible control characters."""
    return Text(output.printable(text), style=style)


def _counts(document: SimulationDocument) -> Iterator[Text]:
    if document.assumed_running:
        yield Text(f"assumed running: {len(document.assumed_running)} (pods of the state files)")
    if document.forgotten:
        yield Text(f"forgotten: {len(document.forgotten)} (pods of the state files)")
    for cause, count in document.ignored.items():
        yield Text(f"ignored: {count} ({cause.replace('-', ' ')})")


_PodRow: TypeAlias = tuple["RenderableType", "RenderableType", PodSums | None]
"""A pod or the kubelet, the status, and the sums of an admitted pod."""


def _pod_table(session: Session, records: Sequence[Record]) -> FittedTable:
    """Return the pods in order; columns for CPUs and devices only if a pod has some."""
    sums = {id(each): pod_sums.pod_sums(each, session.machine) for each in decisions(records)}
    rows: list[_PodRow] = []
    for step, result in records:
        if isinstance(result, StartRefused):
            rows.append(("kubelet", Text("does not start", "red"), None))
            continue
        if isinstance(step, RemoveStep):
            rows.append((step.pod_uid, "removed", None))
        elif isinstance(step, RestartStep):
            rows.append(("kubelet", "restarted", None))
        rows += [_pod_row(decision, sums[id(decision)]) for decision in result]
    columns: list[Column[_PodRow]] = [
        Column("POD", lambda row: row[0]),
        Column("STATUS", lambda row: row[1], whole=True),
        Column(
            "NUMA NODES", lambda row: (numa_mask.listed(row[2].nodes) or "any") if row[2] else ""
        ),
    ]
    if any(each.cpus for each in sums.values()):
        columns.append(
            Column(
                "CPUS",
                lambda row: (cpu_set.text(row[2].cpus) or "shared") if row[2] else "",
            )
        )
    columns.append(Column("MEMORY", lambda row: (_memory(row[2]) or "-") if row[2] else ""))
    if any(each.devices for each in sums.values()):
        devices = partial(_devices, session.node.snapshot.device.inventory)
        columns.append(Column("DEVICES", lambda row: (devices(row[2]) or "-") if row[2] else ""))
    return table(columns, rows)


def _pod_row(decision: Decision, sums: PodSums) -> _PodRow:
    name = breaking.name(output.printable(str(decision.pod)))
    if decision.rejection is not None:
        return name, Text(kubelet.reason(decision.rejection), "red"), None
    return name, Text("Admitted", "green"), sums


def _memory(sums: PodSums) -> str:
    return ", ".join(
        numbers.size(size) if name == "memory" else f"{name} {numbers.size(size)}"
        for name, size in sorted(sums.memory_bytes.items(), reverse=True)
    )


def _devices(inventory: Inventory, sums: PodSums) -> str:
    """Return ids, or numbers of UUIDs, by resource; without its domain unless it is ambiguous."""
    short = {name: map_devices.kind(name) for name in sums.devices}
    unique = len(set(short.values())) == len(short)
    parts = []
    for name, ids in sums.devices.items():
        of = map_devices.numbered({*inventory.devices_of(name).masks, *ids})
        called = ",".join(map_devices.called(name, each, of[each]) for each in ids)
        parts.append(f"{short[name] if unique else name}={called}")
    return ", ".join(parts)


def _reasons(step: StepDocument) -> Iterator[RenderableType]:
    restart = None if isinstance(step.restart, UnsetType) else step.restart
    if restart is not None and restart.start_error:
        yield Text("")
        yield _text(f"kubelet: {restart.start_error}")
    admitted = [] if isinstance(step.admit, UnsetType) else [step.admit]
    for each in restart.readmitted or () if restart is not None else admitted:
        if each.why:
            # The kubelet has no text for our own refusal, which contains its cause.
            cause = "" if not each.cause or each.cause in each.message else each.cause
            first, *more = dict.fromkeys(filter(None, (cause, each.message, str(each.why))))
            yield Text("")
            yield _text(f"{each.namespace}/{each.name}: {first}")
            for text in more:
                yield Padding(_text(text, "dim"), (0, 0, 0, 2))


def _held(holder: SimulationHolderDocument) -> str:
    parts = [f"CPUs {holder.cpuset}"] if holder.cpuset else []
    parts += [
        f"{numbers.size(each.size)} of {each.type} on {numa_mask.listed(each.numa_affinity)}"
        for each in holder.memory
    ]
    parts += [f"{name} {','.join(ids)}" for name, ids in holder.devices.items()]
    return ", ".join(parts)
