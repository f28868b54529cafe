"""The protocol of a guest: the output of its command, mixed with lines of the lab.

Both use one serial port. A line of the lab is a record separator, the guest's own token, a word,
perhaps more words, and a line end; all else is output. The words: ``ready`` when the command
begins, ``exit N`` when it ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.model.value import Value

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
