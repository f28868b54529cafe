"""The worker: the only caller of the runtime, one task at a time.

Each task reads the present node state, so a delayed task is still correct, or does nothing. Results
return to the controller as facts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, assert_never

from numalet.agent.controller.dependencies import START_PATIENCE_SECONDS, DeviceInjection
from numalet.agent.controller.desired_settings import DesiredSettings
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import (
    Began,
    Delayed,
    Fact,
    Forgotten,
    ResyncResult,
    StartWithdrawn,
)
from numalet.agent.controller.steps import (
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
    Runtime,
    Started,
)
from numalet.agent.telemetry import kubelet_log
from numalet.core.enforcement import cgroup_paths, comparison
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import Audit
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model.pod import ContainerKey
from numalet.core.workload import lifecycle
from numalet.core.workload.run import ContainerPhase
from numalet.io import os_problem
from numalet.io.tasks import ended
from numalet.shared.findings.runtime import RuntimeFailed
from numalet.wording.log_line import LogLine

_TREE: Final = ContainerKey("", "")
"""Key of the cgroups above the containers in reports by container."""

_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 10.0
"""The pause doubles up to the kubelet's first back-off."""

_SETS: Final = (comparison.CPUS, comparison.MEMS)
_LEVEL: Final = "cgroup"
"""One label for all cgroups above: a label per pod would be unbounded."""


