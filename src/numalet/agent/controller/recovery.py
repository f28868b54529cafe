"""Builds the state at the start of an agent from disk and runtime.

In this order: restore state files as the kubelet does; take over programs; admit unfinished pods
again (no change for pods in the state); release allocations without a pod; end programs without a
pod. No healthy program is restarted. In native mode a changed machine (reboot, balloon, offline
CPU) does not prevent a start: files are rebased, and running pods that are refused continue,
marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import Enum

from numalet.agent.controller import decisions, steps, store_files, transitions, unpromised
from numalet.agent.controller.decisions import Stopwatch, TracedDecision
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.steps import ForgetPod, StartContainer, Task
from numalet.agent.controller.store import StoredState
from numalet.agent.host.runtime.port import Observed
from numalet.agent.telemetry.gauges import cpu_gauges_at_start
from numalet.agent.telemetry.metrics import RECORDS_LOST
from numalet.core.checkpoint.state_files import StateFiles
from numalet.core.config.behaviour import Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, replace
from numalet.core.node import node as nodes
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.snapshot import placement
from numalet.core.workload.records import NodeEvent, PodRecord, Records
from numalet.core.workload.run import ContainerPhase
from numalet.core.workload.spec import WorkloadSource
from numalet.insight.state import restart_check
from numalet.insight.state.rebase import Lost, Rebased
from numalet.shared.findings.agent import (
    AgentRecordLost,
    AgentStateInvalid,
)
from numalet.wording import kubelet_start


class OnInvalidState(Enum):
    """What to do with state files that cannot be restored."""

    STOP = "stop"
    REBASE = "rebase"
    """Keep what fits, as ``numalet state rebase``; drop damaged files."""
    BY_MODE = "by-mode"
    """By the rule ``state_follows_the_machine``: rebase if only the machine changed, else stop."""


class Premises(Value, kw_only=True):
    """Inputs of a node."""

    config: KubeletConfig
    machine: MachineInfo
    behaviour: Behaviour
    devices: Devices = NO_DEVICES
    plugins: PreferredDevices = NO_SAY
    on_invalid_state: OnInvalidState = OnInvalidState.BY_MODE
    root: str = ""
    identity: NodeIdentity = UNKNOWN_NODE


class Recovered(Value):
    """The initial state, first tasks and new decisions.

    ``findings`` are losses and corrections; ``events`` are not in the journal yet.
    """

    state: NodeState
    tasks: tuple[Task, ...]
    traces: tuple[TracedDecision, ...]
    findings: tuple[Finding, ...] = ()
    events: tuple[NodeEvent, ...] = ()


def in_order(stored: StoredState, uids: Iterable[str]) -> StoredState:
    """Move these pods to the front, so that they are admitted first."""
    first = {uid: stored.records[uid] for uid in uids if uid in stored.records}
    return replace(stored, records={**first, **stored.records})


class RestoredNode(Value):
    """A node on its state files.

    ``drift`` are differences from the machine, ``lost`` records that could not be kept.
    """

    node: Node
    drift: tuple[Finding, ...] = ()
    lost: tuple[Lost, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """For the administrator."""
        return (*self.drift, *map(_record_lost, self.lost))


def start_node(
    premises: Premises, files: StateFiles, running: Iterable[ContainerKey] = ()
) -> RestoredNode:
    """Start a node on these files; rebase them if permitted.

    Raises ``BadInput`` with the kubelet's message, the differences and the fix.
    """
    running = tuple(running)
    started = _start(premises, files, running)
    if isinstance(started, Node):
        return RestoredNode(started)
    # Rebasing cannot repair a wrong configuration.
    if not restart_check.is_about_files(started):
        raise input_error.Invalid(
            f"the node does not start with this configuration: {kubelet_start.text(started)}"
        ).bad_input()
    checked = restart_check.check(premises.config, premises.machine, files, premises.behaviour)
    rebased = checked.rebased
    if rebased is not None and _may_rebase(premises, checked.drift, rebased):
        kept = {name: text for name, text in files.items() if name not in rebased.unusable}
        corrected = _start(premises, kept | dict(rebased.files), running)
        if isinstance(corrected, Node):
            return RestoredNode(corrected, checked.drift, rebased.lost)
    text = kubelet_start.text(started, premises.root)
    where = Location(premises.root)
    raise BadInput(
        [
            AgentStateInvalid(
                text=text, root=premises.root, stage=started.stage.value, where=where
            ),
            *checked.drift,
        ]
    )


def _may_rebase(premises: Premises, drift: tuple[Finding, ...], rebased: Rebased) -> bool:
    match premises.on_invalid_state:
        case OnInvalidState.STOP:
            return False
        case OnInvalidState.REBASE:
            return True
        case OnInvalidState.BY_MODE:
            follows = premises.behaviour.state_follows_the_machine
            return follows and not rebased.unusable and restart_check.is_about_machine(drift)


def _record_lost(lost: Lost) -> Finding:
    key = lost.key
    return AgentRecordLost(
        uid=key.pod_uid, container=key.container, file=lost.file, cause=str(lost.why)
    )


def _start(
    premises: Premises, files: StateFiles, running: tuple[ContainerKey, ...]
) -> Node | StartRefused:
    return nodes.start(
        premises.config,
        premises.machine,
        files,
        premises.devices,
        running=running,
        plugins=premises.plugins,
        behaviour=premises.behaviour,
        identity=premises.identity,
    )


def recover(
    premises: Premises,
    stored: StoredState,
    observed: Sequence[Observed],
    pods_at_runtime: Iterable[str],
    events: Sequence[NodeEvent],
    now: datetime,
    stopwatch: Stopwatch,
    first_version: int = 1,
) -> Recovered:
    """Recover with resource versions from ``first_version`` on.

    Raises ``BadInput``; see ``start_node``.
    """
    running = [each.key for each in observed if each.exit is None]
    started = start_node(premises, stored.state_files, running)
    node = _waiting(started.node, stored.records)
    version = max(
        # Clients keep versions over a restart of the agent; a lower one would hide changes from
        # their watches.
        [record.resource_version for record in stored.records.values()]
        + [event.resource_version for event in events],
        default=0,
    )
    state = NodeState(
        node=node,
        records=Records(stored.records),
        events=tuple(events),
        resource_version=max(version + 1, first_version),
        cpu_gauges=cpu_gauges_at_start(node),
    )
    state = transitions.with_observed(state, observed, now)
    for _ in stored.unreadable:
        state = state.counted(RECORDS_LOST, (("file", store_files.RECORD_FILE),))
    # Before the pods are admitted again, so that losses precede decisions in the events.
    state = unpromised.with_lost(state, started.lost, now)
    state, asked = _readmitted(state, premises, started.lost, now, stopwatch)
    # The crash may have come between recording a start and calling the runtime.
    tasks: list[Task] = [
        StartContainer(ContainerKey(uid, name), run.attempt)
        for uid, record in state.records.items()
        for name, run in record.run.containers.items()
        if run.phase is ContainerPhase.STARTING
    ]
    # Programs without a record: their pod was removed, or its record is in quarantine.
    tasks += [ForgetPod(uid) for uid in pods_at_runtime if uid not in state.records]
    fresh = tuple(each for each in state.events if each.resource_version > version)
    return Recovered(state, tuple(tasks), asked, started.findings, fresh)


def _waiting(node: Node, records: Mapping[str, PodRecord]) -> Node:
    """A node before its sources are ready, so that allocations of its pods are not stale yet."""
    unheard = node.awaiting_sources()
    if not node.rules.behaviour.release_at_once:
        return unheard
    held = set(placement.of_all(node.snapshot))
    return unheard.assume_running(key for key in held if key.pod_uid in records)


def _readmitted(
    state: NodeState, premises: Premises, lost: Sequence[Lost], now: datetime, stopwatch: Stopwatch
) -> tuple[NodeState, tuple[TracedDecision, ...]]:
    """Admit every unfinished pod again, oldest first.

    The kubelet also admits a static pod that has ended, because no API server keeps its phase; it
    learns only afterwards that the containers have ended (``HandlePodAdditions``, v1.37).
    """
    traces: list[TracedDecision] = []
    expected = {each.key for each in lost}
    ended: list[str] = []
    for uid, record in state.records.items():
        if not _asks_again(record, now, premises.behaviour):
            state = _released(state, uid)
            continue
        # Compared below with the placement after the admission: running programs must not have been
        # moved.
        held = placement.of_pod(state.node.snapshot, record.workload.pod)
        decided = decisions.readmit(state, record, now, stopwatch)
        decision = decided.traces[0].decision
        traces += decided.traces
        if not decision.admitted and unpromised.goes_on(state, record):
            state = unpromised.kept(state, decided, record, now)
            continue
        after = decision.placements
        moved = [
            name
            for name, run in record.run.containers.items()
            if run.phase is ContainerPhase.RUNNING and after and held[name] != after[name]
        ]
        if premises.behaviour.release_at_once and not record.run.causes:
            _refuse_lost_holds(premises, record, [n for n in moved if (uid, n) not in expected])
        state = unpromised.admitted(decided.state, record, moved, now)
        state = decisions.with_counted_rejection(state, uid)
        if not decision.admitted:
            state = _released(state, uid)
        elif steps.is_finished(state.records[uid], now):
            ended.append(uid)
    for uid in ended:
        state = state.at(state.node.remove(uid))
    return state, tuple(traces)


def _released(state: NodeState, uid: str) -> NodeState:
    """Release at once in native mode; the kubelet does it at the next admission."""
    at_once = state.node.rules.behaviour.release_at_once
    return state.at(state.node.remove(uid)) if at_once else state


def _refuse_lost_holds(premises: Premises, record: PodRecord, moved: Sequence[str]) -> None:
    """Refuse to start if running containers lost allocations, which a crash cannot cause."""
    if not moved or premises.on_invalid_state is OnInvalidState.REBASE:
        return
    where = Location(premises.root)
    raise input_error.Invalid(
        f"{record.workload.pod} is running, but the state files have no allocation for its "
        f"containers ({', '.join(moved)}); a crash cannot cause that, so the files were changed. "
        "Restore them, end the pod, or start the agent with --on-invalid-state=rebase to place "
        "the pod again",
        where=where,
    ).bad_input()


def _is_static(record: PodRecord) -> bool:
    return record.workload.source is WorkloadSource.FILE and record.run.deletion is None


def _asks_again(record: PodRecord, now: datetime, behaviour: Behaviour) -> bool:
    """Whether a pod is admitted again after a start.

    A rejected pod stays rejected, except a static pod, whose file the kubelet reads again.
    """
    run = record.run
    if run.verdict is not None and not run.verdict.admitted:
        return _is_static(record)
    is_finished = steps.is_finished(record, now)
    return not is_finished or (_is_static(record) and not behaviour.release_at_once)
