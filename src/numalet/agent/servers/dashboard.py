"""The agent as a data source of the dashboard.

Next to a kubelet, the pods are those of its state files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from numalet.agent.kubelet import document
from numalet.agent.kubelet.observed import KubeletObservation, PodName
from numalet.agent.servers.door import AgentView, Door, OwnershipMode
from numalet.core.model.pod import ContainerKey, Pod, QosClass
from numalet.core.model.value import Mutable, replace
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.core.workload.records import EventKind, NodeEvent, PodRecord
from numalet.dashboard import node_views
from numalet.dashboard.application import Link
from numalet.dashboard.node_views import ShownNode
from numalet.dashboard.sources import (
    EventRow,
    HistoryPoint,
    Level,
    NodeView,
    Note,
    PodRow,
    SourceKind,
)
from numalet.shared.findings import notes
from numalet.shared.kubernetes import pod_object, table_columns

PATH: Final = "/ui"


class DashboardLinks(Mutable):
    """Creates dashboard links; ``make`` is unset without a dashboard.

    ``fingerprint`` is the SHA-256 of the agent's own certificate, else empty.
    """

    make: Callable[[], Link] | None = None
    fingerprint: str = ""


class AgentNode:
    """A ``NodeSource`` for the agent behind this door."""

    def __init__(self, door: Door, clock: Callable[[], datetime]) -> None:
        self._door = door
        self._clock = clock
        self._revision = 0
        self._made: tuple[AgentView, NodeView] | None = None

    def view(self) -> NodeView:
        """The current node, rebuilt after a change."""
        of = self._door.view()
        if self._made is None or self._made[0] is not of:
            # A new view often shows the same; keeping the old one spares the pages a render.
            before = None if self._made is None else self._made[1]
            made = _view(of, self._revision + 1, self._clock(), before)
            if before is not None and _is_same(before, made):
                made = before
            self._revision = made.revision
            self._made = (of, made)
        return self._made[1]

    async def changed(self) -> None:
        await self._door.changed()

    def history(self) -> Sequence[HistoryPoint]:
        """The agent keeps no history."""
        return ()

    def log_path(self, key: ContainerKey) -> Path | None:
        return self._door.log_path(key)


def _is_same(before: NodeView, after: NodeView) -> bool:
    """Compare two views without their times and revisions."""
    was, now = before.node, after.node
    same_revision = replace(now.snapshot, revision=was.snapshot.revision)
    if now.roster != was.roster or same_revision != was.snapshot:
        return False
    return replace(after, revision=before.revision, at=before.at, node=was) == before


def _view(of: AgentView, revision: int, at: datetime, before: NodeView | None) -> NodeView:
    is_observing = of.standing is OwnershipMode.OBSERVING
    kind = SourceKind.OBSERVING if is_observing else SourceKind.ENFORCING
    rows = [_row(of, record) for record in of.records.values()]
    if of.kubelet is not None:
        rows += _observed_rows(of.kubelet)
    return node_views.view(
        ShownNode(of.node_name, kind),
        revision=revision,
        at=at,
        node=of.node,
        config=of.config,
        rows=rows,
        events=[_event(each) for each in of.events],
        notes=[*_notes(of.notes), *_problems(of.kubelet)],
        is_ready=of.ready,
        before=before,
    )


def _row(of: AgentView, record: PodRecord) -> PodRow:
    """Build a row; the record of a rejected pod has only the kubelet's reason and message."""
    run, pod, verdict = record.run, record.workload.pod, record.run.verdict
    if verdict is not None and not verdict.admitted:
        return PodRow(
            pod=pod,
            status="Rejected",
            created_at=run.accepted_at,
            reason=verdict.reason,
            message=verdict.message,
        )
    is_active = pod.uid in of.node.snapshot.pods
    held: Mapping[str, Placement] = placement.of_pod(of.node.snapshot, pod) if is_active else {}
    shown = pod_object.pod_object(record)
    return PodRow(
        pod=pod,
        status=table_columns.columns(shown).status,
        created_at=run.accepted_at,
        containers=tuple(
            node_views.container(
                each.name,
                held.get(each.name, _NOTHING),
                _state(shown["status"], each.name),
                run.of(each.name).restart_count,
                run.of(each.name).last_exit,
                run.of(each.name).started_at,
                of.audits.get(ContainerKey(pod.uid, each.name)) if is_active else None,
            )
            for each in record.workload.containers
        ),
    )


def _state(status: Mapping[str, Any], name: str) -> str:
    """The state of a container in a word: ``running``, or the reason why it waits or ended."""
    statuses = (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ()))
    for each in statuses:
        if each["name"] == name:
            ((kind, about),) = each["state"].items()
            return str(about.get("reason", kind))
    return "waiting"


_NOTHING: Final = Placement(frozenset(), (), {})


def _observed_rows(seen: KubeletObservation) -> list[PodRow]:
    """Rows of a kubelet's pods, from their allocations and log names."""
    held: dict[str, dict[str, Placement]] = {}
    for key, each in seen.held.items():
        held.setdefault(key.pod_uid, {})[key.container] = each
    rows = []
    for uid, containers in held.items():
        # The state files have only the uid.
        named = seen.evidence.pods.get(uid, PodName("", uid))
        rows.append(
            PodRow(
                # The state files contain only exclusive CPUs and memory, which only Guaranteed pods
                # get.
                pod=Pod(
                    uid=uid,
                    name=named.name,
                    namespace=named.namespace,
                    qos_class=QosClass.GUARANTEED,
                ),
                status=_observed_status(seen, uid, containers),
                containers=tuple(
                    node_views.container(
                        name,
                        each,
                        "running" if _runs(seen, uid, name) else "not seen",
                        restarts=None,
                        audit=seen.audits.get(ContainerKey(uid, name)),
                    )
                    for name, each in containers.items()
                ),
            )
        )
    return rows


def _runs(seen: KubeletObservation, uid: str, container: str) -> bool:
    """Whether the container's cgroup exists."""
    return ContainerKey(uid, container) in seen.evidence.realities


def _observed_status(seen: KubeletObservation, uid: str, containers: Iterable[str]) -> str:
    if seen.is_stale(uid):
        return document.STALE
    return "Running" if any(_runs(seen, uid, each) for each in containers) else document.OBSERVED


def _event(of: NodeEvent) -> EventRow:
    return EventRow(
        at=of.at,
        is_warning=of.kind is EventKind.WARNING,
        reason=of.reason,
        message=of.message,
        pod=f"{of.namespace}/{of.pod_name}" if of.pod_name else "",
        count=of.count,
    )


def _notes(codes: Sequence[str]) -> list[Note]:
    return [Note(Level.WARNING, code, notes.sentence(code)) for code in codes]


def _problems(seen: KubeletObservation | None) -> list[Note]:
    if seen is None:
        return []
    return [node_views.note(problem.finding) for problem in seen.lasting_problems]
