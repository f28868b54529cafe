"""One guest from start to end, without leftovers.

QEMU gets no named files: the first archive and the console are memory files that vanish with the
last process that has them open, and the kernel kills QEMU when its parent dies. An exception in
this module (Ctrl-C is one) ends QEMU before it propagates.
"""

from __future__ import annotations

import os
import secrets
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import Final

from numalet.core.model.value import Value
from numalet.lab import host, job, kernel_cache, qemu
from numalet.lab.kernel_cache import CachedKernel
from numalet.lab.request import GuestRequest, Watch

# The lab and the command share one serial port. A line of the lab is a record separator, the
# guest's own token, a word, perhaps more words, and a line end; all else is output of the command.
# The words are ``ready`` when the command begins, and ``exit N`` when it ended.
_MARK: Final = b"\x1e"
_LONGEST: Final = 256

READY: Final = "ready"
EXIT: Final = "exit"


class Said(Value):
    word: str
    rest: str


class OutputReader:
    """Splits incoming bytes into output and lines of the lab, in their order."""

    def __init__(self, token: str) -> None:
        self._begin = _MARK + token.encode() + b" "
        self._held = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | Said]:
        """Yield the complete parts after this chunk; an unfinished line of the lab waits."""
        self._held += chunk
        while self._held:
            place = self._held.find(_MARK)
            if place != 0:
                end = len(self._held) if place < 0 else place
                output, self._held = self._held[:end], self._held[end:]
                yield output
                continue
            line, end_of_line, rest = self._held.partition(b"\n")
            if not self._may_be_a_lab_line(line):
                # Not a line of the lab: the program printed this byte itself, so it is passed on.
                yield _MARK
                self._held = self._held[1:]
            elif end_of_line:
                self._held = rest
                # On a terminal a line ends in two characters.
                said = line[len(self._begin) :].decode(errors="replace").strip()
                word, _, more = said.partition(" ")
                yield Said(word, more)
            else:
                return

    def _may_be_a_lab_line(self, line: bytes) -> bool:
        """Return whether this is a line of the lab or the beginning of one."""
        length = min(len(line), len(self._begin))
        return len(line) <= _LONGEST and line[:length] == self._begin[:length]

    def rest(self) -> bytes:
        """Return the remaining bytes at the end of the input."""
        held, self._held = self._held, b""
        return held


TIMED_OUT: Final = 124
DIED: Final = 125

_CHUNK: Final = 1 << 16
_TICK_SECONDS: Final = 0.2
_TAIL_BYTES: Final = 4000


class Ending(Enum):
    EXITED = "exited"
    TIMED_OUT = "timed-out"
    DIED = "died"


class EndedGuest(Value, kw_only=True):
    """The result of a guest that ended.

    ``status`` is the command's own; 124 after a time-out, 125 if the guest ended before its
    command. ``console`` is the end of the kernel's output, and QEMU's errors. A guest that did not
    reach its command has no ``boot_seconds``.
    """

    ending: Ending
    status: int
    console: str
    seconds: float
    boot_seconds: float | None


def run(request: GuestRequest, watch: Watch, cache: Path) -> EndedGuest:
    """Run one guest to its end. Raises ``BadInput`` for an impossible request."""
    host.refuse_impossible(request)
    with kernel_cache.kernel(cache, request.modules, watch) as kernel:
        return _Run(request, watch, kernel).to_the_end()


