"""The configuration on a kubelet's command line, as ``/proc``, ``ps`` or a file for systemd has it.

A file that the flag ``--config`` names is read with it, as the kubelet reads it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value
from numalet.io.documents import kubelet_flags
from numalet.io.findings.config_files import ConfigFileCommandLine

_PROGRAM: Final = r"(?:\S*/)?(?:kubelet|hyperkube|k3s|kubelite)[ \t\0]"
_COMMENTS: Final = re.compile(r"(?m)^[ \t]*#.*$")
_BEGINNING: Final = re.compile(rf"\s*(?:{_PROGRAM}|--[a-z]|[A-Z_]*ARGS=)")
_WITH_PROGRAM: Final = re.compile(rf"\s*{_PROGRAM}")
_LONGEST: Final = 256 * 1024
"""Characters; Linux accepts no argument longer than half of that, and a kubelet has some dozens."""
_VARIABLE: Final = re.compile(r"[A-Z_]*ARGS=")


class CommandLine(Value):
    """Flags that decide something here, with places; the files that others of them name.

    ``is_whole`` says that it begins with the program, so that no flag is missing.
    """

    flags: tuple[tuple[str, str, Location], ...]
    config: str | None
    config_dir: str | None
    is_whole: bool


def is_meant(text: str) -> bool:
    """Whether a text is meant as a command line, by how it begins."""
    return len(text) <= _LONGEST and _BEGINNING.match(_COMMENTS.sub("", text)) is not None


def read(text: str, document: str) -> CommandLine:
    """The flags of a command line.

    Raises:
        BadInput: its quotes do not match.
    """
    text = _COMMENTS.sub("", text)
    try:
        arguments = [*_arguments(text)]
    except ValueError as error:
        raise BadInput(
            [ConfigFileCommandLine(problem=str(error), where=Location(document))]
        ) from None
    given = [*kubelet_flags.of_arguments(arguments)]
    named = dict(given)
    lines = {name: _line(text, name) for name in named}
    return CommandLine(
        flags=tuple(
            (name, value, Location(document, f"--{name}", lines[name]))
            for name, value in given
            if kubelet_flags.is_known(name)
        ),
        config=named.get("config"),
        config_dir=named.get("config-dir"),
        is_whole=_WITH_PROGRAM.match(text) is not None,
    )


def _arguments(text: str) -> Iterator[str]:
    if "\0" in text:
        yield from text.strip().removesuffix("\0").split("\0")
        return
    for word in shlex.split(text):
        variable = _VARIABLE.match(word)
        if variable is None:
            yield word
        else:
            yield from shlex.split(word[variable.end() :])


def _line(text: str, name: str) -> int | None:
    match = re.search(rf"(?:--|\b){re.escape(name)}\b", text)
    return None if match is None else text.count("\n", 0, match.start()) + 1
