"""A process that touches memory, in a group, when it is told to."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.guest.groups import Group

SMALL = 12
TWO_MIB = 21
ONE_GIB = 30
"""Page sizes as powers of two."""


def command(size_bytes: int, page_shift: int = SMALL) -> tuple[str, ...]:
    """A program that touches so much memory, says ``touched``, and stays."""
    code = (
        f"import sys, time; sys.path.append({str(Path(__file__).parent)!r});"
        f"import toucher; m = toucher.mapped({size_bytes}, {page_shift});"
        f"toucher.touch(m, {page_shift}); toucher.say('touched'); time.sleep(100000)"
    )
    return (sys.executable, "-I", "-S", "-c", code)


class RefusedError(Exception):
    """The kernel did not map the memory; ``errno`` says why."""

    def __init__(self, errno: int) -> None:
        self.errno = errno
        super().__init__(f"errno {errno}")


class KilledError(Exception):
    """The process died while it touched; ``status`` is -9 after SIGKILL, -7 after SIGBUS."""

    def __init__(self, status: int) -> None:
        self.status = status
        super().__init__(f"status {status}")


class Toucher:
    """The process, from its start to the end of the ``with`` block.

    It joins its group before it maps anything, so that what the group is charged for is the
    memory that was asked for, and little else.
    """

    def __init__(self, group: Group | None, size_bytes: int, page_shift: int = SMALL) -> None:
        program = str(Path(__file__).with_name("toucher.py"))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", program, str(size_bytes), str(page_shift)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self.pid = self._process.pid
        if group is not None:
            group.add(self.pid)

    def touch(self) -> int:
        """Map and touch; the address. Raises ``RefusedError`` or ``KilledError``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write("touch\n")
        except BrokenPipeError:
            raise KilledError(self._process.wait()) from None
        kind, _, rest = self._process.stdout.readline().partition(" ")
        if kind == "touched":
            return int(rest, 16)
        if kind == "errno":
            raise RefusedError(int(rest))
        raise KilledError(self._process.wait())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # What was not read or written does not matter any more.
                with suppress(BrokenPipeError):
                    pipe.close()
