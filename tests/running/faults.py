"""Points at which a test lets the world fail: before and after everything that has an effect.

``POINTS`` names every function of the program that writes a file, a cgroup or a process. Importing
this wraps them: a hook that is installed is called with the name of the point and the moment, and
may end the process or raise what the operating system could have raised. The program itself knows
nothing of it.

The environment variable ``NUMALET_FAULT`` plans one for a real separate process, which has to be
started as ``faulty_numalet`` or to be a copy that calls ``install_from``:
``NAME:MOMENT:PASSAGE`` or ``NAME:MOMENT:PASSAGE:WHAT``.
NAME and MOMENT (``before`` or ``after``) may be ``*``; PASSAGE counts from 1, over everything
that matches; WHAT is ``KILL`` (SIGKILL to the process itself, the default) or the name of an
error such as ``ENOSPC``, ``EIO`` or ``EAGAIN``, which is then raised at this passage alone, or,
with a ``+`` behind the number, at every later one too.
"""

from __future__ import annotations

import errno
import functools
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, TypeAlias

from numalet.agent.host.runtime.fake_files import KeptRun

VARIABLE: Final = "NUMALET_FAULT"
ANY: Final = "*"
KILL: Final = "KILL"

NUMALET: Final = (sys.executable, str(Path(__file__).with_name("faulty_numalet.py")))
"""The words with which ``numalet`` starts so that the variable plans something."""

_SAVE: Final = "process.start or process.end"

POINTS: Final = {
    "numalet.agent.host.cgroup_v2.tree": {
        "CgroupTree._make_unless_there": "cgroup.make",
        "CgroupTree._remove_one": "cgroup.remove",
        "CgroupTree.kill": "cgroup.kill",
        "CgroupTree.write": "cgroup.write",
    },
    "numalet.agent.host.runtime.attempts": {
        "AttemptFolder._make_folders": "runs.make",
        "_remove_folder": "runs.remove",
    },
    "numalet.agent.host.runtime.fake_files": {
        "forget": "process.forget",
        "save": _SAVE,
    },
    "numalet.agent.host.runtime.offers": {"_remove_order": "runs.withdraw"},
    "numalet.agent.host.runtime.starting": {"spawn": "process.spawn"},
    "numalet.agent.host.runtime.monitoring": {
        "Watched._signal": "process.signal",
        "write_unknown": "runs.end",
    },
    "numalet.agent.controller.journal": {"_append": "journal.write"},
    "numalet.agent.controller.store_files": {"_write_whole": "records.append"},
    "numalet.agent.run.child": {"_fork": "process.fork"},
    "numalet.agent.run.foreground": {"NotifyingReport.started": "runs.started"},
    "numalet.agent.controller.shared_state": {"SharedState.write": "node-state.write"},
    "numalet.io.files.atomic": {
        "_sync_one": "file.sync",
    },
    "numalet.io.files.intent": {
        "_is_locked": "file.intend",
        "_remove_intent": "file.forget",
        "_restore": "file.restore",
        "keep": "file.keep",
        "replace": "file.replace",
    },
    "numalet.io.files.temporary": {"create": "file.create", "fill": "file.write"},
}
"""Module, function or method, and the name of the point that it is."""


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


def install_from(environment: Mapping[str, str]) -> None:
    """Install what this environment plans, if it plans anything."""
    if VARIABLE in environment:
        install(planned(environment[VARIABLE]))


def _wrap(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def with_point(*arguments: Any, **named: Any) -> Any:
        with point(_name_of_save(*arguments) if name == _SAVE else name):
            return function(*arguments, **named)

    return with_point


def _name_of_save(_folder: Path, run: KeptRun) -> str:
    start, end = _SAVE.split(" or ")
    return start if run.exit is None else end


def _wrap_all() -> None:
    for module, functions in POINTS.items():
        for path, name in functions.items():
            *above, attribute = path.split(".")
            owner = functools.reduce(getattr, above, importlib.import_module(module))
            setattr(owner, attribute, _wrap(vars(owner)[attribute], name))


_wrap_all()
