"""The node state on disk, below the agent's root folder.

A commit writes state files, records and journal, in this order; files and records all or nothing.
The next commit repeats what a failed one left incomplete. Unreadable records and damaged lines go
to quarantine: the agent ends the programs of these pods and releases their allocations, so nothing
runs unmonitored and nothing is allocated twice.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

from numalet.agent.controller import root_folder, store_files
from numalet.agent.controller.journal import Journal
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.root_folder import LOCK
from numalet.agent.controller.store_files import RecordFile
from numalet.agent.host.runtime.shim import process_tree
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.workload.records import PodRecord, Records
from numalet.io import os_problem
from numalet.io.agent_client.places import KUBECONFIG
from numalet.io.files import atomic, state_directory
from numalet.io.files.state_directory import DEVICE_PLUGINS, StateDirectory
from numalet.shared.findings.agent import (
    AgentNodeStateHeld,
    AgentRootUnusable,
    RecordDamagedLine,
    RecordQuarantined,
)

_RELEASE_SECONDS: Final = 3.0
"""How long a lock may outlive an agent that was killed while it started a program."""
_COMMANDS_SECONDS: Final = 10.0
"""Commands hold the lock in turn, each for a fraction of a second."""
_PAUSE_SECONDS: Final = 0.01
_WRITTEN: Final = (
    *state_directory.FILE_NAMES,
    store_files.RECORD_FILE,
    store_files.QUARANTINE,
    store_files.NODE_FILE,
    KUBECONFIG,
)

Encode: TypeAlias = Callable[[PodRecord], bytes]
Decode: TypeAlias = Callable[[bytes, str], PodRecord]
"""From a text and its file's name. Raises ``BadInput``."""


