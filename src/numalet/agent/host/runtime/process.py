"""The runtime ``process``: containers are host programs, each with a shim.

A cgroup limits the program where there is cgroup v2, else CPU affinity and memory policy. State is
on disk and in the kernel; memory only has pidfds of shims, which also work for those of an earlier
agent.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from numalet.agent.host.cgroup_v2 import interface_files
from numalet.agent.host.cgroup_v2.interface_files import SettingRefusal
from numalet.agent.host.runtime import enforcement, monitoring, offers, starting
from numalet.agent.host.runtime.attempts import RUNS, AttemptFolder, Attempts, AttemptState, moment
from numalet.agent.host.runtime.enforcement import HostCapabilities, ground
from numalet.agent.host.runtime.monitoring import Watched
from numalet.agent.host.runtime.offers import NotifyFifo, StartOffer
from numalet.agent.host.runtime.port import (
    TRANSIENT_ERRORS,
    Answered,
    Arranged,
    Capabilities,
    Ended,
    Launch,
    NotHeld,
    NotStarted,
    Observed,
    Offered,
    Reality,
    Started,
)
from numalet.agent.host.runtime.shim import attempt_files
from numalet.core.enforcement import cgroup_paths
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import ContainerKey
from numalet.shared.findings.runtime import (
    RuntimeForkFailed,
    RuntimeNoCommand,
    RuntimeOfferNotTaken,
    RuntimeRunnerGone,
    RuntimeStorage,
)

_PARENTS: Final = (cgroup_paths.ROOT, cgroup_paths.BURSTABLE, cgroup_paths.BEST_EFFORT)
_PAUSE_SECONDS: Final = 0.01
"""Poll interval for events without a descriptor: an empty cgroup, a released lock."""


class ProcessRuntime:
    """See ``port.Runtime``. ``page_sizes`` are huge page sizes in bytes."""

    def __init__(
        self,
        folder: Path,
        *,
        on: HostCapabilities | None = None,
        page_sizes: Sequence[int] = (),
        patience_seconds: float = 60.0,
    ) -> None:
        self._attempts = Attempts(folder / RUNS)
        self._ground = ground() if on is None else on
        self._page_sizes = tuple(page_sizes)
        self._patience = patience_seconds
        """Seconds for a shim to answer and for a killed program to end."""
        self._watched: dict[ContainerKey, Watched] = {}
        """Attempts with a live shim: from its answer until its pidfd becomes readable."""
        self._fifos: dict[ContainerKey, NotifyFifo] = {}
        """Kept until the pod is forgotten."""
        self._offers: dict[ContainerKey, StartOffer] = {}
        """Orders that are neither accepted nor withdrawn."""
        self._news: asyncio.Queue[Ended | Answered] = asyncio.Queue()

    @property
    def cgroup_root(self) -> Path | None:
        tree = self._ground.tree
        return None if tree is None else tree.root

    def capabilities(self) -> Capabilities:
        return self._ground.capabilities

    async def open(self) -> Sequence[Observed]:
        observed = []
        for attempt in self._attempts.latest():
            state = attempt.state()
            # Its shim may be about to answer an agent that was killed.
            if state is AttemptState.STARTING:
                state = await self._settled(attempt)
            if state is AttemptState.RUNNING and self._watch(attempt):
                observed.append(self._observed(attempt, running=True))
            elif state not in (AttemptState.NOTHING, AttemptState.REFUSED):
                self._finalize(attempt)
                observed.append(self._observed(attempt, running=False))
        return observed

    async def close(self) -> None:
        for watched in self._watched.values():
            watched.close()
        for offer in self._offers.values():
            offer.close()
        for fifo in self._fifos.values():
            fifo.close()
        self._watched.clear()
        self._offers.clear()
        self._fifos.clear()

    async def arrange(self, tree: Mapping[str, CgroupSettings]) -> Arranged:
        tree_here = self._ground.tree
        return Arranged() if tree_here is None else enforcement.arrange(tree_here, tree)

    async def start(self, launch: Launch) -> Started | NotStarted | Offered:
        attempt = self._attempts.of(launch.key, launch.attempt)
        state = attempt.state()
        if launch.runner is not None and state in (AttemptState.NOTHING, AttemptState.STARTING):
            return await self._offer(launch, attempt)
        if state is AttemptState.STARTING:
            # The shim belongs to an earlier agent, or failed and still holds the lock.
            state = await self._settled(attempt)
        if state is AttemptState.NOTHING:
            refused = await self._spawn(launch, attempt)
            if refused is not None:
                return refused
            # The shim has answered by now, so read the result from its files.
            state = attempt.state()
        if state is AttemptState.REFUSED:
            refused = starting.refusal(attempt)
            if refused.is_transient:
                # Remove the answer, so that the same attempt can be started again.
                (attempt.folder / attempt_files.REFUSED).unlink(missing_ok=True)
            return refused
        if state in (AttemptState.NOTHING, AttemptState.STARTING):
            return starting.silent(attempt)
        # The program may have ended already; its end still has to be reported.
        if not self._watch(attempt):
            self._finish(attempt)
        return self._started(attempt)

    async def stop(self, key: ContainerKey, grace_seconds: float) -> None:
        watched = self._watched.get(key)
        if watched is not None:
            watched.stop(grace_seconds)

    async def settle(
        self, settings: ContainerSettings, key: ContainerKey
    ) -> Sequence[str] | NotHeld:
        watched = self._watched.get(key)
        if watched is None:
            return ()
        tree = watched.tree
        if tree is None:
            return await asyncio.to_thread(enforcement.move, watched.pid, settings.cgroup)
        # The kernel migrates pages during this write, so it may take seconds.
        applied = await asyncio.to_thread(
            interface_files.apply, tree, settings.path, settings.cgroup
        )
        if not isinstance(applied, SettingRefusal):
            return applied
        # The container may have ended and its cgroup with it; that is not a refusal.
        gone = self._watched.get(key) is not watched
        return () if gone else NotHeld(applied.why)

    async def reality(self, key: ContainerKey) -> Reality | None:
        watched = self._watched.get(key)
        if watched is None:
            return None
        tree = watched.tree
        if tree is None or watched.cgroup is None:
            return await asyncio.to_thread(enforcement.inspect_processes, watched.pid)
        path = watched.cgroup
        return await asyncio.to_thread(enforcement.inspect_cgroup, tree, path, self._page_sizes)

    async def forget(self, pod_uid: str) -> None:
        """Remove everything of a pod.

        Raises ``OSError`` and keeps the attempt files if it cannot.
        """
        attempts = tuple(self._attempts.all(pod_uid))
        trees = enforcement.trees_of(attempts, self._ground.tree)
        for attempt in attempts:
            watched = self._watched.get(attempt.key)
            # Withdraw first, or a runner could start the program after the kill.
            if (fifo := self._fifos.pop(attempt.key, None)) is not None:
                fifo.close()
                offers.withdraw(attempt)
            if watched is not None:
                watched.kill()
            elif attempt.state() in (AttemptState.RUNNING, AttemptState.STARTING):
                monitoring.kill_remains(attempt, self._ground.tree)
        # A killed process may hang in the kernel, for example on a dead network mount; the task is
        # then retried at the next resync.
        if not await self._until(lambda: not self._watches(pod_uid)):
            raise _busy(str(self._attempts.of_pod(pod_uid)))
        # The QoS class is not recorded, so try every parent.
        for tree, parent in product(trees, _PARENTS):
            path = "/".join(filter(None, (parent, cgroup_paths.pod_segment(pod_uid))))
            if tree.exists(path):
                tree.kill(path)
                if not await self._until(partial(tree.remove, path)):
                    raise _busy(path)
        # Last: these files are needed to find the cgroups again.
        with contextlib.suppress(FileNotFoundError):
            self._attempts.remove(pod_uid)

    async def pods(self) -> Sequence[str]:
        pods = set(self._attempts.pods())
        # A pod has a cgroup before its first attempt has a folder.
        tree = self._ground.tree
        for parent in _PARENTS if tree is not None else ():
            assert tree is not None
            names = (n for n in tree.children(parent) if n.startswith(cgroup_paths.POD_PREFIX))
            uids = (
                cgroup_paths.name_of(name.removeprefix(cgroup_paths.POD_PREFIX)) for name in names
            )
            pods |= {uid for uid in uids if uid is not None}
        return sorted(pods)

    async def news(self) -> AsyncIterator[Ended | Answered]:
        while True:
            yield await self._news.get()

    def log_path(self, key: ContainerKey, attempt: int) -> Path | None:
        path = self._attempts.of(key, attempt).folder / attempt_files.LOG
        return path if path.exists() else None

    async def _spawn(self, launch: Launch, attempt: AttemptFolder) -> NotStarted | None:
        """Give the order to a shim and wait for its answer; what prevented that."""
        if not (launch.spec.command or launch.spec.args):
            return NotStarted(RuntimeNoCommand(container=launch.key.container))
        refused = await self._prepare(launch, attempt)
        if refused is not None:
            return refused
        # Slow on a busy disk, so not in the event loop.
        await asyncio.to_thread(self._attempts.forget_before, attempt)
        try:
            await starting.hand_over(attempt, self._patience)
        except TimeoutError:
            # ``TimeoutError`` is an ``OSError`` too, so catch it first.
            monitoring.kill_remains(attempt, self._ground.tree)
            return starting.silent(attempt)
        except OSError as error:
            return starting.failed(RuntimeForkFailed, error)
        return None

    async def _prepare(self, launch: Launch, attempt: AttemptFolder) -> NotStarted | None:
        """Make the cgroup and write the order."""
        refused = await enforcement.make_empty(self._ground.tree, launch, self._until)
        if refused is not None:
            return NotStarted(refused.why, refused.number in TRANSIENT_ERRORS)
        try:
            attempt.prepare(starting.order(launch, self._ground, attempt))
        except (BadInput, OSError) as error:
            return starting.failed(RuntimeStorage, error)
        return None

    async def _offer(self, launch: Launch, attempt: AttemptFolder) -> NotStarted | Offered:
        """Prepare an attempt for its runner; the runner may have started it already."""
        assert launch.runner is not None
        pidfd = offers.pidfd_of(launch.runner)
        if pidfd is None:
            return NotStarted(RuntimeRunnerGone())
        lock = attempt.lock()
        try:
            # While the agent holds the lock, no runner can accept a half-written order.
            refused = None if lock is None else await self._prepare(launch, attempt)
            if refused is not None:
                os.close(pidfd)
                return refused
            self._subscribe(attempt)
        except OSError:
            os.close(pidfd)
            (attempt.folder / attempt_files.LAUNCH).unlink(missing_ok=True)
            raise
        finally:
            if lock is not None:
                os.close(lock)
        self._offers[attempt.key] = StartOffer(
            pidfd,
            self._patience,
            gone=lambda: self._poll(attempt, RuntimeRunnerGone()),
            late=lambda: self._poll(attempt, RuntimeOfferNotTaken()),
        )
        # The runner may have written before the FIFO was open for reading.
        self._poll(attempt)
        return Offered()

    def _subscribe(self, attempt: AttemptFolder) -> None:
        if attempt.key not in self._fifos:
            self._fifos[attempt.key] = NotifyFifo(attempt, lambda: self._poll(attempt))

    def _poll(self, attempt: AttemptFolder, over: Finding | None = None) -> None:
        """Process the state of a foreground attempt; ``over`` ends its offer."""
        state, key = attempt.state(), attempt.key
        if key not in self._offers:
            if state is AttemptState.ENDED and key in self._watched:
                self._finish(attempt)
            return
        result: Started | NotStarted
        if state in (AttemptState.NOTHING, AttemptState.STARTING):
            # Without the lock the runner is about to answer; its notification follows.
            if not (over and offers.withdraw(attempt)):
                return
            result = NotStarted(over)
        elif state is AttemptState.REFUSED:
            result = starting.refusal(attempt)
        else:
            result = self._started(attempt)
        self._offers.pop(key).close()
        self._news.put_nowait(Answered(key, attempt.number, result))
        if isinstance(result, Started) and not self._watch(attempt):
            self._finish(attempt)

    async def _settled(self, attempt: AttemptFolder) -> AttemptState:
        """Wait until the shim that another agent started has answered."""
        await self._until(lambda: attempt.state() is not AttemptState.STARTING)
        return attempt.state()

    async def _until(self, condition: Callable[[], bool]) -> bool:
        """Poll until the condition holds; False after the timeout."""
        loop = asyncio.get_running_loop()
        last = loop.time() + self._patience
        # Neither the kernel nor other processes notify about these conditions.
        while not (holds := condition()) and loop.time() < last:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE_SECONDS)
        return holds

    def _watches(self, pod_uid: str) -> bool:
        return any(key.pod_uid == pod_uid for key in self._watched)

    def _watch(self, attempt: AttemptFolder) -> bool:
        """Monitor the shim; False if it has ended already."""
        if attempt.key in self._watched:
            return True
        watched = Watched.of(attempt, self._ground.tree, lambda: self._finish(attempt))
        if watched is None:
            return False
        self._watched[attempt.key] = watched
        if (attempt.folder / attempt_files.NOTIFY_FIFO).exists():
            self._subscribe(attempt)
        return True

    def _finish(self, attempt: AttemptFolder) -> None:
        """Report the end of an attempt whose shim has ended."""
        watched = self._watched.pop(attempt.key, None)
        if watched is not None:
            watched.close()
        self._finalize(attempt)
        self._news.put_nowait(Ended(attempt.key, attempt.number, monitoring.exit_of(attempt)))

    def _finalize(self, attempt: AttemptFolder) -> None:
        """Record an end if the shim did not, after killing the remains."""
        if (attempt.folder / attempt_files.END).exists():
            return
        monitoring.kill_remains(attempt, self._ground.tree)
        # Unwritten, the end is determined again at the next start.
        with contextlib.suppress(BadInput):
            monitoring.write_unknown(attempt)

    def _observed(self, attempt: AttemptFolder, *, running: bool) -> Observed:
        started = attempt.document(attempt_files.STARTED) or {}
        order = attempt.document(attempt_files.LAUNCH) or {}
        in_cgroup = enforcement.tree_of(order, self._ground.tree) is not None
        return Observed(
            key=attempt.key,
            attempt=attempt.number,
            started_at=moment(started.get("at")),
            exit=None if running else monitoring.exit_of(attempt),
            level=GuaranteeLevel.KERNEL if in_cgroup else GuaranteeLevel.PROCESS,
        )

    def _started(self, attempt: AttemptFolder) -> Started:
        document = attempt.document(attempt_files.STARTED) or {}
        at = moment(document["at"])
        assert at is not None
        held = self._ground.capabilities
        return Started(at, document["pid"], held.level, (*held.shortfalls, *document["notes"]))


def _busy(what: str) -> OSError:
    """The error for something that stays although the runtime killed everything in it."""
    return OSError(errno.EBUSY, os.strerror(errno.EBUSY), what)
