"""Reads the configuration from a kubelet's command line: ``/proc``, ``ps``, or a systemd file.

The caller reads the file that ``--config`` names as well, like the kubelet.
"""

from __future__ import annotations

import bisect
import re
from typing import Final

from numalet.core.config.kubelet_config import CommandFlag
from numalet.core.config.releases import flag_table
from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.io.documents.kubelet import command_text, flag_words, kubelet_flags
from numalet.io.documents.kubelet.command_text import CommandText
from numalet.io.documents.kubelet.flag_words import GivenFlag

_VARIABLE: Final = re.compile(r"\$\{?[A-Za-z_]")


class CommandLine(Value):
    """Flags with places, and the files that ``--config`` and ``--config-dir`` name.

    ``problems`` are words that are not flags with a value. ``is_whole``: it begins with the
    program, so all flags are present. ``unknown`` lists values that the text does not show;
    ``missing`` those that may change the result.
    """

    flags: tuple[tuple[str, str, Location], ...]
    problems: tuple[CommandFlag, ...]
    config: str | None
    config_dir: str | None
    is_whole: bool
    source: str
    unknown: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()


def read(text: str, document: str) -> CommandLine | None:
    """Raises ``BadInput`` for unbalanced quotes, and for the command of another program."""
    found = command_text.read(text, document)
    return None if found is None else _flags(found, document)


def _flags(found: CommandText, document: str) -> CommandLine:
    lines = _Lines(found.text, found.begins)
    given: list[tuple[str, str, Location]] = []
    problems = []
    unknown: list[Finding] = []
    for shown in flag_words.of_program(found.words, found.program):
        where = Location(document)
        if shown.name:
            where = Location(document, f"--{shown.name}", lines.line_of(shown.name))
        flag = _as_given(shown) if found.are_all_flags else shown
        if flag is None:
            continue
        if _VARIABLE.search(flag.value):
            # The flag is certain, but its value is an unresolved variable.
            problems.append(CommandFlag(flag.name, where))
            if kubelet_flags.sets_a_field(flag.name):
                unknown.append(
                    input_error.Ignored(
                        f"--{flag.name} has the value {flag.value!r} with a variable that is not "
                        "set here; write the value instead of the variable",
                        where=where,
                    )
                )
        elif flag.problem is not None:
            problems.append(CommandFlag(flag.name, where, flag.problem.at(where)))
        else:
            given.append((flag.name, flag.value, where))
    named = {name: value for name, value, _ in given}
    unknown += (
        input_error.Ignored(
            f"cannot read {each} here, so its flags are unknown; run the command where the file "
            "is, or add its flags to this file",
            where=Location(document),
        )
        for each in found.missing
    )
    # A log without --config may have lost its first lines, so a file may still be in use.
    is_cut = found.are_all_flags and "--config=" not in found.words
    return CommandLine(
        flags=tuple(given),
        problems=tuple(problems),
        config=named.get("config") or None,
        config_dir=named.get("config-dir") or None,
        is_whole=bool(found.program) and not found.unset and not is_cut,
        source=found.source,
        unknown=tuple(unknown),
        missing=(
            *found.unset,
            *(f"the value of {each.where.path}" for each in unknown if each.where.path),
        ),
    )


def _as_given(flag: GivenFlag) -> GivenFlag | None:
    """A flag of a log in command-line form, unless it is at its default."""
    known = flag_table.flags().get(flag.name)
    if known is None:
        return flag
    # A log has all flags, and does not show which of them are on the command line.
    if flag.value == known.default:
        return None
    # pflag prints a stringSlice in brackets.
    is_list = known.type == "stringSlice" and flag.value[:1] == "["
    return replace(flag, value=flag.value[1:-1]) if is_list else flag


class _Lines(Mutable):
    """The line of each flag in a text, one occurrence after the other."""

    text: str
    begins: int
    searched: dict[str, int] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)

    def line_of(self, name: str) -> int | None:
        flag = "[-_]".join(map(re.escape, name.split("-"))) + r"(?![\w-])"
        # Second pattern: the flag may stand inside another program's option, without dashes.
        for pattern in (f"--{flag}", rf"(?<![\w-]){flag}"):
            match = re.compile(pattern).search(self.text, self.searched.get(name, self.begins))
            if match is not None:
                self.searched[name] = match.end()
                self.ends = self.ends or [
                    each.start() for each in re.finditer("$", self.text, re.MULTILINE)
                ]
                return bisect.bisect_left(self.ends, match.start()) + 1
        return None
