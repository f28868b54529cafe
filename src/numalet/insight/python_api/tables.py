"""Rows for a data frame: lists of flat dictionaries, all with the same keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from numalet.core.admission.decision import Decision
from numalet.core.model import cpu_set
from numalet.core.model import machine_queries as ask
from numalet.core.model.machine_info import MachineInfo
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Changes, Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.python_api.arguments import checked
from numalet.wording import kubelet


@checked
def decision_rows(decisions: Iterable[Decision]) -> list[dict[str, Any]]:
    """Return a row for each decision: the pod, the verdict, the sums over its containers."""
    return [_decision_row(each) for each in decisions]


@checked
def placement_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return a row for each container with an allocation; unknown pod names are None."""
    rows = []
    for key, held in placement.of_all(snapshot).items():
        pod = snapshot.pods.get(key.pod_uid)
        rows.append(
            {
                "namespace": None if pod is None else pod.namespace,
                "pod": None if pod is None else pod.name,
                "uid": key.pod_uid,
                "container": key.container,
                "cpus": cpu_set.text(held.cpus),
                **_amounts([held]),
            }
        )
    return rows


def numa_node_rows(machine: MachineInfo) -> list[dict[str, Any]]:
    return [
        {
            "node": node.node_id,
            "class": ask.node_class(node).value,
            "cpus": cpu_set.text(thread for core in node.cores for thread in core.threads),
            "cores": len(node.cores),
            "memory_bytes": node.memory_bytes,
        }
        for node in sorted(machine.nodes, key=lambda node: node.node_id)
    ]


def change_rows(changes: Changes) -> list[dict[str, Any]]:
    """Return a row for each container whose allocation changed; ended ones are first."""
    return [
        {
            "change": change,
            "uid": key.pod_uid,
            "container": key.container,
            "cpus": cpu_set.text(held.cpus),
            **_amounts([held]),
        }
        for change, part in (("released", changes.released), ("allocated", changes.allocated))
        for key, held in part.items()
    ]


class MatrixRows(list[dict[str, Any]]):
    """The rows of a comparison, one for each variant."""

    if TYPE_CHECKING:

        def to_rows(self) -> list[dict[str, Any]]:
            """Rows for a data frame."""
            return [*self]

        def _repr_html_(self) -> str:
            return ""


class Answer(dict[str, Any]):
    """A document as ``-o json`` prints it, with rows for a data frame.

    The title may have several lines. ``picture`` is what a notebook draws: a node, a
    ``FleetPicture``, or nothing.
    """

    def __init__(
        self,
        title: str,
        document: dict[str, Any],
        rows: Iterable[dict[str, Any]],
        picture: object = None,
    ) -> None:
        super().__init__(document)
        self.title = title
        self.rows = tuple(rows)
        self.picture = picture

    def __repr__(self) -> str:
        title, *_ = self.title.splitlines()
        return f"<Answer {title}: rows {len(self.rows)}>"

    if TYPE_CHECKING:

        def to_rows(self) -> list[dict[str, Any]]:
            """Rows for a data frame."""
            return []

        def _repr_html_(self) -> str:
            return ""


def of_table(table: Iterable[Sequence[object]]) -> list[dict[str, Any]]:
    """Return rows from a table whose first row has the names; an empty cell is None."""
    columns, *rows = table
    return [
        {str(name): None if cell == "" else cell for name, cell in zip(columns, row, strict=True)}
        for row in rows
    ]


def _decision_row(decision: Decision) -> dict[str, Any]:
    pod, rejection = decision.pod, decision.rejection
    return {
        "namespace": pod.namespace,
        "pod": pod.name,
        "uid": pod.uid,
        "qos_class": pod.qos_class.value,
        "admitted": decision.admitted,
        "code": None if rejection is None else rejection.code,
        "reason": kubelet.reason(rejection),
        "message": kubelet.message(rejection),
        **_amounts(decision.placements.values()),
    }


def _amounts(placements: Iterable[Placement]) -> dict[str, Any]:
    """Return sums over containers; ``memory_bytes`` includes huge pages."""
    held = list(placements)
    nodes = sorted({node_id for each in held for node_id in each.memory_nodes})
    return {
        "exclusive_cpus": sum(len(each.cpus) for each in held),
        "memory_bytes": sum(block.size_bytes for each in held for block in each.memory),
        "memory_nodes": ",".join(map(str, nodes)),
        "devices": sum(len(ids) for each in held for ids in each.devices.values()),
    }
