"""A runtime without processes: programs are entries that end when a test or the user asks for it.

For tests, and for trying the agent on a described machine. What a program does is said by a
*fate*: by default an init container ends well at once, everything else runs until it is stopped,
and two words are understood: ``exit CODE`` and ``sleep SECONDS``. With a folder the entries are
kept in it, one small file each, so that they outlive the agent as processes would (``fake_files``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from numalet.agent.host.runtime import fake_files
from numalet.agent.host.runtime.fake_files import KeptExit, KeptRun
from numalet.agent.host.runtime.port import (
    Arranged,
    Capabilities,
    Ended,
    Launch,
    NotHeld,
    NotStarted,
    Observed,
    Reality,
    Started,
)
from numalet.core.enforcement import drift, paths
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.enforcement.settings import CgroupSettings, ContainerSettings
from numalet.core.model.pod import ContainerKey, ContainerKind
from numalet.core.model.value import Mutable, Value, replace
from numalet.core.workload.run import Exit, ExitReason
from numalet.shared.findings.runtime import RuntimeNoForeground

_SIGTERM: Final = 15
_SIGKILL: Final = 9
_FIRST_PID: Final = 1000


class FakeProgram(Value):
    """The program runs until it is stopped; ``ignores_term`` until it is killed."""

    ignores_term: bool = False


class Ends(Value):
    """The program ends by itself."""

    code: int = 0
    after_seconds: float = 0.0


Fate: TypeAlias = FakeProgram | Ends | NotStarted


def fate_of(launch: Launch) -> Fate:
    """The default behaviour of a program."""
    words = (*launch.spec.command, *launch.spec.args)
    try:
        if words[:1] == ("exit",):
            return Ends(int(words[1]))
        if words[:1] == ("sleep",) and 0 <= (seconds := float(words[1])) < _FOREVER_SECONDS:
            return Ends(0, seconds)
    except (IndexError, ValueError):
        return FakeProgram()
    return Ends() if launch.spec.kind is ContainerKind.INIT else FakeProgram()


class _Entry(Mutable):
    """One container: its latest attempt."""

    key: ContainerKey
    attempt: int
    pid: int
    started_at: datetime
    ends_at: datetime | None = None
    code: int = 0
    ignores_term: bool = False
    exit: Exit | None = None
    settings: CgroupSettings | None = None


_FOREVER_SECONDS: Final = 1e9
"""A sleep of this length, or without an end, counts as running."""
_NEXT_TRY: Final = timedelta(seconds=1)
"""How soon an end that could not be kept is tried again."""
_STARTS_KEPT: Final = 10_000


class FakeRuntime:
    """Entries in memory, and in ``folder`` if one is given. Without an underscore: the tests'."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        fate: Callable[[Launch], Fate] = fate_of,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.fate = fate
        """What a program does; a test may put another one here at any time."""
        self.starts: list[tuple[ContainerKey, int]] = []
        """The latest attempts that began, in order."""
        self.doubled: list[tuple[ContainerKey, int]] = []
        """Those that were asked for while another attempt of the same container ran."""
        self.tree: dict[str, CgroupSettings] = {}
        """What would be in force, by path."""
        self.refusals: dict[str, NotHeld] = {}
        """What is refused, as by a kernel, by path; set by tests."""
        self._folder = folder
        """Where entries outlive this process; None for a runtime that is forgotten with it."""
        self._clock = clock
        self._entries: dict[ContainerKey, _Entry] = {}
        """The latest attempt of each container, whether it runs or has ended."""
        self._timers: set[asyncio.TimerHandle] = set()
        """Ends of programs that are yet to come."""
        self._ends: asyncio.Queue[Ended] = asyncio.Queue()
        """Ends that the agent has not asked for yet."""
        self._next_pid = _FIRST_PID
        """The one that was given last; no process of the machine is meant."""

    def capabilities(self) -> Capabilities:
        """Nothing is enforced here."""
        return Capabilities(GuaranteeLevel.NONE)

    async def open(self) -> Sequence[Observed]:
        """What an earlier agent left. Raises ``BadInput`` if it can not be read."""
        self._ends = asyncio.Queue()
        if self._folder is not None:
            entries = map(_entry, fake_files.runs(self._folder))
            self._entries = {entry.key: entry for entry in entries}
        for entry in self._entries.values():
            self._next_pid = max(self._next_pid, entry.pid)
            if entry.exit is None and entry.ends_at is not None:
                self._end_at(entry, entry.ends_at)
        return [
            Observed(entry.key, entry.attempt, entry.started_at, entry.exit, GuaranteeLevel.NONE)
            for entry in self._entries.values()
        ]

    def order(self) -> Sequence[str]:
        """The uids of pods in the order in which they ask again, as far as it was said."""
        return () if self._folder is None else fake_files.order(self._folder)

    async def close(self) -> None:
        """Forget the timers; the entries stay."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    async def arrange(self, tree: Mapping[str, CgroupSettings]) -> Arranged:
        """Keep the settings; the paths whose settings differed."""
        not_held = {path: self.refusals[path] for path in tree if path in self.refusals}
        changed = [
            path
            for path, wanted in tree.items()
            if path not in not_held and self.tree.get(path) != wanted
        ]
        self.tree |= {path: tree[path] for path in changed}
        return Arranged(tuple(changed), not_held)

    async def start(self, launch: Launch) -> Started | NotStarted:
        """Start one attempt, as its fate says. No command can run on a machine not here."""
        if launch.runner is not None:
            return NotStarted(RuntimeNoForeground())
        there = self._entries.get(launch.key)
        if there is not None and there.attempt == launch.attempt:
            return _started(there)
        if there is not None and there.exit is None:
            self.doubled.append((launch.key, launch.attempt))
        fate = self.fate(launch)
        if isinstance(fate, NotStarted):
            return fate
        now = self._clock()
        self._next_pid += 1
        entry = _Entry(
            launch.key, launch.attempt, self._next_pid, now, settings=launch.settings.cgroup
        )
        match fate:
            case FakeProgram(ignores_term):
                entry.ignores_term = ignores_term
            case Ends(code, after_seconds):
                entry.code = code
                entry.ends_at = now + timedelta(seconds=after_seconds)
        self._save(entry)
        self._entries[launch.key] = entry
        self.starts.append((launch.key, launch.attempt))
        del self.starts[:-_STARTS_KEPT]
        if entry.ends_at is not None:
            self._end_at(entry, entry.ends_at)
        return _started(entry)

    async def stop(self, key: ContainerKey, grace_seconds: float) -> None:
        """End the program: at once, or after the grace period if it does not listen."""
        entry = self._entries.get(key)
        if entry is None or entry.exit is not None:
            return
        if entry.ignores_term and grace_seconds > 0:
            entry.code = 128 + _SIGKILL
            self._end_at(entry, self._clock() + timedelta(seconds=grace_seconds))
            return
        signal = _SIGKILL if entry.ignores_term else _SIGTERM
        self._end(entry, 128 + signal, signal)

    def end(self, key: ContainerKey, code: int = 0) -> None:
        """Let a running program end with this code. Raises ``KeyError`` without one."""
        self._end(self._entries[key], code)

    def drift(self, key: ContainerKey, cgroup: CgroupSettings) -> None:
        """Pretend that another process wrote these settings."""
        self._entries[key].settings = cgroup

    def running(self) -> dict[ContainerKey, int]:
        """The running containers and their attempts."""
        return {key: each.attempt for key, each in self._entries.items() if each.exit is None}

    def pid_of(self, pod_uid: str, container: str) -> int:
        """The number of a container's process. Raises ``KeyError`` without one."""
        return self._entries[ContainerKey(pod_uid, container)].pid

    def settings_of(self, key: ContainerKey) -> CgroupSettings | None:
        """The settings with which a container runs now."""
        return self._entries[key].settings

    async def settle(
        self, settings: ContainerSettings, key: ContainerKey
    ) -> Sequence[str] | NotHeld:
        """Keep the settings; the names of those that differed."""
        entry = self._entries.get(key)
        if entry is None or entry.exit is not None or entry.settings == settings.cgroup:
            return ()
        if settings.path in self.refusals:
            return self.refusals[settings.path]
        before, wanted = entry.settings or CgroupSettings(), settings.cgroup
        changed = drift.differences(wanted, before)
        self._save(replace(entry, settings=wanted))
        entry.settings = wanted
        return changed

    async def reality(self, key: ContainerKey) -> Reality | None:
        """The settings, as if the kernel kept to them."""
        entry = self._entries.get(key)
        if entry is None or entry.exit is not None:
            return None
        seen = entry.settings or CgroupSettings()
        return Reality(
            pages_bytes={},
            allowed_cpus=seen.cpus or frozenset(),
            allowed_nodes=seen.memory_nodes or (),
            cgroup=entry.settings,
            processes=1,
        )

    async def forget(self, pod_uid: str) -> None:
        """Remove the pod's entries."""
        if self._folder is not None:
            await asyncio.to_thread(fake_files.forget, self._folder, pod_uid)
        for key in [key for key in self._entries if key.pod_uid == pod_uid]:
            del self._entries[key]
        pod = paths.pod_segment(pod_uid)
        for path in [path for path in self.tree if path.endswith(pod)]:
            del self.tree[path]

    def known(self) -> tuple[str, ...]:
        """The uids of all pods with an entry."""
        return tuple(sorted({key.pod_uid for key in self._entries}))

    async def pods(self) -> Sequence[str]:
        """The uids of all pods with an entry."""
        return self.known()

    async def news(self) -> AsyncIterator[Ended]:
        """Ends of containers as they happen."""
        while True:
            yield await self._ends.get()

    def log_path(self, key: ContainerKey, attempt: int) -> Path | None:
        """Nothing has an output here."""
        return None

    def _end_at(self, entry: _Entry, moment: datetime) -> None:
        delay = max(0.0, (moment - self._clock()).total_seconds())
        loop = asyncio.get_running_loop()

        def over() -> None:
            self._timers.discard(timer)
            try:
                self._end(entry, entry.code)
            except OSError:
                self._end_at(entry, self._clock() + _NEXT_TRY)

        timer = loop.call_later(delay, over)
        self._timers.add(timer)

    def _end(self, entry: _Entry, code: int, signal: int | None = None) -> None:
        if entry.exit is not None or self._entries.get(entry.key) is not entry:
            return
        ended = Exit(
            code=code,
            reason=ExitReason.COMPLETED if code == 0 else ExitReason.ERROR,
            started_at=entry.started_at,
            finished_at=self._clock(),
            signal=signal,
        )
        # An end that cannot be kept has not happened, so the caller tries again.
        self._save(replace(entry, exit=ended))
        entry.exit = ended
        self._ends.put_nowait(Ended(entry.key, entry.attempt, ended))

    def _save(self, entry: _Entry) -> None:
        if self._folder is None:
            return
        fake_files.save(self._folder, _kept(entry))


def _started(entry: _Entry) -> Started:
    return Started(entry.started_at, entry.pid, GuaranteeLevel.NONE)


def _kept(entry: _Entry) -> KeptRun:
    ended = entry.exit
    return KeptRun(
        pod_uid=entry.key.pod_uid,
        container=entry.key.container,
        attempt=entry.attempt,
        pid=entry.pid,
        started_at=entry.started_at,
        ends_at=entry.ends_at,
        code=entry.code,
        ignores_term=entry.ignores_term,
        exit=None if ended is None else KeptExit(ended.code, ended.finished_at),
    )


def _entry(kept: KeptRun) -> _Entry:
    ended = None
    if kept.exit is not None:
        code = kept.exit.code
        ended = Exit(
            code=code,
            reason=ExitReason.COMPLETED if code == 0 else ExitReason.ERROR,
            started_at=kept.started_at,
            finished_at=kept.exit.finished_at,
            signal=code - 128 if code > 128 else None,
        )
    return _Entry(
        ContainerKey(kept.pod_uid, kept.container),
        kept.attempt,
        kept.pid,
        kept.started_at,
        kept.ends_at,
        kept.code,
        kept.ignores_term,
        ended,
    )
