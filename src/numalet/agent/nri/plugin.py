"""The handlers of a plugin: each changes the plan and answers, from memory alone.

A runtime holds one lock over all calls of a node, and skips a plugin that answers after two
seconds. No handler reads a file, waits for another thread's work, or writes a log line itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from google.protobuf.message import Message

from numalet.agent.nri import audit, plan, seen
from numalet.agent.nri.audit import Misplaced
from numalet.agent.nri.choices import (
    EVENTS,
    EventReason,
    Mode,
    NoRoom,
    NriEvent,
    PinningChoice,
    PinningCounts,
    UnpinnedCause,
    mask,
)
from numalet.agent.nri.plan import Manifests, Plan, PoolWouldBeEmpty
from numalet.agent.nri.seen import SeenContainer, SeenPod, Sets
from numalet.core.admission.reasons import Rejection
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot
from numalet.io.nri import session
from numalet.io.nri.session import CallError, Handlers
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.wording import kubelet
from numalet.wording.log_line import LogLine

Q = TypeVar("Q", bound=Message)
Report = Callable[[SeenPod, str, EventReason], None]


class PinningPlugin:
    """Holds the plan of one node. Handlers and the audit change it under one lock.

    ``say`` writes to the log, ``report`` reports about a pod; neither may wait.
    """

    def __init__(
        self,
        began: Node,
        before: Snapshot,
        choice: PinningChoice,
        manifests: Callable[[], Manifests],
        say: Callable[[LogLine], None],
        report: Report = lambda pod, text, reason: None,
        foreign: str = "",
    ) -> None:
        self.choice = choice
        self.counts = PinningCounts()
        self.plan = Plan(began.at(before))
        self.lock = threading.Lock()
        self.is_synchronized = False
        self.synchronized: Callable[[], object] = lambda: None
        self.foreign = foreign
        """Why the plugin only observes: another program sets CPUs."""
        self.misplaced_bytes = 0
        self._misplaced_since: Mapping[str, float] = {}
        self._misplaced: frozenset[str] = frozenset()
        self.differing: frozenset[str] = frozenset()
        """Containers that are counted as differing, until an audit finds none."""
        self._began = began
        self._manifests = manifests
        self._say = say
        self._report = report

    @property
    def enforces(self) -> bool:
        return self.choice.mode is Mode.ENFORCE and not self.foreign

    def handlers(self) -> Handlers:
        by_event = {
            NriEvent.RUN_POD_SANDBOX: "RunPodSandbox",
            NriEvent.STOP_POD_SANDBOX: "StopPodSandbox",
            NriEvent.REMOVE_POD_SANDBOX: "RemovePodSandbox",
            NriEvent.POST_START_CONTAINER: "PostStartContainer",
            NriEvent.REMOVE_CONTAINER: "RemoveContainer",
        }
        return {
            "Configure": self._timed(nri.ConfigureRequest, self._configure),
            "Synchronize": self._timed(nri.SynchronizeRequest, self._synchronizer()),
            "CreateContainer": self._timed(nri.ContainerRequest, self._create),
            "UpdateContainer": self._timed(nri.ContainerRequest, self._update),
            "StopContainer": self._timed(nri.ContainerRequest, self._stop),
            "StateChange": self._timed(nri.StateChangeEvent, self._state_changed),
            "Shutdown": lambda payload: b"",
            **{
                method: self._timed(nri.ContainerRequest, self._event_handler(event))
                for event, method in by_event.items()
            },
        }

    def repair_handlers(self, still_differing: Callable[[], Mapping[str, Sets]]) -> Handlers:
        """Handlers of a second connection that answers Synchronize with all repairs.

        ``still_differing`` returns containers that the kernel allows more than the plan. It is
        called when the runtime asks: by then the runtime has applied all earlier answers.
        """

        def configure(request: nri.ConfigureRequest) -> Message:
            return nri.ConfigureResponse(events=mask(NriEvent.REMOVE_POD_SANDBOX))

        def repair(pods: object, containers: Iterable[SeenContainer]) -> Message:
            found = still_differing()
            self._differ(found)
            in_force = {each.id: each.in_force for each in containers} | dict(found)
            self.plan = plan.observed(self.plan, in_force)
            changes = plan.updates(self.plan)
            self.counts.repaired += len(changes)
            return nri.SynchronizeResponse(update=self._updates(changes))

        return {
            "Configure": self._timed(nri.ConfigureRequest, configure),
            "Synchronize": self._timed(nri.SynchronizeRequest, _Parts(repair)),
            "StateChange": lambda payload: b"",
            "RemovePodSandbox": lambda payload: b"",
            "Shutdown": lambda payload: b"",
        }

    def _differ(self, found: Mapping[str, Sets]) -> None:
        """Count and report containers that the kernel allows more than the plan."""
        new = found.keys() - self.differing
        self.differing = frozenset(found)
        for each in new & self.plan.members.keys():
            self._unpinned(self.plan.members[each].seen, UnpinnedCause.AUDIT)

    def note_misplaced(self, found: Mapping[str, Misplaced], now: float) -> None:
        """Count and report containers with memory that stays on other NUMA nodes than planned."""
        with self.lock:
            since = {each: self._misplaced_since.get(each, now) for each in found}
            stays = {each for each in since if now - since[each] >= audit.SETTLED_SECONDS}
            new = (stays - self._misplaced) & self.plan.members.keys()
            self._misplaced_since, self._misplaced = since, frozenset(stays)
            self.misplaced_bytes = sum(found[each].size_bytes for each in stays)
            self.counts.misplaced += len(new)
            for each in sorted(new):
                container = self.plan.members[each].seen
                text = f"container {container.name} {found[each].text}"
                keys = {"pod": str(container.pod), "why": text}
                self._say(LogLine("Memory misplaced", keys, is_error=True))
                self._report(container.pod, text, EventReason.MISPLACED)

    def _unpinned(self, container: SeenContainer, cause: UnpinnedCause) -> None:
        """Count and report a container that runs without its settings."""
        if not self.enforces:
            return
        self.counts.unpinned_starts[cause.value] += 1
        text = f"container {container.name} {cause.text}"
        self._say(LogLine("Unpinned", {"pod": str(container.pod), "why": text}, is_error=True))
        self._report(container.pod, text, EventReason.UNPINNED)

    def _timed(self, kind: type[Q], handle: Callable[[Q], Message]) -> Callable[[bytes], bytes]:
        def handler(payload: bytes) -> bytes:
            began = time.monotonic()
            request = kind.FromString(payload)
            with self.lock:
                try:
                    return handle(request).SerializeToString()
                finally:
                    spent = time.monotonic() - began
                    self.counts.calls += 1
                    self.counts.call_seconds += spent
                    self.counts.longest_call_seconds = max(self.counts.longest_call_seconds, spent)

        return handler

    def _configure(self, request: nri.ConfigureRequest) -> Message:
        keys = {"runtime": request.runtime_name, "version": request.runtime_version}
        self._say(LogLine("Registered", keys))
        return nri.ConfigureResponse(events=EVENTS)

    def _synchronizer(self) -> Callable[[nri.SynchronizeRequest], Message]:
        def synchronize(pods: list[nri.PodSandbox], containers: list[SeenContainer]) -> Message:
            self.plan = plan.rebuilt(
                self._began,
                self.plan.node.snapshot,
                map(seen.pod, pods),
                containers,
                self._manifests(),
            )
            self.is_synchronized = True
            self.synchronized()
            for each in plan.unpinned(self.plan):
                self._unpinned(each.seen, UnpinnedCause.NOT_CONNECTED)
            return nri.SynchronizeResponse(update=self._updates(plan.updates(self.plan)))

        return _Parts(synchronize)

    def _create(self, request: nri.ContainerRequest) -> Message:
        container = seen.container(request.container, request.pod)
        keys = {"pod": str(container.pod), "container": container.name}
        if container.in_force.cpus and not self.foreign:
            self.foreign = f"the kubelet sets the CPUs of {container.pod} itself"
            self._say(LogLine("Only observing", {"why": self.foreign}, is_error=True))
        result = plan.created(self.plan, container, self._manifests().get(container.pod.uid))
        if result.refused is not None:
            self.counts.containers["refused"] += 1
            why = _why(result.refused)
            self._say(LogLine("No room", {**keys, "why": why}, is_error=True))
            if self.enforces and self.choice.no_room is NoRoom.REJECT:
                text = f"numalet: no room for {container.pod} on this node: {why}"
                raise CallError(session.FAILED_PRECONDITION, text)
            self._unpinned(container, UnpinnedCause.NO_ROOM)
        else:
            outcome = "shared" if result.record is None else "placed"
            self.counts.containers[outcome] += 1
            sets = seen.resources_of(result.wanted).cpu
            self._say(LogLine("Placed", {**keys, "cpus": sets.cpus, "memoryNodes": sets.mems}))
        self.plan = result.plan
        if not self.enforces:
            self.plan = plan.observed(self.plan, {container.id: container.in_force})
            return nri.CreateContainerResponse()
        adjust = nri.ContainerAdjustment()
        if not result.wanted.is_empty:
            adjust.linux.resources.CopyFrom(seen.resources_of(result.wanted))
        if result.record is not None:
            adjust.annotations[seen.RECORD] = seen.record_text(result.record)
        updates = self._updates(plan.updates(self.plan))
        return nri.CreateContainerResponse(adjust=adjust, update=updates)

    def _update(self, request: nri.ContainerRequest) -> Message:
        """Keep our sets if a client of the runtime asks for others."""
        asked = seen.sets(request.linux_resources)
        if not asked.is_empty:
            self.plan = plan.observed(self.plan, {request.container.id: asked})
        return nri.UpdatesResponse(update=self._updates(plan.updates(self.plan)))

    def _stop(self, request: nri.ContainerRequest) -> Message:
        self.plan = plan.container_ended(self.plan, request.container.id)
        return nri.UpdatesResponse(update=self._updates(plan.updates(self.plan)))

    def _state_changed(self, request: nri.StateChangeEvent) -> Message:
        try:
            event = NriEvent(request.event)
        except ValueError:
            return nri.UpdatesResponse()
        return self._event(event, request.pod, request.container)

    def _event_handler(self, event: NriEvent) -> Callable[[nri.ContainerRequest], Message]:
        return lambda request: self._event(event, request.pod, request.container)

    def _event(self, event: NriEvent, pod: nri.PodSandbox, container: nri.Container) -> Message:
        match event:
            case NriEvent.RUN_POD_SANDBOX:
                self.plan = plan.sandbox_started(self.plan, seen.pod(pod))
            case NriEvent.STOP_POD_SANDBOX | NriEvent.REMOVE_POD_SANDBOX:
                self.plan = plan.sandbox_ended(self.plan, pod.id)
            case NriEvent.POST_START_CONTAINER:
                self._started(seen.container(container, pod))
            case NriEvent.REMOVE_CONTAINER:
                self.plan = plan.container_ended(self.plan, container.id)
            case _:
                # These have calls of their own.
                pass
        return nri.UpdatesResponse()

    def _started(self, container: SeenContainer) -> None:
        if container.id in self.plan.members:
            self.plan = plan.started(self.plan, container.id, container.pid)
            return
        # The runtime created it without an answer: it had waited too long for one.
        manifest = self._manifests().get(container.pod.uid)
        self.plan = plan.created(self.plan, container, manifest).plan
        self.plan = plan.observed(self.plan, {container.id: container.in_force})
        self.plan = plan.started(self.plan, container.id, container.pid)
        self._unpinned(container, UnpinnedCause.NOT_ASKED)

    def _updates(self, changes: Mapping[str, Sets]) -> list[nri.ContainerUpdate]:
        """Return the changes for an answer; the runtime applies them after it."""
        if not self.enforces:
            return []
        self.plan = plan.updated(self.plan, changes)
        return [
            nri.ContainerUpdate(
                container_id=container_id,
                linux=nri.LinuxUpdate(resources=seen.resources_of(sets)),
                # One that has just ended must not fail the call of another container.
                ignore_failure=True,
            )
            for container_id, sets in changes.items()
        ]


def _why(refused: Rejection | PoolWouldBeEmpty) -> str:
    return refused.message if isinstance(refused, PoolWouldBeEmpty) else kubelet.message(refused)


class _Parts:
    """Collects the parts of a Synchronize request, and answers the last one."""

    def __init__(
        self, handle: Callable[[list[nri.PodSandbox], list[SeenContainer]], Message]
    ) -> None:
        self._handle = handle
        self._pods: list[nri.PodSandbox] = []
        self._containers: list[nri.Container] = []

    def __call__(self, request: nri.SynchronizeRequest) -> Message:
        self._pods += request.pods
        self._containers += request.containers
        if request.more:
            return nri.SynchronizeResponse(more=True)
        by_id = {each.id: each for each in self._pods}
        ordered = sorted(self._containers, key=lambda each: (each.created_at, each.id))
        containers = [
            seen.container(each, by_id[each.pod_sandbox_id])
            for each in ordered
            if each.pod_sandbox_id in by_id
        ]
        return self._handle(self._pods, containers)
