"""The worker: the worker that alone calls the runtime, one task after the other.

It keeps nothing that matters. What is to be done it reads from the node state at the moment when
it does it, so a task that waited long is done as of now, or not at all. What came of it goes back
to the controller as a fact.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol, assert_never

from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import (
    Began,
    Delayed,
    Fact,
    Forgotten,
    ResyncResult,
    StartWithdrawn,
)
from numalet.agent.controller.tasks import (
    ForgetPod,
    Resync,
    Settle,
    StartContainer,
    StopContainer,
    Task,
)
from numalet.agent.host.runtime.port import (
    TRANSIENT_ERRORS,
    Launch,
    NotHeld,
    NotStarted,
    Offered,
    Reality,
    Runtime,
    Started,
)
from numalet.agent.telemetry import node_log
from numalet.core.enforcement import drift, paths
from numalet.core.enforcement.audit import Audit
from numalet.core.enforcement.settings import CgroupSettings, ContainerSettings
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey
from numalet.core.workload import lifecycle
from numalet.core.workload.run import ContainerPhase
from numalet.io import os_problem
from numalet.io.tasks import ended
from numalet.shared.findings.runtime import RuntimeFailed
from numalet.wording.log_line import LogLine

_TREE: Final = ContainerKey("", "")
"""The key of the cgroups above the containers, where settings are reported by container."""

START_PATIENCE_SECONDS: Final = 300.0
"""How long a start is tried again for which the host lacks processes, memory or files. It outlasts
a burst of starts; a lack that lasts longer is a failure that the pod's back-off deals with."""
_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 10.0
"""The pause doubles up to this, the kubelet's first back-off of a container that ends."""

_SETS: Final = (drift.CPUS, drift.MEMS)
_LEVEL: Final = "cgroup"
"""The label of cgroups above the containers; a label per pod would have no limit."""


class DesiredSettings(Protocol):
    """What the node state means for the kernel."""

    def tree(self, state: NodeState) -> Mapping[str, CgroupSettings]:
        """The cgroups above the containers, by path."""

    def branch(self, state: NodeState, pod_uid: str) -> Mapping[str, CgroupSettings]:
        """The cgroup of one pod, by path."""

    def container(self, state: NodeState, key: ContainerKey) -> ContainerSettings:
        """The settings of a container that runs or starts."""

    def cpus(self, state: NodeState, key: ContainerKey) -> CpuSet | None:
        """The CPUs among these settings: all of them that can change while it runs."""

    def audit(self, state: NodeState, key: ContainerKey, seen: Reality, now: datetime) -> Audit:
        """The difference between the kernel's report and the allocation."""


class DeviceInjection(Protocol):
    """What device plugins add to a container."""

    def may_block(self, state: NodeState, key: ContainerKey) -> bool:
        """Whether the start calls a plugin."""

    async def before_start(
        self, state: NodeState, key: ContainerKey
    ) -> Mapping[str, str] | NotStarted:
        """The container's environment, or why it cannot start."""


