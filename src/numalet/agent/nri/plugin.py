"""The handlers of a plugin: each changes the plan and answers, from memory alone.

A runtime holds one lock over all calls of a node, and skips a plugin that answers after two
seconds. No handler reads a file, waits for another thread's work, or writes a log line itself.

An exception in a handler is a mistake of numalet. If it ended the connection, every container of
the node would start unpinned. So the plan stays as it was before the call, and the answer is

- an error to CreateContainer where the plugin refuses pods without room: the kubelet reports it for
  this one container, and tries again;
- an error to Configure and Synchronize, which begin a connection: the runtime ends it;
- empty to every other call: an error would stop the runtime's own work.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from google.protobuf.message import Message

from numalet.agent.nri import plan, pod_annotations, seen
from numalet.agent.nri.audit import Misplaced
from numalet.agent.nri.choices import (
    EVENTS,
    EventReason,
    Mode,
    NriEvent,
    PinningChoice,
    PinningCounts,
    UnpinnedCause,
)
from numalet.agent.nri.deciding import Terms
from numalet.agent.nri.kubelet_devices import NO_DEVICES, KubeletDevices
from numalet.agent.nri.plan import Created, Manifests, Plan
from numalet.agent.nri.pod_annotations import NoRoom
from numalet.agent.nri.seen import Parts, SeenContainer, SeenPod, Sets
from numalet.core.admission import roster
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.core.snapshot.snapshot import Snapshot
from numalet.io.nri import session
from numalet.io.nri.session import CallError, Handlers
from numalet.io.rpc import nri_v1alpha1_pb2 as nri
from numalet.wording.log_line import LogLine

Q = TypeVar("Q", bound=Message)
Report = Callable[[SeenPod, str, EventReason], None]

_CREATE: Final = "CreateContainer"
_BEGINNING: Final = ("Configure", "Synchronize")
_LEFT: Final = (
    f"another program set its CPUs or NUMA nodes {plan.MOST_OVERRIDES} times within "
    f"{plan.OVERRIDES_WITHIN_SECONDS / 60:.0f} minutes, so it is left to that program until it ends"
)


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
    ) -> None:
        self.choice = choice
        self.counts = PinningCounts()
        self._began = replace(began, roster=roster.confining(began.roster))
        mode = Mode.SHARED_ONLY if choice.mode is Mode.SHARED_ONLY else Mode.ENFORCE
        self.plan = Plan(self._began.at(before), Terms(mode, choice.memory_nodes))
        self.lock = threading.Lock()
        self.is_synchronized = False
        self.synchronized: Callable[[], object] = lambda: None
        self.announced: Callable[[SeenPod], object] = lambda pod: None
        """Called when a pod begins; it must not wait."""
        self.devices: Callable[[], KubeletDevices] = lambda: NO_DEVICES
        self.foreign = ""
        """Why the plugin only observes: another program sets CPUs."""
        self.misplaced: Mapping[str, Misplaced] = {}
        """Containers with memory that stays elsewhere, and where, at the last audit."""
        self.differing: Mapping[str, Sets] = {}
        """What the kernel allows more than the plan, at the last audit."""
        self.groups: set[str] = set()
        """Of members and sandboxes, the ids that have or had a cgroup."""
        self._is_containerd = False
        self._manifests = manifests
        self._say = say
        self._report = report

    @property
    def enforces(self) -> bool:
        """Whether the plugin changes containers."""
        return self.choice.mode is not Mode.AUDIT and not self.foreign

    @property
    def refuses(self) -> bool:
        """Whether the plugin may refuse containers."""
        return self.enforces and self.choice.mode is Mode.ENFORCE

    def observe_only(self, why: str) -> None:
        """Change nothing from now on: another program sets CPUs or NUMA nodes."""
        if why != self.foreign:
            self.foreign = why
            self._say(LogLine("Only observing", {"why": why}, is_error=True))

    @property
    def misplaced_bytes(self) -> int:
        return sum(each.size_bytes for each in self.misplaced.values())

    def handlers(self) -> Handlers:
        by_event = {
            NriEvent.RUN_POD_SANDBOX: "RunPodSandbox",
            NriEvent.STOP_POD_SANDBOX: "StopPodSandbox",
            NriEvent.REMOVE_POD_SANDBOX: "RemovePodSandbox",
            NriEvent.POST_START_CONTAINER: "PostStartContainer",
            NriEvent.REMOVE_CONTAINER: "RemoveContainer",
        }
        return {
            "Configure": self.answering("Configure", nri.ConfigureRequest, self._configure),
            "Synchronize": self.answering(
                "Synchronize", nri.SynchronizeRequest, self._synchronizer()
            ),
            _CREATE: self.answering(_CREATE, nri.ContainerRequest, self._create),
            "UpdateContainer": self.answering(
                "UpdateContainer", nri.ContainerRequest, self._update
            ),
            "StopContainer": self.answering("StopContainer", nri.ContainerRequest, self._stop),
            "StateChange": self.answering("StateChange", nri.StateChangeEvent, self._state_changed),
            "Shutdown": lambda payload: b"",
            **{
                method: self.answering(method, nri.ContainerRequest, self._event_handler(event))
                for event, method in by_event.items()
            },
        }

    def report_unpinned(self, container: SeenContainer, cause: UnpinnedCause) -> None:
        """Count and report a container that runs without its settings."""
        if not self.enforces:
            return
        self.counts.unpinned_starts[cause.value] += 1
        text = f"container {container.name} {cause.text}"
        self.warn(container.pod, text, EventReason.UNPINNED)

    def warn(self, pod: SeenPod, text: str, reason: EventReason) -> None:
        """Write to the log and report an event of a pod."""
        self._say(LogLine(reason.value, {"pod": str(pod), "why": text}, is_error=True))
        self._report(pod, text, reason)

    def _begun(self, pod: SeenPod) -> None:
        self.announced(pod)
        for each in pod.choice.findings:
            self.warn(pod, str(each), EventReason.ANNOTATION_IGNORED)

    def answering(
        self, method: str, kind: type[Q], handle: Callable[[Q], Message]
    ) -> Callable[[bytes], bytes]:
        """Return a handler that answers one call at a time, also if ``handle`` fails."""

        def handler(payload: bytes) -> bytes:
            began = time.monotonic()
            request = kind.FromString(payload)
            with self.lock:
                before = self.plan
                try:
                    return handle(request).SerializeToString()
                except CallError:
                    raise
                except Exception as bug:
                    self.plan = before
                    return self._failed(method, bug)
                finally:
                    spent = time.monotonic() - began
                    self.counts.calls += 1
                    self.counts.call_seconds += spent
                    self.counts.longest_call_seconds = max(self.counts.longest_call_seconds, spent)

        return handler

    def note_failure(self, of: str, bug: Exception) -> None:
        """Count and log a mistake of numalet: in a call of the runtime, or in a task of its own."""
        self.counts.failures[of] += 1
        keys = {"in": of, "why": f"{type(bug).__name__}: {bug}", "at": _place(bug)}
        self._say(LogLine("Failed, and goes on", keys, is_error=True))

    def _failed(self, method: str, bug: Exception) -> bytes:
        """Return the answer to a call that failed."""
        self.note_failure(method, bug)
        refuses = self.refuses and self.choice.no_room is NoRoom.REJECT
        if method in _BEGINNING or (method == _CREATE and refuses):
            raise CallError(session.INTERNAL, f"numalet: {method} failed: {bug}")
        return b""

    def _configure(self, request: nri.ConfigureRequest) -> Message:
        keys = {"runtime": request.runtime_name, "version": request.runtime_version}
        self._is_containerd = request.runtime_name == "containerd"
        self._say(LogLine("Registered", keys))
        return nri.ConfigureResponse(events=EVENTS)

    def _synchronizer(self) -> Callable[[nri.SynchronizeRequest], Message]:
        def synchronize(pods: list[SeenPod], containers: list[SeenContainer]) -> Message:
            known, refused = self.plan.sandboxes, self.plan.refused
            self.plan = plan.rebuilt(
                self._began, self.plan, pods, containers, self._manifests(), self.devices()
            )
            if self._is_containerd:
                # It gives sandboxes a cgroup, too.
                self.groups.update(each.sandbox_id for each in pods if each.qos_class)
                self.groups.update(
                    each.id for each in containers if each.pid and each.pod.qos_class
                )
            for sandbox_id, pod in self.plan.sandboxes.items():
                if sandbox_id not in known:
                    self._begun(pod)
            self.is_synchronized = True
            self.synchronized()
            for each in plan.unpinned(self.plan):
                self.report_unpinned(each.seen, UnpinnedCause.NOT_CONNECTED)
            for container in containers:
                key = ContainerKey(container.pod.uid, container.name)
                if key in self.plan.refused and key not in refused:
                    self.report_unpinned(container, UnpinnedCause.NO_ROOM)
            return nri.SynchronizeResponse(update=self.updates(plan.updates(self.plan)))

        return Parts(self.choice.permissions, synchronize)

    def _create(self, request: nri.ContainerRequest) -> Message:
        container = self._seen(request.container, request.pod)
        keys = {"pod": str(container.pod), "container": container.name}
        if not (container.in_force.is_empty or container.pod.is_ignored or self.foreign):
            what = "CPUs" if container.in_force.cpus else "NUMA nodes"
            others = "the kubelet or another plugin of the runtime"
            self.observe_only(f"{others} sets the {what} of {container.pod} itself")
        result = self._decided(container)
        if result.refused is not None:
            self.counts.containers["refused"] += 1
            why = plan.why(result.refused)
            self._say(LogLine("No room", {**keys, "why": why}, is_error=True))
            no_room = container.pod.choice.no_room or self.choice.no_room
            if self.refuses and no_room is NoRoom.REJECT:
                self.plan = plan.with_refusal(self.plan, container, result.refused)
                text = f"numalet: no room for {container.pod} on this node: {why}"
                raise CallError(session.FAILED_PRECONDITION, text)
            self.report_unpinned(container, UnpinnedCause.NO_ROOM)
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
        updates = self.updates(plan.updates(self.plan))
        return nri.CreateContainerResponse(adjust=adjust, update=updates)

    def _seen(self, container: nri.Container, pod: nri.PodSandbox) -> SeenContainer:
        return seen.container(container, pod, self.choice.permissions)

    def _decided(self, container: SeenContainer) -> Created:
        manifest = self._manifests().get(container.pod.uid)
        result = plan.created(self.plan, container, manifest, self.devices())
        for resource in result.unknown_devices:
            self.counts.unknown_devices += 1
            text = f"its {resource} was not known in time: CPUs and memory may be far from it"
            self.warn(container.pod, text, EventReason.DEVICES_UNKNOWN)
        pod = manifest or container.alone
        problem = pod_annotations.no_whole_cpus(container.pod.choice, pod)
        # Once for a pod: its containers are created one after the other.
        if problem is not None and container.name == pod.containers()[0].name:
            self.warn(container.pod, str(problem), EventReason.ANNOTATION_IGNORED)
        return result

    def _update(self, request: nri.ContainerRequest) -> Message:
        """Keep our sets if a client of the runtime asks for others, but not again and again."""
        asked = {request.container.id: seen.sets(request.linux_resources)}
        if self.enforces:
            self.note_overrides(asked)
        self.plan = plan.updated(self.plan, asked)
        return nri.UpdatesResponse(update=self.updates(plan.updates(self.plan)))

    def note_overrides(self, sets: Mapping[str, Sets]) -> None:
        """Note what another program set. A container may be left to it then, which is reported."""
        before = plan.left(self.plan)
        self.plan = plan.overridden(self.plan, sets, time.monotonic())
        for each in plan.left(self.plan) - before:
            container = self.plan.members[each].seen
            text = f"container {container.name}: {_LEFT}"
            self.warn(container.pod, text, EventReason.OVERRIDDEN)

    def _stop(self, request: nri.ContainerRequest) -> Message:
        self.plan = plan.container_ended(self.plan, request.container.id)
        return nri.UpdatesResponse(update=self.updates(plan.updates(self.plan)))

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
                begun = seen.pod(pod, self.choice.permissions)
                self._begun(begun)
                self.plan = plan.sandbox_started(self.plan, begun)
            case NriEvent.STOP_POD_SANDBOX | NriEvent.REMOVE_POD_SANDBOX:
                self.plan = plan.sandbox_ended(self.plan, pod.id)
            case NriEvent.POST_START_CONTAINER:
                self._started(self._seen(container, pod))
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
        self.plan = self._decided(container).plan
        self.plan = plan.observed(self.plan, {container.id: container.in_force})
        self.plan = plan.started(self.plan, container.id, container.pid)
        self.report_unpinned(container, UnpinnedCause.NOT_ASKED)

    def updates(self, changes: Mapping[str, Sets]) -> list[nri.ContainerUpdate]:
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


def _place(bug: Exception) -> str:
    """Return the file and the line that raised an exception."""
    trace = bug.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
