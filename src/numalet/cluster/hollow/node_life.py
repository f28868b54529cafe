"""The life of a hollow node: its next state after an event, and actions.

Pure: takes a state, an event and a time; returns the next state and actions. The engine admits pods
on the node's own ledgers. ``core.workload.lifecycle`` decides the next step of a pod, as for the
agent; but a start always succeeds at once, and the pod's run times determine its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import assert_never

from numalet.cluster.hollow.life import (
    Action,
    Announce,
    CameUp,
    End,
    HeldPod,
    HollowPod,
    LifeEvent,
    MomentCame,
    NodeLife,
    PodBound,
    PodGone,
    ReleasePod,
    ReportPod,
    Restart,
    WentDown,
)
from numalet.core.config.rules import StartRefused
from numalet.core.model.pod import ContainerKey, ContainerKind
from numalet.core.model.value import Mutable, field, replace
from numalet.core.node.node import Node
from numalet.core.workload import folding, lifecycle
from numalet.core.workload import records as records
from numalet.core.workload.lifecycle import Steps
from numalet.core.workload.records import EventKind, PodRecord
from numalet.core.workload.run import (
    ContainerPhase,
    ContainerRun,
    Evicted,
    Exit,
    ExitReason,
    PodRun,
)
from numalet.wording import kubelet


def after(life: NodeLife, event: LifeEvent, now: datetime) -> tuple[NodeLife, tuple[Action, ...]]:
    """Return the next state, and actions. A node that is down does nothing."""
    step = _Step(life.node, dict(life.pods), now)
    match event:
        case CameUp(restart, pods):
            if life.is_up:
                return life, ()
            return _came_up(life, restart, pods, step)
        case _ if not life.is_up:
            return life, ()
        case PodBound(pod):
            step.bind(pod)
        case PodGone(uid):
            step.drop(uid)
        case MomentCame():
            due = [uid for uid, each in life.pods.items() if each.due_at and each.due_at <= now]
            for uid in due:
                step.settle(uid)
        case WentDown():
            return replace(life, is_up=False), ()
        case _:
            assert_never(event)
    if step.node is life.node and not step.actions and step.pods == life.pods:
        return life, ()
    return replace(life, node=step.node, pods=step.pods), tuple(step.actions)


def _came_up(
    life: NodeLife, restart: Restart, pods: Iterable[HollowPod], step: _Step
) -> tuple[NodeLife, tuple[Action, ...]]:
    """Restart after a reboot: all pods ask again, the oldest first, then the sources are ready.

    Kubelet: ``syncLoopIteration``, where a source is ready after its first pods were admitted,
    v1.32.
    """
    started = restart(life.node)
    if isinstance(started, StartRefused):
        return replace(life, refused=started), ()
    step.node = started
    step.pods = {}
    for pod in sorted(pods, key=lambda each: each.order):
        before = life.pods.get(pod.uid)
        # Containers of a rebooted machine do not run, whatever the API server's status still
        # shows.
        step.bind(pod if before is None else replace(pod, running={}), before)
    step.node = step.node.sources_ready()
    up = replace(life, node=step.node, pods=step.pods, is_up=True, refused=None)
    return up, tuple(step.actions)


class _Step(Mutable):
    """The effects of one event; lives during one call of ``after``."""

    node: Node
    pods: dict[str, HeldPod]
    now: datetime
    actions: list[Action] = field(default_factory=list)

    def bind(self, pod: HollowPod, before_reboot: HeldPod | None = None) -> None:
        """Admit a new pod, and end it if it is being deleted."""
        held = self.pods.get(pod.uid)
        if held is None:
            held = self._asked(pod, before_reboot)
            # A pod that ended before the reboot is not admitted again.
            if not lifecycle.is_ending(held.record.workload, held.record.run):
                held = self._admitted(held)
            self.pods[pod.uid] = held
            self.actions.append(ReportPod(pod.uid))
        if pod.grace_seconds is not None:
            run = folding.deletion_requested(held.record.run, self.now, pod.grace_seconds)
            self.pods[pod.uid] = _with_run(held, run)
        self.settle(pod.uid)

    def drop(self, uid: str) -> None:
        """A pod was deleted, with its containers."""
        if self.pods.pop(uid, None) is not None:
            self._release(uid)
            self._wake_those_behind(uid)

    def settle(self, uid: str) -> None:
        """Perform every step of a pod that is due, and predict the next."""
        before = held = self.pods[uid]
        # A container may end at once and make another step due at the same time.
        while True:
            held = self._with_due_ends(held)
            steps = self._next_steps(held)
            held = self._foreseeing(self._stopping(self._started(held, steps.start), steps), steps)
            is_due = held.due_at is not None and held.due_at <= self.now
            if not steps.start and not is_due:
                break
        if steps.finished:
            self._release(uid)
        if steps.forgettable and not held.is_forgettable:
            held = replace(held, is_forgettable=True)
        self.pods[uid] = held
        if held.record.run is not before.record.run:
            self.actions.append(ReportPod(uid))
        if held.is_forgettable and not before.is_forgettable:
            self.actions.append(ReleasePod(uid))
        if steps.finished:
            self._wake_those_behind(uid)

    def _asked(self, pod: HollowPod, before_reboot: HeldPod | None) -> HeldPod:
        if before_reboot is not None:
            run = before_reboot.record.run
            for name in run.containers:
                run = folding.lost(run, name, self.now)
            return HeldPod(record=PodRecord(pod.workload, run), times=pod.times)
        run = PodRun(accepted_at=self.now)
        held = HeldPod(record=PodRecord(pod.workload, run), times=pod.times)
        for name, each in pod.running.items():
            of = ContainerRun(
                name=name,
                phase=ContainerPhase.RUNNING,
                attempt=each.restart_count + 1,
                started_at=each.started_at,
            )
            held = _foreseen(_with_run(held, held.record.run.with_container(of)), name)
        return held

    def _admitted(self, held: HeldPod) -> HeldPod:
        record = held.record
        self.node, decision = self.node.admit(record.workload.pod)
        verdict = kubelet.verdict(decision.rejection)
        run = folding.decided(record.run, verdict, self.now)
        self._evict(decision.evicted)
        # A pod that already runs does not wait.
        if verdict.admitted and not run.has_begun:
            run = folding.after_evicted(run, self._leaving())
        workload = record.workload
        if decision.pod is not workload.pod:
            workload = replace(workload, pod=decision.pod)
        if not verdict.admitted:
            self._say(workload.pod.uid, held, EventKind.WARNING, verdict.reason, verdict.message)
        return replace(held, record=replace(record, workload=workload, run=run))

    def _evict(self, uids: Iterable[str]) -> None:
        """These pods end for another one. Kubelet: ``evictPodsToFreeRequests``, v1.32."""
        verdict = kubelet.EVICTED
        for uid in uids:
            held = self.pods[uid]
            self.pods[uid] = _with_run(held, folding.decided(held.record.run, verdict, self.now))
            self._say(uid, held, EventKind.WARNING, verdict.reason, verdict.message)
            self.settle(uid)

    def _leaving(self) -> Iterator[Evicted]:
        for uid, held in self.pods.items():
            evicted_at = held.record.run.decided_at
            if evicted_at is not None and _is_leaving(held):
                grace = held.record.workload.grace_period_seconds
                patience = timedelta(seconds=lifecycle.kill_patience_seconds(grace))
                yield Evicted(uid, str(held.record.workload.pod), evicted_at + patience)

    def _wake_those_behind(self, uid: str) -> None:
        """Pods that wait for the end of this one may start now."""
        waiting = [
            other
            for other, held in self.pods.items()
            if other != uid
            and not held.record.run.has_begun
            and any(each.uid == uid for each in held.record.run.evicted)
        ]
        for other in waiting:
            self.settle(other)

    def _next_steps(self, held: HeldPod) -> Steps:
        run = held.record.run
        still_ending = {
            each.uid
            for each in run.evicted
            if each.uid in self.pods and _is_leaving(self.pods[each.uid])
        }
        return lifecycle.next_steps(held.record.workload, run, self.now, still_ending)

    def _started(self, held: HeldPod, names: Iterable[str]) -> HeldPod:
        for name in names:
            run = folding.starting(held.record.run, name)
            run = folding.started(run, name, run.of(name).attempt, self.now)
            self.node = self.node.container_started(ContainerKey(held.record.uid, name))
            held = _foreseen(_with_run(held, run), name)
            for reason, text in (
                (kubelet.CREATED, kubelet.created(name)),
                (kubelet.STARTED, kubelet.started(name)),
            ):
                self._say(held.record.uid, held, EventKind.NORMAL, reason, text, name)
        return held

    def _stopping(self, held: HeldPod, steps: Steps) -> HeldPod:
        """Return the pod after the containers in ``steps.stop`` were asked to end."""
        for stop in steps.stop:
            run = held.record.run
            if not run.of(stop.container).asked_to_end:
                text = kubelet.killing(stop.container)
                reason, kind = kubelet.KILLING, EventKind.NORMAL
                self._say(held.record.uid, held, kind, reason, text, stop.container)
                held = _with_run(held, folding.asked_to_end(run, [stop.container]))
            grace = timedelta(seconds=stop.grace_seconds)
            # A container that needs longer than the grace period is killed.
            code = folding.KILLED_CODE if held.times.ending > grace else 0
            end = End(self.now + min(held.times.ending, grace), code)
            # A repeated signal can only shorten the time.
            known = held.ends.get(stop.container)
            if known is None or end.at < known.at:
                held = replace(held, ends={**held.ends, stop.container: end})
        return held

    def _foreseeing(self, held: HeldPod, steps: Steps) -> HeldPod:
        moments = [each.at for each in held.ends.values()]
        if steps.due_again_at is not None:
            moments.append(steps.due_again_at)
        return replace(held, due_at=min(moments, default=None))

    def _with_due_ends(self, held: HeldPod) -> HeldPod:
        """Return the pod after every container ended whose predicted end has passed."""
        due = sorted(
            ((end, name) for name, end in held.ends.items() if end.at <= self.now),
            key=lambda each: each[0].at,
        )
        run = held.record.run
        for end, name in due:
            reason = ExitReason.ERROR if end.code else ExitReason.COMPLETED
            exit_ = Exit(code=end.code, reason=reason, finished_at=end.at)
            run = folding.ended(run, name, run.of(name).attempt, exit_)
        if not due:
            return held
        gone = {name for _, name in due}
        kept = {name: end for name, end in held.ends.items() if name not in gone}
        return _with_run(replace(held, ends=kept), run)

    def _release(self, uid: str) -> None:
        if uid in self.node.snapshot.pods:
            self.node = self.node.remove(uid)

    def _say(
        self,
        uid: str,
        held: HeldPod,
        kind: EventKind,
        reason: str,
        text: str,
        container: str = "",
    ) -> None:
        pod = held.record.workload.pod
        event = records.event_about(pod, kind, reason, text, self.now, container)
        self.actions.append(Announce(event))


def _with_run(held: HeldPod, run: PodRun) -> HeldPod:
    return replace(held, record=replace(held.record, run=run))


def _foreseen(held: HeldPod, name: str) -> HeldPod:
    """Return the pod with the predicted end of a new container, if its run time is limited."""
    run, kind = held.record.run.of(name), held.record.workload.container(name).kind
    lasts = held.times.app if kind is ContainerKind.APP else held.times.init
    if kind is ContainerKind.SIDECAR or lasts is None or run.started_at is None:
        return held
    code = held.times.exit_code if kind is ContainerKind.APP else 0
    return replace(held, ends={**held.ends, name: End(run.started_at + lasts, code)})


def _is_leaving(held: HeldPod) -> bool:
    return lifecycle.is_leaving(held.record.workload, held.record.run)
