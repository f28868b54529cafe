"""A runtime without processes: for tests, and to try the agent on a described machine.

A *fate* decides how a program behaves. By default init containers succeed at once, everything else
runs until stopped; ``exit CODE`` and ``sleep SECONDS`` are understood. With a folder, entries
survive the agent (``fake_files``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeAlias

from numalet.agent.host.runtime import fake_files
from numalet.agent.host.runtime.fake_files import FakeEntry
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
from numalet.core.enforcement import cgroup_paths
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import GuaranteeLevel, differences
from numalet.core.model.pod import ContainerKey, ContainerKind
from numalet.core.model.value import Value, replace
from numalet.core.workload.run import Exit, ExitReason
from numalet.shared.findings.runtime import RuntimeNoForeground

_SIGTERM: Final = 15
_SIGKILL: Final = 9
_FIRST_PID: Final = 1000
_FOREVER_SECONDS: Final = 1e9
"""A longer sleep runs forever."""
_NEXT_TRY: Final = timedelta(seconds=1)
"""Delay before an end that could not be saved is tried again."""
_STARTS_KEPT: Final = 10_000
_MANY_FILES: Final = 50
"""More of them block the event loop noticeably."""


class FakeProgram(Value):
    """Runs until stopped; with ``ignores_term`` until killed."""

    ignores_term: bool = False


class Ends(Value):
    """Ends by itself."""

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


class FakeRuntime:
    """Attributes without an underscore are for tests."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        fate: Callable[[Launch], Fate] = fate_of,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.fate = fate
        self.starts: list[tuple[ContainerKey, int]] = []
        self.doubled: list[tuple[ContainerKey, int]] = []
        """Starts that were requested while another attempt of the same container ran."""
        self.tree: dict[str, CgroupSettings] = {}
        """The settings in force, by path."""
        self.refusals: dict[str, NotHeld] = {}
        """Paths whose settings are rejected, as by a kernel; set by tests."""
        self._folder = folder
        self._clock = clock
        self._entries: dict[ContainerKey, FakeEntry] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._ends: asyncio.Queue[Ended] = asyncio.Queue()
        self._next_pid = _FIRST_PID
        """The last one used; it names no process of the machine."""

    def capabilities(self) -> Capabilities:
        return Capabilities(GuaranteeLevel.NONE)

    async def open(self) -> Sequence[Observed]:
        """Load the entries of an earlier agent. Raises ``BadInput``."""
        self._ends = asyncio.Queue()
        if self._folder is not None:
            entries = map(FakeEntry.of, fake_files.runs(self._folder))
            self._entries = {entry.key: entry for entry in entries}
        for entry in self._entries.values():
            # Continue after the highest id, so that ids stay unique.
            self._next_pid = max(self._next_pid, entry.pid)
            if entry.exit is None and entry.ends_at is not None:
                self._end_at(entry, entry.ends_at)
        return [
            Observed(entry.key, entry.attempt, entry.started_at, entry.exit, GuaranteeLevel.NONE)
            for entry in self._entries.values()
        ]

    def order(self) -> Sequence[str]:
        """Uids of pods in the order of admission after a restart."""
        return () if self._folder is None else fake_files.order(self._folder)

    async def close(self) -> None:
        """Cancel the timers; keep the entries."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    async def arrange(self, tree: Mapping[str, CgroupSettings]) -> Arranged:
        not_held = {path: self.refusals[path] for path in tree if path in self.refusals}
        changed = [
            path
            for path, wanted in tree.items()
            if path not in not_held and self.tree.get(path) != wanted
        ]
        self.tree |= {path: tree[path] for path in changed}
        return Arranged(tuple(changed), not_held)

    async def start(self, launch: Launch) -> Started | NotStarted:
        if launch.runner is not None:
            return NotStarted(RuntimeNoForeground())
        # The agent repeats a start that it recorded before a crash; the answer must be the same.
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
        entry = FakeEntry(
            launch.key, launch.attempt, self._next_pid, now, settings=launch.settings.cgroup
        )
        match fate:
            case FakeProgram(ignores_term):
                entry.ignores_term = ignores_term
            case Ends(code, after_seconds):
                entry.code = code
                entry.ends_at = now + timedelta(seconds=after_seconds)
        # Save first: if that fails, the attempt has not started.
        self._save(entry)
        self._entries[launch.key] = entry
        self.starts.append((launch.key, launch.attempt))
        del self.starts[:-_STARTS_KEPT]
        if entry.ends_at is not None:
            self._end_at(entry, entry.ends_at)
        return _started(entry)

    async def stop(self, key: ContainerKey, grace_seconds: float) -> None:
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
        """End a running program with this code. Raises ``KeyError``."""
        self._end(self._entries[key], code)

    def drift(self, key: ContainerKey, cgroup: CgroupSettings) -> None:
        """Pretend that another process wrote these settings."""
        self._entries[key].settings = cgroup

    def running(self) -> dict[ContainerKey, int]:
        """Attempt numbers of running containers."""
        return {key: each.attempt for key, each in self._entries.items() if each.exit is None}

    def pid_of(self, pod_uid: str, container: str) -> int:
        """Raises ``KeyError``."""
        return self._entries[ContainerKey(pod_uid, container)].pid

    def settings_of(self, key: ContainerKey) -> CgroupSettings | None:
        return self._entries[key].settings

    async def settle(
        self, settings: ContainerSettings, key: ContainerKey
    ) -> Sequence[str] | NotHeld:
        entry = self._entries.get(key)
        if entry is None or entry.exit is not None or entry.settings == settings.cgroup:
            return ()
        if settings.path in self.refusals:
            return self.refusals[settings.path]
        before, wanted = entry.settings or CgroupSettings(), settings.cgroup
        changed = differences(wanted, before)
        # Save before the change in memory, so that a failed write changes nothing.
        self._save(replace(entry, settings=wanted))
        entry.settings = wanted
        return changed

    async def reality(self, key: ContainerKey) -> Reality | None:
        """Pretend that the kernel applies every setting."""
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
        keys = [key for key in self._entries if key.pod_uid == pod_uid]
        if self._folder is not None:
            # A thread costs more than the removal of a few files.
            if len(keys) > _MANY_FILES:
                await asyncio.to_thread(fake_files.forget, self._folder, pod_uid)
            else:
                fake_files.forget(self._folder, pod_uid)
        for key in keys:
            del self._entries[key]
        pod = cgroup_paths.pod_segment(pod_uid)
        for path in [path for path in self.tree if path.endswith(pod)]:
            del self.tree[path]

    def known(self) -> tuple[str, ...]:
        return tuple(sorted({key.pod_uid for key in self._entries}))

    async def pods(self) -> Sequence[str]:
        return self.known()

    async def news(self) -> AsyncIterator[Ended]:
        while True:
            yield await self._ends.get()

    def log_path(self, key: ContainerKey, attempt: int) -> Path | None:
        return None

    def _end_at(self, entry: FakeEntry, moment: datetime) -> None:
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

    def _end(self, entry: FakeEntry, code: int, signal: int | None = None) -> None:
        # A timer may fire after a stop, or after a newer attempt replaced the entry.
        if entry.exit is not None or self._entries.get(entry.key) is not entry:
            return
        ended = Exit(
            code=code,
            reason=ExitReason.COMPLETED if code == 0 else ExitReason.ERROR,
            started_at=entry.started_at,
            finished_at=self._clock(),
            signal=signal,
        )
        # An end that cannot be saved has not happened; the caller tries again.
        self._save(replace(entry, exit=ended))
        entry.exit = ended
        self._ends.put_nowait(Ended(entry.key, entry.attempt, ended))

    def _save(self, entry: FakeEntry) -> None:
        if self._folder is not None:
            fake_files.save(self._folder, entry.kept())


def _started(entry: FakeEntry) -> Started:
    return Started(entry.started_at, entry.pid, GuaranteeLevel.NONE)
