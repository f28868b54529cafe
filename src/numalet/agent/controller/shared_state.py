"""The node state that commands share without an agent.

A command reads or changes it under two locks: a shared one on the root folder, which an agent holds
exclusively, and an exclusive one on this state. A run keeps its allocation while its own lock file
is held (``run_holders``), until it releases it or an agent adopts it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import msgspec

from numalet.agent.controller import root_folder, run_holders
from numalet.agent.controller.root_folder import LOCK
from numalet.agent.controller.run_holders import Holders, RunHolder
from numalet.core.checkpoint.state_files import StateFiles
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.model.value import Value
from numalet.io import os_problem
from numalet.io.files import atomic, state_directory
from numalet.shared.findings.agent import AgentRootUnusable

FOLDER: Final = "run"
HOLDERS: Final = "runs.json"

_CAME_LATER: Final = ("unpromised", "causes", "manifest", "process_mark")
"""Fields that the previous release does not write."""
_PIDS: Final = 1 << 31
_HOLDERS: Final = msgspec.json.Decoder(tuple[RunHolder, ...])


class Content(Value):
    """State files by name, and holders in order of admission; ``dead`` runs left theirs behind."""

    files: StateFiles
    live: tuple[RunHolder, ...] = ()
    dead: tuple[RunHolder, ...] = ()


class AgentHolds(Exception):  # noqa: N818 - it is an answer
    """An agent holds the root folder and decides."""


class SharedState:
    """Read and write only inside ``held`` or ``content``."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER
        self.holders = Holders(self.folder)
        self._root = root

    def prepare(self) -> bool:
        """Make missing folders; False if an agent holds the root folder. Raises ``BadInput``."""
        try:
            _refuse_others(self._root)
            root_folder.claim(self._root, [FOLDER])
            with self._beside_commands():
                return True
        except AgentHolds:
            return False
        except OSError as error:
            raise BadInput([_unusable(self._root, error)]) from None

    @contextmanager
    def held(self) -> Iterator[Content]:
        """The content for a command, under both locks. Raises ``BadInput`` and ``AgentHolds``."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._beside_commands())
            except OSError as error:
                raise BadInput([_unusable(self._root, error)]) from None
            yield stack.enter_context(self.content())

    @contextmanager
    def content(self) -> Iterator[Content]:
        """The content under this state's lock; the caller has the root lock.

        Raises ``BadInput``.
        """
        with ExitStack() as stack:
            try:
                stack.enter_context(run_holders.locked(self.folder / LOCK))
            except OSError as error:
                raise BadInput(
                    [AgentRootUnusable(path=str(self.folder), error=os_problem.text(error))]
                ) from None
            # A killed command may have left temporary files.
            atomic.sweep(self.folder, (*state_directory.FILE_NAMES, HOLDERS))
            yield self._read()

    @contextmanager
    def _beside_commands(self) -> Iterator[None]:
        """Share the root folder's lock. Raises ``AgentHolds`` and ``OSError``."""
        descriptor = run_holders.open_lock(self._root / LOCK)
        try:
            try:
                # Shared: any number of commands may hold it together, but none while an agent has
                # it exclusively.
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AgentHolds from None
            yield
        finally:
            os.close(descriptor)

    def write(self, files: StateFiles, holders: tuple[RunHolder, ...]) -> None:
        """Replace the content, all or nothing. Only inside the locks. Raises ``BadInput``."""
        texts = {self.folder / name: text for name, text in files.items()}
        texts[self.folder / HOLDERS] = json.dumps(list(map(_as_plain, holders)))
        atomic.write_texts(texts)
        # After the write: a lock file must exist for every run in the list.
        self.holders.sweep(each.uid for each in holders)

    def _read(self) -> Content:
        files = state_directory.read(self.folder).files
        text = state_directory.read_file(self.folder / HOLDERS)
        try:
            holders = _HOLDERS.decode(text or "[]")
            _check(holders)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise input_error.Unreadable(
                f"cannot read the list of commands: {error}; remove the file when no command runs",
                where=Location(str(self.folder / HOLDERS)),
            ).bad_input() from None
        # A command that was killed cannot remove itself from the list, so the kernel's locks
        # decide.
        alive = {each.uid for each in holders if self.holders.is_alive(each)}
        return Content(
            files,
            live=tuple(each for each in holders if each.uid in alive),
            dead=tuple(each for each in holders if each.uid not in alive),
        )


def _as_plain(holder: RunHolder) -> dict[str, Any]:
    """Omit empty new fields, so that runs of the previous release can read the file."""
    plain = asdict(holder)
    return {k: v for k, v in plain.items() if v or k not in _CAME_LATER}


def _check(holders: Iterable[RunHolder]) -> None:
    """Raise ``ValueError`` for a holder that no run has written.

    Path, pid and uid select what to kill and remove. A forged holder must not reach a foreign
    cgroup, a process group or another file.
    """
    for each in holders:
        parts = each.path.split("/") if each.path else []
        is_name = each.uid not in ("", ".", "..") and "/" not in each.uid
        is_below = {"", ".", ".."}.isdisjoint(parts)
        if not (is_name and is_below and 0 < each.pid < _PIDS):
            raise ValueError(f"{each.uid!r} is not a run of process {each.pid}")


def _refuse_others(root: Path) -> None:
    """Raise ``BadInput`` if another user owns the folder."""
    with suppress(FileNotFoundError):
        owner = root.stat().st_uid
        if os.geteuid() not in (0, owner):
            raise BadInput([not_allowed(root)])


def not_allowed(root: Path) -> Finding:
    """The error for a root folder of another user. Raises ``OSError``."""
    return input_error.Forbidden(
        f"the root folder belongs to user {root.stat().st_uid}, and no other user may allocate "
        "from it; run the command as that user (sudo), or set --root to a folder that manages "
        "other CPUs and memory",
        where=Location(str(root)),
    )


def _unusable(root: Path, error: OSError) -> Finding:
    """The finding for an unusable folder."""
    where = Location(str(root))
    if isinstance(error, PermissionError):
        with suppress(OSError):
            return not_allowed(root)
    return AgentRootUnusable(path=str(root), error=os_problem.text(error), where=where)
