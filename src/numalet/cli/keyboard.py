"""Single keys of a terminal, by name."""

from __future__ import annotations

import os
import re
import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_NAMES: Final = {
    **dict.fromkeys(("\x1b[A", "\x1bOA"), "up"),
    **dict.fromkeys(("\x1b[B", "\x1bOB"), "down"),
    **dict.fromkeys(("\x1b[C", "\x1bOC"), "right"),
    **dict.fromkeys(("\x1b[D", "\x1bOD"), "left"),
    **dict.fromkeys(("\x1b[H", "\x1bOH", "\x1b[1~"), "home"),
    **dict.fromkeys(("\x1b[F", "\x1bOF", "\x1b[4~"), "end"),
    "\x1b[5~": "pgup",
    "\x1b[6~": "pgdn",
    "\x1b": "esc",
    **dict.fromkeys("\r\n", "enter"),
    **dict.fromkeys("\x7f\x08", "backspace"),
}
_KEY: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Z]|.", re.DOTALL)
_INCOMPLETE: Final = re.compile(r"\x1b(O|\[[0-9;]*)?$")
_REST_SECONDS: Final = 0.05
"""If the rest of a sequence does not come in this time, it is the key Esc."""


def named(text: str) -> list[str]:
    """Return the keys of a text; a key is a name or a character, and unknown ones are left out."""
    found = (_NAMES.get(each, each) for each in _KEY.findall(text))
    return [each for each in found if each.isprintable()]


@contextmanager
def keys() -> Iterator[Callable[[float], list[str]]]:
    """Yield a function that waits for keys for some seconds; restore the terminal at the end."""
    if not sys.stdin.isatty():
        yield _none
        return
    import termios
    import tty

    modes = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield _read
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, modes)


def _none(seconds: float) -> list[str]:
    time.sleep(seconds)
    return []


def _read(seconds: float) -> list[str]:
    text = ""
    while select.select([sys.stdin], [], [], seconds)[0]:
        data = os.read(sys.stdin.fileno(), 1024)
        if not data:
            # The terminal is gone.
            return ["q"]
        text += data.decode(errors="ignore")
        if not _INCOMPLETE.search(text):
            break
        seconds = _REST_SECONDS
    return named(text)
