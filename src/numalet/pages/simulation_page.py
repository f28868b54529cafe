"""The page of a simulation: the node after it, and every decision with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from numalet.core.admission.decision import Decision
from numalet.core.model.machine_info import MachineInfo
from numalet.drawing import node_drawing
from numalet.insight.maps.hint_map import pod_sums
from numalet.insight.maps.node_map import NodeMap
from numalet.pages import pod_lines, templating
from numalet.pages.pod_lines import PodLine
from numalet.pages.values import PageOrigin
from numalet.wording import explanations, kubelet, numbers

_NO_MACHINE: Final = MachineInfo((), memory_capacity_bytes=0, cpu_count=0, socket_count=0)


def body(
    chart: NodeMap,
    decisions: Sequence[Decision],
    machine: MachineInfo,
    origin: PageOrigin,
    notes: Iterable[str] = (),
) -> Any:
    """Return the body of the page, as markup; ``chart`` is the node after the last decision."""
    return templating.part(
        "bodies/simulation.html",
        origin=origin,
        lead=lead(decisions),
        drawing=templating.trusted(node_drawing.draw(chart)),
        decisions=[decision_line(each, machine) for each in decisions],
        lines=pod_lines.of_chart(chart),
        notes=[*notes],
    )


def lead(decisions: Sequence[Decision]) -> str:
    rejected = sum(not each.admitted for each in decisions)
    admitted = numbers.counted(len(decisions) - rejected, "pod")
    return f"{admitted} admitted, {rejected} rejected"


def decision_line(decision: Decision, machine: MachineInfo | None = None) -> PodLine:
    """Return the decision on one pod; if rejected, with the kubelet's words and numalet's.

    Without the machine the NUMA nodes of exclusive CPUs are unknown, but those of its memory are
    known.
    """
    pod = decision.pod
    if decision.rejection is not None:
        said, why = kubelet.message(decision.rejection), explanations.of_reason(decision.rejection)
        return PodLine(
            uid=pod.uid,
            title=str(pod),
            status=kubelet.reason(decision.rejection),
            level="bad",
            why=said if said == why else f"{said}. {why}",
            qos=pod.qos_class.value,
        )
    sums = pod_sums(decision, machine or _NO_MACHINE)
    return PodLine(
        uid=pod.uid,
        title=str(pod),
        status="Admitted",
        level="good",
        qos=pod.qos_class.value,
        nodes=pod_lines.nodes_text(sums.nodes),
        cpus=pod_lines.cpus_text(sums.cpus),
        memory=pod_lines.memory_text(sums.memory_bytes),
        devices=pod_lines.devices_text(sums.devices),
    )
