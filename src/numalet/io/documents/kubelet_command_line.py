"""The configuration on a kubelet's command line, as ``/proc``, ``ps`` or a file for systemd has it.

A file that the flag ``--config`` names is read with it, as the kubelet reads it.
"""

from __future__ import annotations

import re
from typing import Final

from numalet.core.model.findings import Location
from numalet.core.model.value import Mutable, Value, field
from numalet.io.documents import command_text, kubelet_flags
from numalet.io.documents.command_text import CommandText

_NO_FILE: Final = ("", "true")


class CommandLine(Value):
    """Flags that decide something here, with places; the files that others of them name.

    ``is_whole`` says that it begins with the program, so that no flag is missing. ``missing`` are
    files that hold more of the command line and cannot be read here.
    """

    flags: tuple[tuple[str, str, Location], ...]
    config: str | None
    config_dir: str | None
    is_whole: bool
    source: str
    missing: tuple[str, ...] = ()


def read(text: str, document: str) -> CommandLine | None:
    """The flags of a command line in a text; None if the text is something else.

    Raises:
        BadInput: its quotes do not match, or it is the command line of another program.
    """
    found = command_text.read(text, document)
    return None if found is None else _flags(found, document)


def _flags(found: CommandText, document: str) -> CommandLine:
    lines = _Lines(found.text)
    given = [
        (name, value, Location(document, f"--{name}", lines.line_of(name)))
        for name, value in kubelet_flags.of_arguments(found.words)
    ]
    named = {name: value for name, value, _ in given}
    return CommandLine(
        flags=tuple(each for each in given if kubelet_flags.is_known(each[0])),
        config=named.get("config") or None,
        config_dir=named.get("config-dir") or None,
        is_whole=bool(found.program) and not found.missing,
        source=found.source,
        missing=found.missing,
    )


class _Lines(Mutable):
    """Finds the lines of flags in a text, of each flag in the order in which it is given."""

    text: str
    searched: dict[str, int] = field(default_factory=dict)

    def line_of(self, name: str) -> int | None:
        """The line of the next occurrence of a flag, None without one."""
        flag = rf"{re.escape(name)}(?![\w-])"
        for pattern in (f"--{flag}", rf"(?<![\w-]){flag}"):
            match = re.compile(pattern).search(self.text, self.searched.get(name, 0))
            if match is not None:
                self.searched[name] = match.end()
                return self.text.count("\n", 0, match.start()) + 1
        return None
