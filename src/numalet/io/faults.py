"""Points at which a test may let the world fail: before and after everything that has an effect.

Whoever writes a file, a cgroup or a process does it inside ``with faults.point("cgroup.write"):``.
That is nothing, unless a hook is installed: it is called with the name of the point and the
moment, and may end the process or raise what the operating system could have raised.

The environment variable ``NUMALET_FAULT`` installs one when the program starts, so that a real
separate process can be made to fail: ``NAME:MOMENT:PASSAGE`` or ``NAME:MOMENT:PASSAGE:WHAT``.
NAME and MOMENT (``before`` or ``after``) may be ``*``; PASSAGE counts from 1, over everything
that matches; WHAT is ``KILL`` (SIGKILL to the process itself, the default) or the name of an
error such as ``ENOSPC``, ``EIO`` or ``EAGAIN``, which is then raised at this passage alone, or,
with a ``+`` behind the number, at every later one too.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

VARIABLE: Final = "NUMALET_FAULT"
ANY: Final = "*"
KILL: Final = "KILL"


class Moment(Enum):
    """Before the operation, or after it succeeded."""

    BEFORE = "before"
    AFTER = "after"


Hook: TypeAlias = Callable[[str, Moment], None]

_installed: Hook | None = None


def install(hook: Hook | None) -> Hook | None:
    """Call this hook at every point from now on, or none; the one that was called until now."""
    global _installed
    before, _installed = _installed, hook
    return before


@contextmanager
def point(name: str) -> Iterator[None]:
    """Surrounds one operation with an effect."""
    if _installed is None:
        yield
        return
    _installed(name, Moment.BEFORE)
    yield
    if _installed is not None:
        _installed(name, Moment.AFTER)


@dataclass(slots=True)
class Planned:
    """A hook that fails at one passage of the points that it matches; see ``planned``."""

    name: str
    moment: str
    passage: int
    what: str
    lasting: bool
    seen: int = 0

    def __call__(self, name: str, moment: Moment) -> None:
        """One passage."""
        if self.name not in (ANY, name) or self.moment not in (ANY, moment.value):
            return
        self.seen += 1
        if self.seen == self.passage or (self.lasting and self.seen > self.passage):
            self._fail(name)

    def _fail(self, name: str) -> None:
        if self.what == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        number = getattr(errno, self.what)
        raise OSError(number, os.strerror(number), name)


def planned(text: str) -> Planned:
    """The hook that a text describes. Raises ``ValueError`` for a text of another form."""
    name, moment, passage, *rest = text.split(":")
    what = rest[0] if rest else KILL
    if len(rest) > 1 or moment not in (ANY, *(each.value for each in Moment)):
        raise ValueError(text)
    if what != KILL and not hasattr(errno, what):
        raise ValueError(text)
    return Planned(name, moment, int(passage.removesuffix("+")), what, passage.endswith("+"))


if VARIABLE in os.environ:
    install(planned(os.environ[VARIABLE]))
