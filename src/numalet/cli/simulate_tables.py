"""A simulation as tables: counts, the pods in order, why some were rejected, the node map.

Texts from the user's files are never read as markup; their control characters are shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from numalet.cli import breaking, node_tables, output
from numalet.cli.simulate_view import SimulationResult, decisions_of
from numalet.core.admission.decision import Decision
from numalet.core.config.behaviour import Mode
from numalet.core.managers.memory.reasons import GivesNoMemory
from numalet.core.model import cpu_set, numa_mask
from numalet.insight.maps import hint_map
from numalet.insight.maps.hint_map import PodSums
from numalet.insight.maps.resource_maps import SimulationHolderDocument
from numalet.insight.simulate.session import Asked, NotRestarted, Record, Removed, Restarted
from numalet.wording import explanations, kubelet, kubelet_start, numbers, releases

if TYPE_CHECKING:
    from rich.console import RenderableType

    from numalet.insight.usecases.simulating import Prepared


def print_tables(result: SimulationResult) -> None:
    output.print_all(tables(result))


def tables(result: SimulationResult) -> Iterator[RenderableType]:
    if result.behaviour.mode is not Mode.EXACT:
        yield Text(f"mode: {result.behaviour.mode.value}")
    if releases.is_said(result.behaviour.release.name):
        yield Text(f"release: {result.behaviour.release.name}")
    refused = [(str(pod), kubelet.reason(why)) for pod, why in result.replay_refused()]
    if refused:
        running = len(result.prepared.running)
        lines = explanations.replay_refused(refused, running, explanations.THAT_RUN)
        yield from (_text(line, "yellow") for line in lines)
        yield Text("")
    yield from _counts(result.prepared)
    if result.records:
        yield _pod_table(result)
    for record in result.records:
        yield from _reasons(record)
    if result.records:
        yield Text("")
    after = result.map()
    if after.nodes:
        yield from node_tables.memory_table(after)
        left_out = set(result.session.machine.node_ids) - {row.node_id for row in after.nodes}
        if left_out:
            yield Text(explanations.of_reason(GivesNoMemory(numa_mask.of(left_out))))
    else:
        yield Text("The Memory Manager is off: nothing is reserved on any NUMA node.")
    yield from _cpus_and_devices(result)
    if after.left_behind:
        yield Text("")
        yield Text("Left behind until the next admission, by pods that are not active:")
        for holder in after.left_behind:
            yield _text(f"  {holder.name}/{holder.container}: {_held(holder)}")


def _cpus_and_devices(result: SimulationResult) -> Iterator[RenderableType]:
    cpus, devices = result.cpus(), result.devices()
    if cpus:
        names = {uid: str(pod) for uid, pod in result.session.pods.items()}
        yield Text("")
        yield from node_tables.cpu_table(cpus, names)
    if devices:
        yield Text("")
        yield node_tables.device_table(devices)


def _text(text: str, style: str = "") -> Text:
    """Return a text of the user: without markup, and with visible control characters."""
    return Text(output.printable(text), style=style)


def _counts(prepared: Prepared) -> Iterator[Text]:
    if prepared.assumed:
        yield Text(f"assumed running: {len(prepared.assumed)} (pods of the state files)")
    if prepared.forgotten:
        yield Text(f"forgotten: {len(prepared.forgotten)} (pods of the state files)")
    for cause, count in prepared.ignored.items():
        yield Text(f"ignored: {count} ({cause.value.replace('-', ' ')})")


def _pod_table(result: SimulationResult) -> Table:
    """Return the pods in order; columns for CPUs and devices only if a pod has some."""
    machine = result.session.machine
    sums = {id(each): hint_map.pod_sums(each, machine) for each in _decisions(result)}
    columns = ["NUMA NODES", "MEMORY"]
    if any(each.cpus for each in sums.values()):
        columns.insert(1, "CPUS")
    if any(each.devices for each in sums.values()):
        columns.append("DEVICES")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("POD", "STATUS", *columns):
        table.add_column(name, overflow="fold", no_wrap=name == "STATUS")
    for record in result.records:
        match record:
            case Removed(pod_uid):
                table.add_row(_text(pod_uid), "removed")
            case NotRestarted():
                table.add_row("kubelet", Text("does not start", "red"))
            case Restarted():
                table.add_row("kubelet", "restarted")
            case Asked():
                pass  # Its decision follows.
        for decision in decisions_of(record):
            table.add_row(*_pod_row(decision, sums[id(decision)], columns))
    return table


def _decisions(result: SimulationResult) -> Iterator[Decision]:
    return (decision for record in result.records for decision in decisions_of(record))


def _pod_row(
    decision: Decision, sums: PodSums, columns: Collection[str]
) -> Iterator[RenderableType]:
    yield breaking.name(output.printable(str(decision.pod)))
    if decision.rejection is not None:
        yield Text(kubelet.reason(decision.rejection), "red")
        return
    yield Text("Admitted", "green")
    cells = {
        "NUMA NODES": numa_mask.listed(sums.nodes) or "any",
        "CPUS": cpu_set.text(sums.cpus) or "shared",
        "MEMORY": _memory(sums) or "-",
        "DEVICES": _devices(sums) or "-",
    }
    for name in columns:
        yield breaking.cpus(cells[name]) if name == "CPUS" else _text(cells[name])


def _memory(sums: PodSums) -> str:
    return ", ".join(
        numbers.size(size) if name == "memory" else f"{name} {numbers.size(size)}"
        for name, size in sorted(sums.memory_bytes.items(), reverse=True)
    )


def _devices(sums: PodSums) -> str:
    """Return the ids by resource; without its domain, unless that is ambiguous."""
    short = {name: name.rpartition("/")[2] for name in sums.devices}
    unique = len(set(short.values())) == len(short)
    return ", ".join(
        f"{short[name] if unique else name}={','.join(ids)}" for name, ids in sums.devices.items()
    )


def _reasons(record: Record) -> Iterator[RenderableType]:
    if isinstance(record, NotRestarted):
        yield Text("")
        yield _text(f"kubelet: {kubelet_start.text(record.refused)}")
    for decision in decisions_of(record):
        if decision.rejection is not None:
            said, why = (
                kubelet.message(decision.rejection),
                explanations.of_reason(decision.rejection),
            )
            yield Text("")
            yield _text(f"{decision.pod}: {said}")
            if why != said:  # The kubelet has no text for our own refusal.
                yield Padding(_text(why, "dim"), (0, 0, 0, 2))


def _held(holder: SimulationHolderDocument) -> str:
    parts = [f"CPUs {holder.cpuset}"] if holder.cpuset else []
    parts += [
        f"{numbers.size(each.size)} of {each.type} on {numa_mask.listed(each.numa_affinity)}"
        for each in holder.memory
    ]
    parts += [f"{name} {','.join(ids)}" for name, ids in holder.devices.items()]
    return ", ".join(parts)