class Worker:
    """Does tasks in order. ``state`` gives the one that is safe on the disk."""

    def __init__(
        self,
        runtime: Runtime,
        desired: DesiredSettings,
        state: Callable[[], NodeState],
        report: Callable[[Fact], None],
        clock: Callable[[], datetime],
        devices: DeviceInjection,
        log: Callable[[Sequence[LogLine]], None] = lambda lines: None,
        start_patience_seconds: float = START_PATIENCE_SECONDS,
    ) -> None:
        self._start_patience = start_patience_seconds
        self._devices = devices
        self._log = log
        """Takes the lines about starts and about what is written into cpusets."""
        self._runtime = runtime
        self._desired = desired
        self._state = state
        """The node state that is safe on the disk, asked for anew by every task."""
        self._report = report
        self._clock = clock
        self._tasks: asyncio.Queue[Task] = asyncio.Queue()
        """What waits, in order: the controller adds, and so do starts that are tried again."""
        self._applied_cpus: CpuLedger | None = None
        """The ledger to which running containers were brought last; compared by identity."""
        self._applied: dict[ContainerKey, ContainerSettings] = {}
        """The settings last in force for each container; a difference from them is drift."""
        self._applied_tree: Mapping[str, CgroupSettings] = {}
        """The same for the cgroups above the containers, by path."""
        self._failed: list[Task] = []
        """Tasks that the operating system refused; the next resync tries them again."""
        self._resync_is_queued = False
        self._queued_stops: set[StopContainer] = set()
        self._delayed: dict[StartContainer, tuple[float, float]] = {}
        """Starts that wait for the host: when each was first tried, and the next pause."""
        self._plugin_answers: dict[StartContainer, Mapping[str, str] | NotStarted] = {}
        """Answers of plugins about a start that is queued again, until it takes place."""
        self._plugin_calls: dict[StartContainer, asyncio.Task[None]] = {}
        """Starts about which plugins are being asked, beside the other tasks."""
        self.not_held: Mapping[ContainerKey, NotHeld] = {}
        """What the kernel did not hold as desired at the last resync; shown in the view."""
        self.problem = ""
        """Why the last task failed, empty if it did not; shown in the view."""

    def enqueue(self, tasks: Iterable[Task]) -> None:
        """Put tasks at the end of the queue; a resync, or a certain stop, only if none waits."""
        for task in tasks:
            if isinstance(task, StopContainer):
                # Every change of a pod asks again for the end of all that still runs of it.
                if task in self._queued_stops:
                    continue
                self._queued_stops.add(task)
            if isinstance(task, Resync):
                if self._resync_is_queued:
                    # The next one sees what this one would; else they pile up where one is slow.
                    continue
                self._resync_is_queued = True
            self._tasks.put_nowait(task)

    async def idle(self) -> None:
        """Wait until nothing is left to do."""
        await self._tasks.join()
        while self._plugin_calls:
            await asyncio.wait([*self._plugin_calls.values()])
            await self._tasks.join()

    async def run(self) -> None:
        """Process tasks until cancelled."""
        try:
            while True:
                task = await self._tasks.get()
                try:
                    await self._try(task)
                finally:
                    self._tasks.task_done()
                # Not every runtime has to wait for something, and a pod may have many containers.
                await asyncio.sleep(0)
        finally:
            await ended(*self._plugin_calls.values())

    async def _try(self, task: Task) -> None:
        try:
            await self._do(task)
            if not self._failed:
                self.problem = ""
        except OSError as error:
            # The runtime failed, the node state is sound; the next resync tries again.
            self.problem = os_problem.text(error)
            if not isinstance(task, Settle | Resync):
                self._failed.append(task)

    async def _do(self, task: Task) -> None:
        match task:
            case StartContainer():
                await self._start(task)
            case StopContainer(key, grace_seconds):
                self._queued_stops.discard(task)
                await self._runtime.stop(key, grace_seconds)
            case ForgetPod(pod_uid) if _goes_on(self._state(), pod_uid):
                # It could not be done when it was asked for, and the uid has come again.
                return
            case ForgetPod(pod_uid):
                await self._runtime.forget(pod_uid)
                for key in [key for key in self._applied if key.pod_uid == pod_uid]:
                    del self._applied[key]
                self._report(Forgotten(pod_uid))
            case Settle():
                await self._settle()
            case Resync():
                self._resync_is_queued = False
                await self._resync()
            case _:
                assert_never(task)

    def _hand_over(self, task: StartContainer, state: NodeState) -> None:
        """Ask the plugins aside, and start the container when they have answered."""

        async def asked() -> None:
            try:
                self._plugin_answers[task] = await self._devices.before_start(state, task.key)
            finally:
                del self._plugin_calls[task]
            self._tasks.put_nowait(task)

        if task not in self._plugin_calls:
            self._plugin_calls[task] = asyncio.create_task(asked())

    async def _start(self, task: StartContainer) -> None:
        key, attempt = task.key, task.attempt
        given = self._plugin_answers.pop(task, None)
        delayed = self._delayed.pop(task, None)
        state = self._state()
        record = state.records.get(key.pod_uid)
        if record is None or not _is_due(state, key, attempt):
            return
        if lifecycle.is_ending(record.workload, record.run):
            self._report(StartWithdrawn(key))
            return
        if given is None and self._devices.may_block(state, key):
            if delayed is not None:
                self._delayed[task] = delayed
            self._hand_over(task, state)
            return
        result: Started | NotStarted | Offered
        try:
            # The former users of these CPUs or this memory leave before the new one comes.
            await self._settle()
            state = self._state()
            if key.pod_uid not in state.records or not _is_due(state, key, attempt):
                return
            await self._runtime.arrange(self._desired.branch(state, key.pod_uid))
            handed = await self._devices.before_start(state, key) if given is None else given
            if isinstance(handed, NotStarted):
                self._report(Began(key, attempt, handed))
                return
            settings = self._desired.container(state, key)
            launch = Launch(
                key=key,
                attempt=attempt,
                spec=record.workload.container(key.container),
                settings=settings,
                environment=handed,
                runner=record.workload.runner,
            )
            result = await self._runtime.start(launch)
            self._applied[key] = settings
            if not isinstance(result, NotStarted):
                pod, nodes = record.workload.pod, settings.cgroup.memory_nodes or ()
                self._log(node_log.of_start_of_container(pod, key.container, nodes))
                self._log_cpuset(state, key, settings.cgroup)
        except OSError as error:
            why = RuntimeFailed(error=os_problem.text(error))
            result = NotStarted(why, error.errno in TRANSIENT_ERRORS)
        if isinstance(result, NotStarted) and result.is_transient and self._delay(task, delayed):
            self._report(Delayed(key, result))
            return
        if not isinstance(result, Offered):
            self._report(Began(key, attempt, result))

    def _delay(self, task: StartContainer, before: tuple[float, float] | None) -> bool:
        """Try a start again a little later, unless that was done for long enough.

        ``before`` is when it was tried first, and how long is waited now.
        """
        loop = asyncio.get_running_loop()
        since, pause = before or (loop.time(), _FIRST_PAUSE_SECONDS)
        if loop.time() - since >= self._start_patience:
            return False
        self._delayed[task] = since, min(2 * pause, _LONGEST_PAUSE_SECONDS)
        loop.call_later(pause, self.enqueue, [task])
        return True

    async def _settle(self) -> None:
        """Bring what runs to the node state, where the allocations became different.

        Of what runs only the shared CPUs can change, and those with the ledger of CPUs. The
        cgroups above are brought to their sums at every resync.
        """
        state = self._state()
        cpus = state.node.snapshot.cpu
        if cpus is self._applied_cpus:
            return
        # What was started a moment ago runs too, though the node state may not say so yet.
        for key in (*running(state), *self._begun(state)):
            given = self._applied.get(key)
            if given is None or given.cgroup.cpus != self._desired.cpus(state, key):
                desired = self._desired.container(state, key)
                done = await self._runtime.settle(desired, key)
                # What is refused here is refused at the next resync too, which reports it.
                if not isinstance(done, NotHeld):
                    self._applied[key] = desired
                    self._log_cpuset(state, key, desired.cgroup, done)
        self._applied_cpus = cpus

    def _begun(self, state: NodeState) -> list[ContainerKey]:
        """What was given settings and is still on its way, by the node state."""
        return [
            key
            for key in self._applied
            if key.pod_uid in state.records
            and state.records[key.pod_uid].run.of(key.container).phase is ContainerPhase.STARTING
        ]

    async def _resync(self) -> None:
        failed, self._failed = self._failed, []
        for task in failed:
            await self._try(task)
        state = self._state()
        corrected: dict[ContainerKey, tuple[str, ...]] = {}
        audits: dict[ContainerKey, Audit] = {}
        tree = self._desired.tree(state)
        arranged = await self._runtime.arrange(tree)
        # Sums change with the pods; drift is what changed although the same was wanted before.
        if drifted := [p for p in arranged.written if self._applied_tree.get(p) == tree[p]]:
            corrected[_TREE] = (_LEVEL,) * len(drifted)
        not_held = {_holder(path): each for path, each in arranged.not_held.items()}
        self._applied_tree = {
            path: each for path, each in tree.items() if path not in arranged.not_held
        }
        for key in running(state):
            desired = self._desired.container(state, key)
            written = await self._runtime.settle(desired, key)
            if isinstance(written, NotHeld):
                not_held[key] = written
            else:
                if written and self._applied.get(key) == desired:
                    corrected[key] = tuple(written)
                self._applied[key] = desired
                self._log_cpuset(state, key, desired.cgroup, written)
            await asyncio.sleep(0)
            seen = await self._runtime.reality(key)
            if seen is not None:
                audits[key] = self._desired.audit(state, key, seen, self._clock())
        known, self.not_held = self.not_held, not_held
        news = {key: each for key, each in not_held.items() if known.get(key) != each}
        self._report(ResyncResult(audits, corrected, news))

    def _log_cpuset(
        self,
        state: NodeState,
        key: ContainerKey,
        cgroup: CgroupSettings,
        names: Sequence[str] = _SETS,
    ) -> None:
        pod = state.records[key.pod_uid].workload.pod
        cpus = cgroup.cpus if drift.CPUS in names else None
        nodes = cgroup.memory_nodes if drift.MEMS in names else None
        self._log(node_log.of_cpuset(pod, key.container, cpus, nodes))


def _holder(path: str) -> ContainerKey:
    """The key of a cgroup above the containers: that of its pod, or ``_TREE``."""
    name = path.rpartition("/")[2]
    uid = paths.name_of(name.removeprefix(paths.POD_PREFIX))
    return ContainerKey(uid, "") if uid and name.startswith(paths.POD_PREFIX) else _TREE


def _goes_on(state: NodeState, pod_uid: str) -> bool:
    """Whether the pod exists and is not being deleted."""
    record = state.records.get(pod_uid)
    return record is not None and record.run.deletion is None


def running(state: NodeState) -> list[ContainerKey]:
    """Every container that runs, by the node state."""
    return [
        ContainerKey(uid, name)
        for uid, record in state.records.items()
        for name, run in record.run.containers.items()
        if run.phase is ContainerPhase.RUNNING
    ]


def _is_due(state: NodeState, key: ContainerKey, attempt: int) -> bool:
    run = state.records[key.pod_uid].run.of(key.container)
    return run.phase is ContainerPhase.STARTING and run.attempt == attempt
