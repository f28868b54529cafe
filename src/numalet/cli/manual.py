"""Every command as a value, and as a page of the system's manual (roff, section 1).

The manual and the command reference in the documentation are generated from the declarations of the
commands. ``make schemas`` writes the pages into ``packaging/man`` for the wheel, whose build does
not install numalet's dependencies.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from numalet import __version__
from numalet.core.model.value import Value

_AS_WRITTEN: Final = "\b\n"
_EXAMPLES: Final = "Examples:"
_STATUS: Final = "Exit status:"
_PLAIN: Final = "Options"


class CommandOption(Value):
    """One option or argument: its names with the form of its value, and its help."""

    names: str
    text: str


class CommandPage(Value, kw_only=True):
    """One command. ``words`` are ``("numalet", "state", "show")``; ``options`` are by group.

    ``examples`` are verbatim command lines, ``children`` the subcommands.
    """

    words: tuple[str, ...]
    usage: str
    text: str
    arguments: tuple[CommandOption, ...]
    options: tuple[tuple[str, tuple[CommandOption, ...]], ...]
    examples: str
    exit_status: str
    children: tuple[tuple[str, str], ...]

    @property
    def name(self) -> str:
        """The name of its page: ``numalet-state-show``."""
        return "-".join(self.words)


def pages() -> tuple[CommandPage, ...]:
    """Return all commands, each before its subcommands."""
    from numalet.cli import main

    return tuple(_pages(main.commands(), ("numalet",)))


def _pages(command: Any, words: tuple[str, ...], parent: Any = None) -> Iterator[CommandPage]:
    import typer

    # As in a real run: a command caches the names of its help option.
    settings = command.context_settings
    context = typer.Context(command, info_name=words[-1], parent=parent, **settings)
    children: dict[str, Any] = dict(getattr(command, "commands", {}))
    arguments, options = _parameters(command, context)
    examples, status = _closing_words(command.epilog or "")
    yield CommandPage(
        words=words,
        usage=" ".join((*words, *command.collect_usage_pieces(context))),
        text=(command.help or "").strip(),
        arguments=tuple(arguments),
        options=tuple((group, tuple(records)) for group, records in options.items() if records),
        examples=examples,
        exit_status=status,
        children=tuple(
            (name, (each.short_help or each.help or "").strip().partition("\n")[0])
            for name, each in children.items()
        ),
    )
    for name, each in children.items():
        yield from _pages(each, (*words, name), context)


def _parameters(
    command: Any, context: Any
) -> tuple[list[CommandOption], dict[str, list[CommandOption]]]:
    """Return the arguments, and the options by group; plain ones first."""
    arguments: list[CommandOption] = []
    options: dict[str, list[CommandOption]] = {_PLAIN: []}
    for each in command.get_params(context):
        record = each.get_help_record(context)
        if each.param_type_name == "argument":
            arguments.append(CommandOption(str(each.metavar or each.name), each.help or ""))
        elif record is not None:
            group = getattr(each, "rich_help_panel", None) or _PLAIN
            options.setdefault(str(group), []).append(CommandOption(*record))
    return arguments, options


def _closing_words(epilog: str) -> tuple[str, str]:
    """Return the examples and the exit status from the text below a command's help."""
    text = epilog.replace(_AS_WRITTEN, "")
    before, _, status = text.partition(_STATUS)
    examples = before.partition(_EXAMPLES)[2]
    lines = [line.removeprefix("  ") for line in examples.splitlines()]
    return "\n".join(line for line in lines if line.strip()), " ".join(status.split())


def roff(page: CommandPage, version: str) -> str:
    """Return the page in the format of the system's manual."""
    summary = page.text.partition("\n")[0].rstrip(".")
    parts = [
        f'.TH "{page.name.upper()}" "1" "" "numalet {version}" "numalet"',
        ".SH NAME",
        _line(f"{page.name} - {summary}"),
        ".SH SYNOPSIS",
        _line(page.usage),
        ".SH DESCRIPTION",
        *_paragraphs(page.text),
    ]
    for title, records in (("Arguments", page.arguments), *page.options):
        if records:
            parts.append(f".SH {title.upper()}")
            for each in records:
                parts += [".TP", f"\\fB{_escaped(each.names)}\\fR", _line(each.text)]
    if page.children:
        parts.append(".SH COMMANDS")
        for name, about in page.children:
            parts += [".TP", f"\\fB{page.name}-{_escaped(name)}\\fR(1)", _line(about)]
    if page.examples:
        parts += [".SH EXAMPLES", ".nf", *map(_line, page.examples.splitlines()), ".fi"]
    if page.exit_status:
        parts += [".SH EXIT STATUS", _line(page.exit_status)]
    return "\n".join(parts) + "\n"


def _paragraphs(text: str) -> Iterator[str]:
    for each in re.split(r"\n\s*\n", text):
        yield ".PP"
        yield _line(" ".join(each.replace("\b", "").split()))


def _line(text: str) -> str:
    """Return text as a line in which a leading dot or quote is not a request."""
    escaped = _escaped(text)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def files() -> dict[str, str]:
    """Return the page of every command as roff, by file name."""
    return {f"{page.name}.1": roff(page, __version__) for page in pages()}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    texts = files()
    for old in {path.name for path in folder.glob("*.1")} - texts.keys():
        (folder / old).unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
