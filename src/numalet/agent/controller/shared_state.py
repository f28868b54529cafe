"""The node state that commands without an agent share: state files, and who holds what.

A command has it only while it reads or changes it: then it holds the lock of the root folder
beside other commands, which an agent holds alone as long as it lives, and the lock of this state
alone. What a command holds of the node outlives that: it is the command's as long as the lock of
its own file is held (``holders``), until the command releases it or an agent takes it over.
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

from numalet.agent.controller import lock_file, root_folder
from numalet.agent.controller.holders import Holders, RunHolder
from numalet.agent.controller.root_folder import LOCK
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
"""Fields of a holder that the release before does not write."""
_PIDS: Final = 1 << 31
_HOLDERS: Final = msgspec.json.Decoder(tuple[RunHolder, ...])


class Content(Value):
    """What is in the shared state: state files by name, and the holders in order of admission.

    ``live`` are those whose runs are there, ``dead`` what others left.
    """

    files: StateFiles
    live: tuple[RunHolder, ...] = ()
    dead: tuple[RunHolder, ...] = ()


class AgentHolds(Exception):  # noqa: N818 - it is an answer
    """An agent holds the root folder, and decides."""


class SharedState:
    """The shared state below a root folder; read and written inside ``held`` or ``content``."""

    def __init__(self, root: Path) -> None:
        self.folder = root / FOLDER
        """Holds the state files, the list of runs, and the lock under which both change."""
        self.holders = Holders(self.folder)
        self._root = root
        """Holds the lock that commands share and an agent has alone."""

    def prepare(self) -> bool:
        """Make the folders where they are missing; False if an agent holds the root folder.

        Raises ``BadInput``.
        """
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
        """The content under the lock of this state, for who has the other. Raises ``BadInput``."""
        with ExitStack() as stack:
            try:
                stack.enter_context(lock_file.held(self.folder / LOCK))
            except OSError as error:
                raise BadInput(
                    [AgentRootUnusable(path=str(self.folder), error=os_problem.text(error))]
                ) from None
            atomic.sweep(self.folder, (*state_directory.FILE_NAMES, HOLDERS))
            yield self._read()

    @contextmanager
    def _beside_commands(self) -> Iterator[None]:
        """Hold the root folder as commands do. Raises ``AgentHolds`` and ``OSError``."""
        descriptor = lock_file.opened(self._root / LOCK)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AgentHolds from None
            yield
        finally:
            os.close(descriptor)

    def write(self, files: StateFiles, holders: tuple[RunHolder, ...]) -> None:
        """Put new content in place, all or none. Only under the exclusive lock.

        Raises ``BadInput``.
        """
        texts = {self.folder / name: text for name, text in files.items()}
        texts[self.folder / HOLDERS] = json.dumps(list(map(_as_plain, holders)))
        atomic.write_texts(texts)
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
        alive = {each.uid for each in holders if self.holders.is_alive(each)}
        return Content(
            files,
            live=tuple(each for each in holders if each.uid in alive),
            dead=tuple(each for each in holders if each.uid not in alive),
        )


def _as_plain(holder: RunHolder) -> dict[str, Any]:
    """Without fields that came later and are empty: runs of the release before may read this."""
    plain = asdict(holder)
    return {k: v for k, v in plain.items() if v or k not in _CAME_LATER}


def _check(holders: Iterable[RunHolder]) -> None:
    """Raise ``ValueError`` for a holder that no run has written.

    Its path, process and uid decide what is killed and removed, so they may name nothing else: a
    cgroup below ours, one process, a file of its own.
    """
    for each in holders:
        parts = each.path.split("/") if each.path else []
        is_name = each.uid not in ("", ".", "..") and "/" not in each.uid
        is_below = {"", ".", ".."}.isdisjoint(parts)
        if not (is_name and is_below and 0 < each.pid < _PIDS):
            raise ValueError(f"{each.uid!r} is no run of process {each.pid}")


def _refuse_others(root: Path) -> None:
    """Raise ``BadInput`` if the folder belongs to another user."""
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
    """Why this folder can not be used: it is another user's, or what the kernel said."""
    where = Location(str(root))
    if isinstance(error, PermissionError):
        with suppress(OSError):
            return not_allowed(root)
    return AgentRootUnusable(path=str(root), error=os_problem.text(error), where=where)