class _Run:
    def __init__(self, request: GuestRequest, watch: Watch, kernel: CachedKernel) -> None:
        self._request = request
        self._watch = watch
        self._kernel = kernel
        self._token = secrets.token_hex(8)
        self._listener = OutputReader(self._token)
        self._began = time.monotonic()
        self._boot_seconds: float | None = None
        self._status: int | None = None

    def to_the_end(self) -> EndedGuest:
        with (
            _in_memory("initrd") as initrd,
            _in_memory("console") as console,
            _in_memory("complaints") as complaints,
            _pipe() as errors,
        ):
            _write(initrd, self._initrd())
            files = qemu.Files(
                kernel=str(self._kernel.vmlinux),
                initrd=_path(initrd),
                console=_path(console),
                errors=_path(errors.to),
            )
            with self._started(files, (initrd, console, errors.to), complaints) as process:
                is_late = self._listen(process, errors.of)
            # QEMU has ended, so its output is complete.
            self._pass_errors_on(errors.of)
            seconds = time.monotonic() - self._began
            tail = _tail(console) + _tail(complaints)
        ending, status = Ending.EXITED, self._status
        if status is None:
            ending = Ending.TIMED_OUT if is_late else Ending.DIED
            status = TIMED_OUT if is_late else DIED
        return EndedGuest(
            ending=ending,
            status=status,
            console=tail,
            seconds=seconds,
            boot_seconds=self._boot_seconds,
        )

    def _initrd(self) -> bytes:
        own = job.archive(self._request, self._token, host.BUSYBOX.read_bytes())
        return self._kernel.modules.read_bytes() + own

    @contextmanager
    def _started(
        self, files: qemu.Files, descriptors: tuple[int, ...], complaints: int
    ) -> Iterator[subprocess.Popen[bytes]]:
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *qemu.arguments(self._request, files)],
            stdin=subprocess.DEVNULL if self._request.terminal is None else None,
            stdout=subprocess.PIPE,
            stderr=complaints,
            pass_fds=descriptors,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()

    def _listen(self, process: subprocess.Popen[bytes], errors: int) -> bool:
        """Pass on output until the guest ends; return whether its time was up."""
        assert process.stdout is not None
        port = process.stdout.fileno()
        deadline = self._began + self._request.timeout_seconds
        while (now := time.monotonic()) < deadline:
            if self._boot_seconds is None:
                self._watch.booting(now - self._began)
            patience = min(_TICK_SECONDS, deadline - now)
            ready, _, _ = select.select([port, errors], [], [], patience)
            if errors in ready:
                self._pass_errors_on(errors)
            if port not in ready:
                continue
            chunk = os.read(port, _CHUNK)
            if not chunk:
                self._handle(self._listener.rest())
                return False
            for part in self._listener.feed(chunk):
                self._handle(part)
            if self._status is not None:
                # There will be no more output, so a slow shutdown is not awaited.
                return False
        return True

    def _pass_errors_on(self, errors: int) -> None:
        with suppress(BlockingIOError):
            while chunk := os.read(errors, _CHUNK):
                self._watch.errors(chunk)

    def _handle(self, part: bytes | Said) -> None:
        if isinstance(part, bytes):
            if part:
                self._watch.output(part)
        elif part.word == READY:
            self._boot_seconds = time.monotonic() - self._began
            self._watch.ready(self._boot_seconds)
        elif part.word == EXIT and part.rest.isdigit():
            self._status = int(part.rest)


@contextmanager
def _in_memory(name: str) -> Iterator[int]:
    descriptor = os.memfd_create(f"numalet-lab-{name}")
    try:
        yield descriptor
    finally:
        os.close(descriptor)


class _Pipe(Value):
    of: int
    to: int


@contextmanager
def _pipe() -> Iterator[_Pipe]:
    """Open a pipe whose reading end does not block."""
    of, to = os.pipe()
    try:
        os.set_blocking(of, False)
        yield _Pipe(of, to)
    finally:
        os.close(of)
        os.close(to)


def _path(descriptor: int) -> str:
    """Return a path to the descriptor for a process that inherited it."""
    return f"/proc/self/fd/{descriptor}"


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _tail(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    start = max(0, size - _TAIL_BYTES)
    text = os.pread(descriptor, _TAIL_BYTES, start).decode(errors="replace")
    return text if start == 0 else text.partition("\n")[2]
