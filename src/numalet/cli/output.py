"""What every command shares when it prints: findings, colour, width, odd characters.

Colour only on a terminal and without NO_COLOR, and the width is that of the terminal. In a pipe
sentences have 80 columns, but a row is one line and no name is cut, so that grep finds it.
What comes out of a user's files is shown with its control characters escaped.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import typer

from numalet.core.model.findings import Finding, Severity

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDTH: Final = 80
_NARROWEST: Final = 68
_HEIGHT: Final = 24
_WIDEST: Final = 100_000
_PIECES: Final = 10_000
"""So many pieces of a document are written at a time."""
# It matches a run of blanks from its first one alone: a line may have thousands.
_TRAILING_BLANKS: Final = re.compile(r"(?<! )[ ]+((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


class OutputFormat(StrEnum):
    """How a result is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def asked_format(arguments: Iterable[str]) -> OutputFormat | None:
    """The document that a command line asks for (-o json, -o yaml), whatever else is in it."""
    asked = ""
    words = iter(arguments)
    for word in words:
        if word == "--":
            break
        if word in ("-o", "--output"):
            asked = next(words, "")
        elif word.startswith("--output="):
            asked = word.removeprefix("--output=")
        elif word.startswith("-o") and len(word) > len("-o"):
            asked = word.removeprefix("-o")
    return OutputFormat(asked) if asked in (OutputFormat.JSON, OutputFormat.YAML) else None


def console() -> Console:
    """A console that keeps what it prints, as wide and as coloured as the output is."""
    is_terminal = True if sys.stdout.isatty() else None
    # Without a height, too, Rich takes a terminal that calls itself dumb for one of 80 columns.
    return literal_console(
        file=io.StringIO(), width=_width(), height=_HEIGHT, force_terminal=is_terminal
    )


def literal_console(**settings: Any) -> Console:
    """A console that prints names as users chose them, with square brackets and colons too."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, **settings)


def _width() -> int:
    columns = max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)
    return columns if sys.stdout.isatty() else min(WIDTH, columns)


def _needed_width(screen: Console, drawn: RenderableType) -> int:
    """How many columns a thing needs in a pipe: its rows whole, sentences as wide as a word."""
    from rich.measure import Measurement
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    inner = drawn.renderable if isinstance(drawn, Padding) else drawn
    options = screen.options.update_width(_WIDEST)
    measured = Measurement.get(screen, options, drawn)
    is_row = inner.no_wrap if isinstance(inner, Text) else isinstance(inner, Table)
    if measured.maximum >= _WIDEST or (isinstance(inner, Table) and inner.expand):
        # It takes all the room there is, as boxes side by side do.
        is_row = False
    return measured.maximum if is_row else measured.minimum


def one_line(text: str, style: str = "") -> Text:
    """A text that is one line in a pipe, however long, and is wrapped on a terminal."""
    from rich.text import Text

    return Text(printable(text), style=style, no_wrap=not sys.stdout.isatty())


def print_all(drawn: Iterable[RenderableType]) -> None:
    """Print one thing below the other, without blanks at the ends of lines."""
    screen = console()
    for each in drawn:
        if not sys.stdout.isatty():
            screen.width = max(_width(), _needed_width(screen, each))
        screen.print(each)
    assert isinstance(screen.file, io.StringIO)
    sys.stdout.write(_TRAILING_BLANKS.sub(r"\1", screen.file.getvalue()))


def is_unicode() -> bool:
    """Whether the output can show more than ASCII."""
    return (sys.stdout.encoding or "").lower().startswith("utf")


def printable(text: str) -> str:
    """The text with control characters escaped, but for line ends."""
    return "".join(
        character if character.isprintable() or character == "\n" else ascii(character)[1:-1]
        for character in text
    )


def print_text(text: str) -> None:
    """Print lines that hold what came out of a user's files."""
    sys.stdout.write(printable(text))


def say(text: str) -> None:
    """Print a line to the error stream, for people."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def show_findings(findings: Iterable[Finding]) -> None:
    """Print findings to the error stream: severity, place, sentence."""
    for finding in findings:
        complain(finding.severity, finding.located)


def complain(severity: Severity, text: str) -> None:
    """Print a message to the error stream; on a terminal wrapped and with colour."""
    word, message = severity.value, printable(text)
    if not sys.stderr.isatty():
        typer.echo(f"{word}: {message}", err=True)
        return
    import textwrap

    filled = textwrap.fill(
        f"{word}: {message}",
        _width(),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    ).removeprefix(word)
    if "NO_COLOR" not in os.environ:
        word = typer.style(word, fg=_COLOURS[severity], bold=True)
    typer.echo(word + filled, err=True)


def print_document(document: Struct | Mapping[str, Any], chosen: OutputFormat) -> None:
    """Print a document as JSON or YAML."""
    if not isinstance(document, Mapping):
        from numalet.insight.output import json_schema

        document = json_schema.plain(document)
    if chosen is OutputFormat.YAML:
        sys.stdout.write(_as_yaml(document))
    else:
        import json

        # Some at a time: the pieces of a long document together are many times as large as it is.
        pieces = json.JSONEncoder(indent=2).iterencode(document)
        while text := "".join(islice(pieces, _PIECES)):
            sys.stdout.write(text)
        sys.stdout.write("\n")


def _as_yaml(document: Any) -> str:
    import yaml

    class NoAliasDumper(yaml.CSafeDumper):
        """Writes a value that occurs twice two times, without anchors."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    return str(yaml.dump(document, Dumper=NoAliasDumper, sort_keys=False, allow_unicode=True))
