"""The runtime ``process``: containers are programs of the host, each with a shim.

What a program is held by depends on the machine (``host_capabilities``): a cgroup of its own
where there is cgroup v2, else CPU affinity and memory policy. What is known of containers is on
the disk and in the kernel; kept here are only the shims that are observed, by their pidfd, which
works for those of an earlier agent as it does for our own children.
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

from numalet.agent.host.cgroup_v2 import writing
from numalet.agent.host.cgroup_v2.writing import SettingRefusal
from numalet.agent.host.runtime import (
    cgroup_inspection,
    cgroups,
    ends,
    offers,
    process_inspection,
    starting,
)
from numalet.agent.host.runtime.attempts import RUNS, AttemptFolder, Attempts, AttemptState, moment
from numalet.agent.host.runtime.host_capabilities import HostCapabilities, ground
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
from numalet.agent.host.runtime.watched import Watched
from numalet.core.enforcement import paths
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.enforcement.settings import CgroupSettings, ContainerSettings
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import ContainerKey
from numalet.shared.findings.runtime import (
    RuntimeForkFailed,
    RuntimeNoCommand,
    RuntimeOfferNotTaken,
    RuntimeRunnerGone,
    RuntimeStorage,
)

_PARENTS: Final = (paths.ROOT, paths.BURSTABLE, paths.BEST_EFFORT)
_PAUSE_SECONDS: Final = 0.01
"""Between two polls of what has no descriptor to wait for: an empty cgroup, a lock that is free."""


class ProcessRuntime:
    """See ``port.Runtime``. ``page_sizes`` are those of the machine's huge pages, in bytes."""

    def __init__(
        self,
        folder: Path,
        *,
        on: HostCapabilities | None = None,
        page_sizes: Sequence[int] = (),
        patience_seconds: float = 60.0,
    ) -> None:
        self._attempts = Attempts(folder / RUNS)
        """The attempts on the disk, which hold more than what is kept here."""
        self._ground = ground() if on is None else on
        """What programs are held by; determined once, at the start of the agent."""
        self._page_sizes = tuple(page_sizes)
        self._patience = patience_seconds
        """How long a shim may take to answer, and a killed program to go, in seconds."""
        self._watched: dict[ContainerKey, Watched] = {}
        """The running attempts with a live shim: from its answer until its pidfd is readable."""
        self._fifos: dict[ContainerKey, NotifyFifo] = {}
        """The notify FIFOs of commands in the foreground, until the pod is forgotten."""
        self._offers: dict[ContainerKey, StartOffer] = {}
        """Orders that no runner has accepted yet, and that none has withdrawn."""
        self._news: asyncio.Queue[Ended | Answered] = asyncio.Queue()
        """What ``news`` yields: callbacks of the event loop put, the controller takes out."""

    @property
    def cgroup_root(self) -> Path | None:
        tree = self._ground.tree
        return None if tree is None else tree.root

    def capabilities(self) -> Capabilities:
        """What can be enforced here."""
        return self._ground.capabilities

    async def open(self) -> Sequence[Observed]:
        """Find what an earlier agent left; from here on what runs is watched."""
        observed = []
        for attempt in self._attempts.latest():
            state = attempt.state()
            if state is AttemptState.STARTING:
                state = await self._settled(attempt)
            if state is AttemptState.RUNNING and self._watch(attempt):
                observed.append(self._observed(attempt, running=True))
            elif state not in (AttemptState.NOTHING, AttemptState.REFUSED):
                self._finalize(attempt)
                observed.append(self._observed(attempt, running=False))
        return observed

    async def close(self) -> None:
        """Stop watching. What runs goes on running."""
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
        """Make the cgroups above the containers, if there are any; what was not as wanted."""
        tree_here = self._ground.tree
        return Arranged() if tree_here is None else cgroups.arrange(tree_here, tree)

    async def start(self, launch: Launch) -> Started | NotStarted | Offered:
        """Start one attempt, with all its settings in force before its first instruction."""
        attempt = self._attempts.of(launch.key, launch.attempt)
        state = attempt.state()
        if launch.runner is not None and state in (AttemptState.NOTHING, AttemptState.STARTING):
            return await self._offer(launch, attempt)
        if state is AttemptState.STARTING:
            # Perhaps another agent's, or one that could not start it and still holds the lock.
            state = await self._settled(attempt)
        if state is AttemptState.NOTHING:
            refused = await self._spawn(launch, attempt)
            if refused is not None:
                return refused
            state = attempt.state()
        if state is AttemptState.REFUSED:
            refused = starting.refusal(attempt)
            if refused.is_transient:
                # The answer goes, so that the attempt can be asked for again.
                (attempt.folder / attempt_files.REFUSED).unlink(missing_ok=True)
            return refused
        if state in (AttemptState.NOTHING, AttemptState.STARTING):
            return starting.silent(attempt)
        if not self._watch(attempt):
            self._finish(attempt)
        return self._started(attempt)

    async def stop(self, key: ContainerKey, grace_seconds: float) -> None:
        """Ask the container to end, and kill all of it after the grace period."""
        watched = self._watched.get(key)
        if watched is not None:
            watched.stop(grace_seconds)

    async def settle(
        self, settings: ContainerSettings, key: ContainerKey
    ) -> Sequence[str] | NotHeld:
        """Bring a running container's settings to what is wanted; what had to be written."""
        watched = self._watched.get(key)
        if watched is None:
            return ()
        tree = watched.tree
        if tree is None:
            return await asyncio.to_thread(process_inspection.move, watched.pid, settings.cgroup)
        # Pages move with a set of NUMA nodes, and the write returns when they have.
        applied = await asyncio.to_thread(writing.apply, tree, settings.path, settings.cgroup)
        if not isinstance(applied, SettingRefusal):
            return applied
        # One that ended meanwhile, and whose cgroup was removed, is held to nothing.
        gone = self._watched.get(key) is not watched
        return () if gone else NotHeld(applied.why)

    async def reality(self, key: ContainerKey) -> Reality | None:
        """What the kernel reports of a running container; None if it is not running."""
        watched = self._watched.get(key)
        if watched is None:
            return None
        tree = watched.tree
        if tree is None or watched.cgroup is None:
            return await asyncio.to_thread(process_inspection.inspect, watched.pid)
        path = watched.cgroup
        return await asyncio.to_thread(cgroup_inspection.inspect, tree, path, self._page_sizes)

    async def forget(self, pod_uid: str) -> None:
        """Remove everything of a pod: what may be left running, cgroups, logs, attempt files.

        Raises ``OSError``, and keeps the attempt files, if something of it can not be removed now.
        """
        attempts = tuple(self._attempts.all(pod_uid))
        trees = cgroups.trees_of(attempts, self._ground.tree)
        for attempt in attempts:
            watched = self._watched.get(attempt.key)
            if (fifo := self._fifos.pop(attempt.key, None)) is not None:
                fifo.close()
                offers.withdraw(attempt)
            if watched is not None:
                watched.kill()
            elif attempt.state() in (AttemptState.RUNNING, AttemptState.STARTING):
                ends.kill(attempt, self._ground.tree)
        if not await self._until(lambda: not self._watches(pod_uid)):
            raise _busy(str(self._attempts.of_pod(pod_uid)))
        for tree, parent in product(trees, _PARENTS):
            path = "/".join(filter(None, (parent, paths.pod_segment(pod_uid))))
            if tree.exists(path):
                tree.kill(path)
                if not await self._until(partial(tree.remove, path)):
                    raise _busy(path)
        with contextlib.suppress(FileNotFoundError):
            self._attempts.remove(pod_uid)

    async def pods(self) -> Sequence[str]:
        """The uids of all pods of which this runtime still has anything."""
        pods = set(self._attempts.pods())
        tree = self._ground.tree
        for parent in _PARENTS if tree is not None else ():
            assert tree is not None
            names = (n for n in tree.children(parent) if n.startswith(paths.POD_PREFIX))
            uids = (paths.name_of(name.removeprefix(paths.POD_PREFIX)) for name in names)
            pods |= {uid for uid in uids if uid is not None}
        return sorted(pods)

    async def news(self) -> AsyncIterator[Ended | Answered]:
        """Ends of containers as they happen, and answers to offers; one reader."""
        while True:
            yield await self._news.get()

    def log_path(self, key: ContainerKey, attempt: int) -> Path | None:
        """Where the output of an attempt is; None if there is none."""
        path = self._attempts.of(key, attempt).folder / attempt_files.LOG
        return path if path.exists() else None

    async def _spawn(self, launch: Launch, attempt: AttemptFolder) -> NotStarted | None:
        """Give the order to a shim and wait for its answer; what prevented that."""
        if not (launch.spec.command or launch.spec.args):
            return NotStarted(RuntimeNoCommand(container=launch.key.container))
        refused = await self._prepare(launch, attempt)
        if refused is not None:
            return refused
        await asyncio.to_thread(self._attempts.forget_before, attempt)
        try:
            await starting.hand_over(attempt, self._patience)
        except TimeoutError:
            # It is an ``OSError`` too, so it comes first. The host is busy, nothing else is known.
            ends.kill(attempt, self._ground.tree)
            return starting.silent(attempt)
        except OSError as error:
            return starting.failed(RuntimeForkFailed, error)
        return None

    async def _prepare(self, launch: Launch, attempt: AttemptFolder) -> NotStarted | None:
        """Make the cgroup and write the order; what prevented that."""
        refused = await cgroups.make_empty(self._ground.tree, launch, self._until)
        if refused is not None:
            return NotStarted(refused.why, refused.number in TRANSIENT_ERRORS)
        try:
            attempt.prepare(starting.order(launch, self._ground, attempt))
        except (BadInput, OSError) as error:
            return starting.failed(RuntimeStorage, error)
        return None

    async def _offer(self, launch: Launch, attempt: AttemptFolder) -> NotStarted | Offered:
        """Prepare everything for the runner, unless it is at it already."""
        assert launch.runner is not None
        pidfd = offers.pidfd_of(launch.runner)
        if pidfd is None:
            return NotStarted(RuntimeRunnerGone())
        lock = attempt.lock()
        try:
            # As long as the lock is held no runner accepts what is made anew.
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
        # The runner may have written to the fifo before it was open for reading.
        self._poll(attempt)
        return Offered()

    def _subscribe(self, attempt: AttemptFolder) -> None:
        if attempt.key not in self._fifos:
            self._fifos[attempt.key] = NotifyFifo(attempt, lambda: self._poll(attempt))

    def _poll(self, attempt: AttemptFolder, over: Finding | None = None) -> None:
        """See what became of an attempt in the foreground; ``over`` ends an offer of it."""
        state, key = attempt.state(), attempt.key
        if key not in self._offers:
            if state is AttemptState.ENDED and key in self._watched:
                self._finish(attempt)
            return
        result: Started | NotStarted
        if state in (AttemptState.NOTHING, AttemptState.STARTING):
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
        """The state of an attempt that another agent gave to a shim, when it has answered."""
        await self._until(lambda: attempt.state() is not AttemptState.STARTING)
        return attempt.state()

    async def _until(self, condition: Callable[[], bool]) -> bool:
        """Wait until the condition holds; False if patience ends before."""
        loop = asyncio.get_running_loop()
        last = loop.time() + self._patience
        # Neither the kernel nor other processes announce it.
        while not (holds := condition()) and loop.time() < last:  # noqa: ASYNC110
            await asyncio.sleep(_PAUSE_SECONDS)
        return holds

    def _watches(self, pod_uid: str) -> bool:
        return any(key.pod_uid == pod_uid for key in self._watched)

    def _watch(self, attempt: AttemptFolder) -> bool:
        """Wait for the shim's end from now on; False if the shim has ended already."""
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
        """Report the end after the shim ended."""
        watched = self._watched.pop(attempt.key, None)
        if watched is not None:
            watched.close()
        self._finalize(attempt)
        self._news.put_nowait(Ended(attempt.key, attempt.number, ends.of(attempt)))

    def _finalize(self, attempt: AttemptFolder) -> None:
        """Make sure that an end is written down and nothing is left of the program."""
        if (attempt.folder / attempt_files.END).exists():
            return
        ends.kill(attempt, self._ground.tree)
        with contextlib.suppress(BadInput):
            ends.write_unknown(attempt)

    def _observed(self, attempt: AttemptFolder, *, running: bool) -> Observed:
        started = attempt.document(attempt_files.STARTED) or {}
        order = attempt.document(attempt_files.LAUNCH) or {}
        in_cgroup = cgroups.tree_of(order, self._ground.tree) is not None
        return Observed(
            key=attempt.key,
            attempt=attempt.number,
            started_at=moment(started.get("at")),
            exit=None if running else ends.of(attempt),
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