class StorageFailed(Exception):  # noqa: N818 - the disk failed, not the program
    """The node state cannot be written; ``problem`` is the error of the system."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class StoredState(Value):
    """State files by name, and records by uid, oldest first.

    ``unreadable``: findings about the quarantine.
    """

    state_files: Mapping[str, str]
    records: Mapping[str, PodRecord]
    unreadable: tuple[Finding, ...] = ()


class Store:
    """Files below one root folder; one process at a time."""

    def __init__(self, root: Path, encode: Encode, decode: Decode) -> None:
        self.root = root
        self.journal = Journal(root)
        """A start reads its events, so that the API still shows them."""
        self._encode = encode
        self._decode = decode
        self._lock: int | None = None
        """From ``open`` to ``close``."""
        self._directory = StateDirectory(root, {})
        """The state files on disk; empty if unknown."""
        self._records = RecordFile(root)
        self.journal_problem = ""
        """The error of the last journal write, or empty."""

    def open(self) -> StoredState:
        """Make folders, lock, read everything.

        Raises ``BadInput`` if the folder is another user's, is locked, or has an unreadable file.
        """
        try:
            root_folder.claim(self.root, [DEVICE_PLUGINS])
            self.root.chmod(root_folder.MODE)
            self._lock = _locked(self.root / LOCK)
        except OSError as error:
            raise BadInput(
                [
                    AgentRootUnusable(
                        path=str(self.root),
                        error=os_problem.text(error),
                        where=_here(self.root),
                    )
                ]
            ) from None
        # Only under the lock: temporary files of a live agent must stay.
        for folder in (self.root, self.root / DEVICE_PLUGINS):
            atomic.sweep(folder, _WRITTEN)
        self._directory = state_directory.read(self.root)
        records, unreadable = self._read_records()
        # The order of acceptance is that of the admissions, and a restart repeats them in this
        # order.
        records.sort(key=lambda record: (record.run.accepted_at, record.resource_version))
        by_uid = {record.uid: record for record in records}
        return StoredState(self._directory.files, by_uid, unreadable)

    def _read_records(self) -> tuple[list[PodRecord], tuple[Finding, ...]]:
        """Readable records, and findings about the quarantine."""
        texts, records = store_files.read_records(self.root), list[PodRecord]()
        path, kept = self._records.path, self.root / store_files.QUARANTINE
        bad: dict[bytes, Finding] = {
            text: RecordDamagedLine(line=number, kept=str(kept), where=_here(path))
            for number, text in texts.damaged.items()
        }
        for uid, text in texts.by_uid.items():
            try:
                records.append(self._decode(text, str(path)))
            except BadInput as unreadable:
                problem = str(unreadable.findings[0])
                where = unreadable.findings[0].where
                bad[text] = RecordQuarantined(uid=uid, problem=problem, kept=str(kept), where=where)
        # Before the next commit, which rewrites the file without these texts.
        if bad:
            store_files.quarantine(self.root, bad)
        return records, tuple(bad.values())

    def close(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def commit(
        self, before: NodeState | None, after: NodeState, lines: Iterable[Mapping[str, Any]]
    ) -> None:
        """Write the differences. Blocks. Raises ``StorageFailed``."""
        old = Records() if before is None else before.records
        changed = {
            uid: self._encode(after.records[uid]) for uid in after.records.changed_since(old)
        }
        gone = old.keys() - after.records.keys()
        try:
            self._write(before, after, changed, gone)
        except (BadInput, OSError) as error:
            # The failed write may have replaced some files, so do not compare them with memory.
            self._directory = StateDirectory(self.root, {})
            raise StorageFailed(os_problem.text(error)) from None
        self._note(lines)

    def _write(
        self,
        before: NodeState | None,
        after: NodeState,
        changed: Mapping[str, bytes],
        gone: Collection[str],
    ) -> None:
        texts: dict[Path, str | bytes] = {}
        files = self._directory.files
        # Encoding the state files is expensive; skip it if no part has changed.
        if before is None or not files or not _same_files(before.node, after.node):
            wanted = after.node.state_files()
            for name in sorted(wanted):
                if files.get(name) != wanted[name]:
                    texts[self._directory.path_of(name)] = wanted[name]
            files = wanted
        whole = self._records.whole(changed, gone, _outdated(before, after, changed))
        if whole is not None:
            texts[self._records.path] = whole
        # With several files, an intent on disk covers this block, so that a start can settle a
        # crash in it.
        with ExitStack() as until_written:
            until_written.enter_context(atomic.replaced(texts))
            self._directory = self._directory.holding(files)
            appended = []
            if whole is None and (changed or gone):
                descriptor = until_written.enter_context(self._records.appended(changed, gone))
                appended.append((self._records.path, descriptor))
            # One fsync for all: only now the commit is durable.
            atomic.sync_folders({path.parent for path in texts}, appended)
        self._records.keep(changed, gone, whole)

    def _note(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """A failed journal write is only a note, because no decision reads it."""
        try:
            self.journal.append(lines)
            self.journal_problem = ""
        except OSError as error:
            self.journal_problem = os_problem.text(error)


def _outdated(before: NodeState | None, after: NodeState, changed: Collection[str]) -> list[str]:
    """Uids of pods whose programs changed; their old texts must leave the disk."""
    if before is None:
        return []
    both = ((uid, before.records.get(uid)) for uid in changed)
    return [
        uid
        for uid, old in both
        # By identity: a revised manifest makes new container objects, and any of them may have lost
        # a secret.
        if old is not None and old.workload.containers is not after.records[uid].workload.containers
    ]


def _same_files(before: Node, after: Node) -> bool:
    """Whether the state files are surely equal, judged by identity."""
    old, new = before.snapshot, after.snapshot
    return (
        before.rules is after.rules
        and old.cpu is new.cpu
        and old.memory is new.memory
        and old.device is new.device
        and old.files_as_read is new.files_as_read
    )


def _locked(path: Path) -> int:
    """Lock the file, write this pid into it, return the descriptor."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    begin = time.monotonic()
    # By polling, because a blocking ``flock`` has no time limit.
    while not _acquired(descriptor, fcntl.LOCK_EX):
        holder = os.pread(descriptor, 64, 0).decode(errors="replace").strip() or "unknown"
        if _is_shared(descriptor):
            patience_seconds = _COMMANDS_SECONDS
        else:
            # A child between fork and exec still has the killed holder's descriptor.
            patience_seconds = _RELEASE_SECONDS if _is_gone(holder) else 0.0
        if time.monotonic() < begin + patience_seconds:
            time.sleep(_PAUSE_SECONDS)
            continue
        os.close(descriptor)
        raise BadInput([AgentNodeStateHeld(path=str(path), holder=holder, where=_here(path))])
    # Informative, for the error of another process; the kernel has the lock.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
    return descriptor


def _acquired(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_shared(descriptor: int) -> bool:
    """Whether commands hold the lock, not an agent."""
    if not _acquired(descriptor, fcntl.LOCK_SH):
        return False
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    return True


def _is_gone(holder: str) -> bool:
    """Whether this process has ended; a forked child may still hold its descriptors."""
    process = process_tree.process(int(holder)) if holder.isdecimal() else None
    return holder.isdecimal() and (process is None or process.is_dead)


def _here(path: Path) -> Location:
    return Location(str(path))
