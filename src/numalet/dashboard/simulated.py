"""A simulated node as a source: ``numalet dashboard -m``. It never changes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.core.snapshot import placement
from numalet.dashboard import node_views
from numalet.dashboard.node_views import ShownNode
from numalet.dashboard.sources import (
    EventRow,
    HistoryPoint,
    NodeView,
    PodRow,
    SourceKind,
)
from numalet.insight import decision_notes
from numalet.insight.output import explanation_document
from numalet.insight.simulate import session as sessions
from numalet.insight.simulate.session import Record, RemoveStep, Scenario, Session
from numalet.wording import explanations, kubelet


class SimulatedNode(Value):
    """A node after the last step of a simulation."""

    shown: NodeView

    def view(self) -> NodeView:
        return self.shown

    async def changed(self) -> None:
        await asyncio.Event().wait()

    def history(self) -> Sequence[HistoryPoint]:
        return ()

    def log_path(self, key: ContainerKey) -> Path | None:
        return None


def source(
    title: str, scenario: Scenario, session: Session, at: datetime, notes: Sequence[Finding] = ()
) -> SimulatedNode:
    session, records = session.through(scenario.steps)
    decisions = sessions.decisions(records)
    findings = (*notes, *decision_notes.notes(decision_notes.collect(decisions)))
    return SimulatedNode(
        node_views.view(
            ShownNode(title, SourceKind.SIMULATED),
            revision=1,
            at=at,
            node=session.node,
            config=session.config,
            rows=_rows(records, session),
            events=[_event(decision, at) for decision in decisions],
            notes=[node_views.note(finding) for finding in findings],
            known=session.pods,
        )
    )


def _rows(records: Sequence[Record], session: Session) -> list[PodRow]:
    """Return the latest decision on every pod that was not removed, in order of first decision."""
    latest: dict[str, Decision] = {}
    for step, result in records:
        if isinstance(step, RemoveStep):
            latest.pop(step.pod_uid, None)
        if not isinstance(result, StartRefused):
            latest.update((each.pod.uid, each) for each in result)
    # An evicted pod was admitted before, so its own decision does not show it.
    evicted = {uid for each in latest.values() for uid in each.evicted}
    causes = explanation_document.causes(session, latest.values())
    return [
        _row(each, session, causes.get(id(each), ""), is_evicted=uid in evicted)
        for uid, each in latest.items()
    ]


def _row(decision: Decision, session: Session, cause: str, *, is_evicted: bool) -> PodRow:
    pod, why = decision.pod, decision.rejection
    if why is not None:
        return PodRow(
            pod=pod,
            status="Rejected",
            reason=kubelet.reason(why),
            message=kubelet.message(why),
            why=explanations.of_reason(why),
            cause=cause,
        )
    if is_evicted:
        return PodRow(
            pod=pod, status="Failed", reason=kubelet.PREEMPTING, message=kubelet.PREEMPTED
        )
    held = placement.of_pod(session.node.snapshot, pod)
    return PodRow(
        pod=pod,
        status="Running",
        containers=tuple(
            node_views.container(name, each, "Running", restarts=None)
            for name, each in held.items()
        ),
    )


def _event(decision: Decision, at: datetime) -> EventRow:
    why = decision.rejection
    return EventRow(
        at=at,
        is_warning=why is not None,
        reason="Admitted" if why is None else kubelet.reason(why),
        message="" if why is None else kubelet.message(why),
        pod=str(decision.pod),
    )