class Worker:
    """Does tasks in order; ``state`` returns the state on disk."""

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
        self._runtime = runtime
        self._desired = desired
        self._state = state
        self._report = report
        self._clock = clock
        self._tasks: asyncio.Queue[Task] = asyncio.Queue()
        """From the controller, and retried starts."""
        self._applied_cpus: CpuLedger | None = None
        """The last applied ledger; compared by identity."""
        self._applied: dict[ContainerKey, ContainerSettings] = {}
        """The last applied settings of each container; differences from them are drift."""
        self._applied_tree: Mapping[str, CgroupSettings] = {}
        """The last applied cgroups above the containers, by path."""
        self._failed: list[Task] = []
        """Tasks that failed in the system; the next resync retries them."""
        self._resync_is_queued = False
        self._queued_stops: set[StopContainer] = set()
        self._delayed: dict[StartContainer, tuple[float, float]] = {}
        """First attempt and next pause of delayed starts."""
        self._plugin_answers: dict[StartContainer, Mapping[str, str] | NotStarted] = {}
        """Answers for starts that are queued again."""
        self._plugin_calls: dict[StartContainer, asyncio.Task[None]] = {}
        """Running calls of plugins."""
        self.not_held: Mapping[ContainerKey, NotHeld] = {}
        """Refusals by the kernel at the last resync."""
        self.problem = ""
        """The error of the last task, or empty."""

    def enqueue(self, tasks: Iterable[Task]) -> None:
        """Queue tasks; skip a resync or stop that is already queued."""
        for task in tasks:
            if isinstance(task, StopContainer):
                # Every change of a pod repeats the stops of all its running containers.
                if task in self._queued_stops:
                    continue
                self._queued_stops.add(task)
            if isinstance(task, Resync):
                if self._resync_is_queued:
                    # The queued one will do the same; else they pile up when a resync is slow.
                    continue
                self._resync_is_queued = True
            self._tasks.put_nowait(task)

    async def idle(self) -> None:
        """Wait until all tasks are done."""
        await self._tasks.join()
        while self._plugin_calls:
            await asyncio.wait([*self._plugin_calls.values()])
            await self._tasks.join()

    async def run(self) -> None:
        try:
            while True:
                task = await self._tasks.get()
                try:
                    await self._try(task)
                finally:
                    self._tasks.task_done()
                # Some runtimes never wait, and a pod may have many containers.
                await asyncio.sleep(0)
        finally:
            await ended(*self._plugin_calls.values())

    async def _try(self, task: Task) -> None:
        try:
            await self._do(task)
            # A success does not end the problem while other tasks still wait for their retry.
            if not self._failed:
                self.problem = ""
        except OSError as error:
            # The node state is still right, so the next resync retries the task.
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
                # The removal failed before, and a new pod with this uid exists.
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
        """Call the plugins in a separate task; queue the start again with the answers."""

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
        # The state may have changed while the task waited.
        if record is None or not _is_due(state, key, attempt):
            return
        if lifecycle.is_ending(record.workload, record.run):
            self._report(StartWithdrawn(key))
            return
        # A plugin may take many seconds; the worker does one task at a time, so others would wait
        # for it.
        if given is None and self._devices.may_block(state, key):
            if delayed is not None:
                self._delayed[task] = delayed
            self._hand_over(task, state)
            return
        result: Started | NotStarted | Offered
        try:
            # Previous users of these CPUs and this memory must leave first.
            await self._settle()
            # Settling waits for the runtime, so read the state again.
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
            # Record even a failed start: the cgroup has these settings.
            self._applied[key] = settings
            if not isinstance(result, NotStarted):
                pod, nodes = record.workload.pod, settings.cgroup.memory_nodes or ()
                self._log(kubelet_log.of_start_of_container(pod, key.container, nodes))
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
        """Retry a start later; False after the total patience.

        ``before``: time of the first attempt, and the pause.
        """
        loop = asyncio.get_running_loop()
        since, pause = before or (loop.time(), _FIRST_PAUSE_SECONDS)
        if loop.time() - since >= self._start_patience:
            return False
        self._delayed[task] = since, min(2 * pause, _LONGEST_PAUSE_SECONDS)
        loop.call_later(pause, self.enqueue, [task])
        return True

    async def _settle(self) -> None:
        """Apply changed allocations to running containers.

        Only shared CPUs can change at run time, with the CPU ledger. Cgroups above are updated at
        each resync.
        """
        state = self._state()
        cpus = state.node.snapshot.cpu
        # By identity: most starts belong to pods without exclusive CPUs and leave the ledger
        # unchanged.
        if cpus is self._applied_cpus:
            return
        # A start may not be in the state yet, but its program already runs.
        for key in (*running(state), *self._begun(state)):
            given = self._applied.get(key)
            if given is None or given.cgroup.cpus != self._desired.cpus(state, key):
                desired = self._desired.container(state, key)
                done = await self._runtime.settle(desired, key)
                # The next resync fails too, and reports it.
                if not isinstance(done, NotHeld):
                    self._applied[key] = desired
                    self._log_cpuset(state, key, desired.cgroup, done)
        self._applied_cpus = cpus

    def _begun(self, state: NodeState) -> list[ContainerKey]:
        """Containers with settings whose start is not in the state yet."""
        return [
            key
            for key in self._applied
            if key.pod_uid in state.records
            and state.records[key.pod_uid].run.of(key.container).phase is ContainerPhase.STARTING
        ]

    async def _resync(self) -> None:
        failed, self._failed = self._failed, []
        # Failed starts and stops before the settings, so that these apply to the containers that
        # run now.
        for task in failed:
            await self._try(task)
        state = self._state()
        corrected: dict[ContainerKey, tuple[str, ...]] = {}
        audits: dict[ContainerKey, Audit] = {}
        tree = self._desired.tree(state)
        arranged = await self._runtime.arrange(tree)
        # Sums change with the pods; drift is a difference without a change of the wanted value.
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
            # A resync of many containers must not block clients.
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
        cpus = cgroup.cpus if comparison.CPUS in names else None
        nodes = cgroup.memory_nodes if comparison.MEMS in names else None
        self._log(kubelet_log.of_cpuset(pod, key.container, cpus, nodes))


def _holder(path: str) -> ContainerKey:
    """The key of a cgroup above: its pod's, or ``_TREE``."""
    name = path.rpartition("/")[2]
    uid = cgroup_paths.name_of(name.removeprefix(cgroup_paths.POD_PREFIX))
    return ContainerKey(uid, "") if uid and name.startswith(cgroup_paths.POD_PREFIX) else _TREE


def _goes_on(state: NodeState, pod_uid: str) -> bool:
    record = state.records.get(pod_uid)
    return record is not None and record.run.deletion is None


def running(state: NodeState) -> list[ContainerKey]:
    return [
        ContainerKey(uid, name)
        for uid, record in state.records.items()
        for name, run in record.run.containers.items()
        if run.phase is ContainerPhase.RUNNING
    ]


def _is_due(state: NodeState, key: ContainerKey, attempt: int) -> bool:
    run = state.records[key.pod_uid].run.of(key.container)
    return run.phase is ContainerPhase.STARTING and run.attempt == attempt
