"""Bodies of pages with the drawing of a node: a machine, state files, a simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from numalet.core.admission.decision import Decision
from numalet.core.model import cpu_set, numa_mask, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.value import Value
from numalet.drawing import node_drawing
from numalet.insight.maps import finding, machine_map
from numalet.insight.maps.machine_map import MachineMap, MachineNodeRow, View
from numalet.insight.maps.node_map import NodeMap
from numalet.insight.maps.pod_sums import pod_sums
from numalet.insight.state.state_diff import StateDifference
from numalet.pages import templating
from numalet.pages.templating import PageOrigin, TextTable
from numalet.wording import explanations, kubelet, numbers

_NO_MACHINE: Final = MachineInfo((), memory_capacity_bytes=0, cpu_count=0, socket_count=0)
_HALF_PX: Final = 640


class PodLine(Value, kw_only=True):
    """One pod in words. ``level`` is ``good``, ``warning``, ``bad`` or empty, and sets the colour.

    ``uid`` links it to its marks in drawings, ``why`` is shown below the status.
    """

    uid: str
    title: str
    status: str
    level: str = ""
    why: str = ""
    qos: str = ""
    nodes: str = ""
    cpus: str = ""
    memory: str = ""
    devices: str = ""


def pod_lines_of(chart: NodeMap) -> tuple[PodLine, ...]:
    return tuple(
        PodLine(
            uid=pod.uid,
            title=pod.title,
            status="holds" if pod.is_active else "left behind",
            level="" if pod.is_active else "warning",
            qos="" if pod.qos_class is None else pod.qos_class.value,
            nodes=nodes_text(pod.nodes),
            cpus=cpus_text(pod.cpus),
            memory=memory_text(pod.memory_bytes),
            devices=devices_text(pod.devices),
        )
        for pod in chart.pods
    )


def nodes_text(nodes: Sequence[int]) -> str:
    return numa_mask.listed(nodes) or "any"


def cpus_text(cpus: CpuSet) -> str:
    return f"{cpu_set.text(cpus).replace(',', ', ')} ({len(cpus)})" if cpus else "shared"


def memory_text(size_bytes: Mapping[str, int]) -> str:
    """Return sizes by memory type, plain memory first."""
    return ", ".join(
        numbers.size(size) if name == resources.MEMORY else f"{name} {numbers.size(size)}"
        # "memory" sorts after "hugepages-", hence the reverse order.
        for name, size in sorted(size_bytes.items(), reverse=True)
    )


def devices_text(devices: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{name} {', '.join(ids)}" for name, ids in sorted(devices.items()))


def machine_body(chart: NodeMap, rows: MachineMap, origin: PageOrigin) -> Any:
    return templating.part(
        "bodies/machine.html",
        origin=origin,
        totals=machine_totals(rows),
        drawing=templating.trusted(node_drawing.draw(chart)),
        nodes=nodes_table(rows),
        notes=[note["text"] for note in rows.notes],
    )


def machine_totals(rows: MachineMap) -> str:
    whose = "as the kubelet sees it" if rows.view is View.KUBELET else "as it is"
    parts = [
        numbers.counted(rows.sockets, "socket"),
        numbers.counted(len(rows.numa_nodes), "NUMA node"),
        numbers.counted(rows.cores, "core"),
        numbers.counted(rows.cpus, "CPU"),
        numbers.rounded_size(rows.memory_bytes),
    ]
    return f"{', '.join(parts)}, {whose}"


def nodes_table(rows: MachineMap) -> TextTable:
    distances = machine_map.distances(rows.numa_nodes)
    return TextTable(
        "NUMA nodes",
        ("Node", "Class", "Socket", "CPUs", "Cores", "Memory", "Huge pages", "Distances"),
        tuple(_row(row, distances[row.id]) for row in rows.numa_nodes),
    )


def _row(row: MachineNodeRow, distances: str) -> tuple[str, ...]:
    offline = f", offline {row.offline_cpus}" if row.offline_cpus else ""
    pages = [
        f"{each.count} x {numbers.rounded_size(each.page_size_kib * 1024)}"
        for each in row.hugepages
        if each.count
    ]
    return (
        str(row.id),
        row.node_class.value,
        numa_mask.listed(row.sockets),
        (f"{row.cpus} ({len(cpu_set.parse(row.cpus))})" if row.cpus else "none") + offline,
        str(row.cores),
        "unknown" if row.memory_bytes is None else numbers.rounded_size(row.memory_bytes),
        ", ".join(pages),
        distances,
    )


def simulation_body(
    chart: NodeMap,
    decisions: Sequence[Decision],
    machine: MachineInfo,
    origin: PageOrigin,
    causes: Mapping[int, str],
    notes: Iterable[str] = (),
) -> Any:
    """Return the body of the page, as markup; ``chart`` is the node after the last decision.

    ``causes`` are those of rejections, by the identity of the decision.
    """
    return templating.part(
        "bodies/simulation.html",
        origin=origin,
        lead=decisions_lead(decisions),
        drawing=templating.trusted(node_drawing.draw(chart)),
        decisions=[decision_line(each, machine, causes.get(id(each), "")) for each in decisions],
        lines=pod_lines_of(chart),
        notes=[*notes],
    )


def decisions_lead(decisions: Sequence[Decision]) -> str:
    rejected = sum(not each.admitted for each in decisions)
    admitted = numbers.counted(len(decisions) - rejected, "pod")
    return f"{admitted} admitted, {rejected} rejected"


def decision_line(
    decision: Decision, machine: MachineInfo | None = None, cause: str = ""
) -> PodLine:
    """Return the decision on one pod; if rejected, with the cause, or else why in numalet's words.

    Without the machine the NUMA nodes of exclusive CPUs are unknown, but those of its memory are
    known.
    """
    pod = decision.pod
    if decision.rejection is not None:
        said = kubelet.message(decision.rejection)
        why = cause or explanations.of_reason(decision.rejection)
        return PodLine(
            uid=pod.uid,
            title=str(pod),
            status=kubelet.reason(decision.rejection),
            level="bad",
            why=said if said == why else f"{why} ({said})" if cause else f"{said}. {why}",
            qos=pod.qos_class.value,
        )
    sums = pod_sums(decision, machine or _NO_MACHINE)
    return PodLine(
        uid=pod.uid,
        title=str(pod),
        status="Admitted",
        level="good",
        qos=pod.qos_class.value,
        nodes=nodes_text(sums.nodes),
        cpus=cpus_text(sums.cpus),
        memory=memory_text(sums.memory_bytes),
        devices=devices_text(sums.devices),
    )


def state_body(
    chart: NodeMap, origin: PageOrigin, notes: Iterable[str], contradictions: Iterable[str] = ()
) -> Any:
    """Return the body of the page of one set of state files, as markup.

    ``notes`` are about unreadable files, ``contradictions`` about differences from the machine.
    """
    return templating.part(
        "bodies/state.html",
        origin=origin,
        drawing=templating.trusted(node_drawing.draw(chart)),
        lines=pod_lines_of(chart),
        notes=[*notes],
        contradictions=[*contradictions],
    )


def comparison_body(
    before: NodeMap,
    after: NodeMap,
    differences: Sequence[StateDifference],
    origin: PageOrigin,
    notes: Iterable[str],
    contradictions: Iterable[str] = (),
) -> Any:
    both = [
        (
            chart.title,
            templating.trusted(
                node_drawing.draw(
                    chart, width_px=_HALF_PX, prefix=mark, found=finding.differing(chart, other)
                )
            ),
        )
        for mark, chart, other in (("before-", before, after), ("after-", after, before))
    ]
    return templating.part(
        "bodies/states.html",
        origin=origin,
        both=both,
        differences=TextTable(
            "What differs",
            ("File", "Of what", "What", "Before", "After"),
            tuple(
                (
                    each.file,
                    each.subject,
                    each.what,
                    _text(each.before, each.what),
                    _text(each.after, each.what),
                )
                for each in differences
            ),
        ),
        notes=[*notes],
        contradictions=[*contradictions],
    )


def _text(value: int | str | None, what: str) -> str:
    if value is None:
        return "-"
    is_size = isinstance(value, int) and resources.is_memory_type(what.partition(" ")[0])
    return numbers.size(int(value)) if is_size else str(value)
