"""Running pods whose allocation no longer fits the machine.

No running program is ended for that. Losses are events of the pod; a pod refused at a restart is
marked in its record, so that a later start can admit it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from numalet.agent.controller import decisions
from numalet.agent.controller.decisions import Decided
from numalet.agent.controller.node_state import NodeState
from numalet.agent.findings import events
from numalet.agent.findings.events import (
    EventPromisedAnew,
    EventPromiseLost,
    EventUnpromised,
    Message,
)
from numalet.agent.telemetry.metrics import RECORDS_LOST
from numalet.core.model.value import replace
from numalet.core.workload import rejections
from numalet.core.workload.records import EventKind, PodRecord
from numalet.core.workload.run import Cause, ContainerPhase
from numalet.insight.state.rebase import Lost
from numalet.shared.findings import recorded
from numalet.wording import kubelet

_UP = (ContainerPhase.STARTING, ContainerPhase.RUNNING)


def with_lost(state: NodeState, lost: Sequence[Lost], now: datetime) -> NodeState:
    """Count the losses of a rebase, with an event for each known pod."""
    for each in lost:
        state = state.counted(RECORDS_LOST, (("file", each.file),))
        key = each.key
        if key.pod_uid not in state.records:
            continue
        reason = kubelet.PROMISE_LOST
        lost_promise = EventPromiseLost(file=each.file, cause=str(each.why))
        message = events.message(lost_promise, [Cause.of(each.why)])
        state = _with_event(
            state, key.pod_uid, EventKind.WARNING, reason, message, now, key.container
        )
    return state


def goes_on(state: NodeState, record: PodRecord) -> bool:
    """Whether to keep a pod that a restart refuses."""
    is_up = any(each.phase in _UP for each in record.run.containers.values())
    return is_up and state.node.rules.behaviour.state_follows_the_machine


def kept(state: NodeState, decided: Decided, record: PodRecord, now: datetime) -> NodeState:
    """Keep a refused pod with its remaining allocation.

    ``state`` is from before the decision; only the decision's counts are used.
    """
    rejection = decided.traces[0].decision.rejection
    verdict = kubelet.verdict(rejection)
    causes = () if rejection is None else rejections.causes(rejection)
    state = replace(state, counts=decided.state.counts)
    state = state.at(state.node.keep_active(record.workload.pod))
    state = state.with_run(record.uid, replace(record.run, causes=causes))
    # An older release stored the same reason as a text, with its event.
    if recorded.loss_sentence(record.run.causes) == verdict.message:
        return state
    reason = kubelet.UNPROMISED
    finding = EventUnpromised(reason=verdict.reason, cause=verdict.message)
    message = events.message(finding, causes)
    return _with_event(state, record.uid, EventKind.WARNING, reason, message, now)


def admitted(state: NodeState, before: PodRecord, moved: Sequence[str], now: datetime) -> NodeState:
    """A running pod was admitted again, perhaps elsewhere."""
    uid = before.uid
    if before.run.causes:
        state = state.with_run(uid, replace(state.records[uid].run, causes=()))
    for name in moved:
        reason, message = (
            kubelet.PROMISED_ANEW,
            events.message(EventPromisedAnew(container=name)),
        )
        state = _with_event(state, uid, EventKind.NORMAL, reason, message, now, name)
    return state


def _with_event(
    state: NodeState,
    uid: str,
    kind: EventKind,
    reason: str,
    message: Message,
    now: datetime,
    container: str = "",
) -> NodeState:
    pod = state.records[uid].workload.pod
    return state.with_event(decisions.event_of(pod, kind, reason, message, now, container))
