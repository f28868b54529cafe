"""Shared by all commands that print: findings, colour, width, control characters.

Colour only on a terminal that is not dumb, and without NO_COLOR, at the width of the terminal. In a
pipe there are 80 columns, and more only if the names, ids and ranges of a row are wider: then the
row is one line, and grep finds each name. Control characters from a user's files are escaped.
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

import typer

from numalet.core.model.findings import Finding, Severity
from numalet.io import terminals
from numalet.wording.foreign_texts import printable as printable

if TYPE_CHECKING:
    from msgspec import Struct
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDTH: Final = 80
_NARROWEST: Final = 32
_HEIGHT: Final = 24
_INDENT: Final = "  "
_WIDEST: Final = 100_000
_PIECES: Final = 10_000
"""Number of pieces of a document to write at a time."""
# Match a run of blanks only from its first one: a line may have thousands.
_TRAILING_BLANKS: Final = re.compile(r"(?<! )[ ]+((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
_HEAD: Final = re.compile(r" *(?:\w[^:]{0,23}: +|\S+ {2,}\S+ {2,}\S+ +)?")
"""A name with a colon, or the first cells of an event."""
_LEAST_VALUE: Final = 24
_CLEARED: Final = "\x1b[H\x1b[2J"
_FORMULAS: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_COLOURS: Final = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


class RowsFormat(StrEnum):
    """How an answer that consists of rows is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    YAML = "yaml"


class OutputFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def asked_format(arguments: Iterable[str]) -> OutputFormat | None:
    """Return the document format in a command line (-o json, -o yaml), if any."""
    asked = ""
    words = iter(arguments)
    for word in words:
        if word == "--":
            # Words behind ``--`` belong to the user's own command.
            break
        if word in ("-o", "--output"):
            asked = next(words, "")
        elif word.startswith("--output="):
            asked = word.removeprefix("--output=")
        elif word.startswith("-o") and len(word) > len("-o"):
            asked = word.removeprefix("-o")
    return OutputFormat(asked) if asked in (OutputFormat.JSON, OutputFormat.YAML) else None


def console() -> Console:
    """Return a console that collects output, with the width and colours of the real one."""
    is_terminal = True if sys.stdout.isatty() else None
    # Without a height, too, Rich assumes 80 columns for a terminal of type dumb.
    return literal_console(
        file=io.StringIO(), width=console_width(), height=_HEIGHT, force_terminal=is_terminal
    )


def literal_console(**settings: Any) -> Console:
    """Return a console that prints names unchanged, even with square brackets and colons."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.segment import Segment
    from rich.text import Text

    from numalet.cli import breaking

    class PrintableConsole(Console):
        """Whatever is drawn, no control character is printed, and no item of a list is broken."""

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            allowed = options or self.options
            drawn: Any = Text(renderable) if isinstance(renderable, str) else renderable
            if isinstance(drawn, Text) and not (drawn.no_wrap or allowed.no_wrap):
                begin = 0 if "\n" in drawn.plain else len(drawn.plain) - len(drawn.plain.lstrip())
                rest = drawn[begin:] if begin else drawn
                drawn = breaking.broken(rest, allowed.max_width - begin, units=breaking.WORDS)
                if begin:
                    drawn = Padding(drawn, (0, 0, 0, begin))
            for text, style, control in super().render(drawn, allowed):
                yield Segment(text if control else printable(text), style, control)

    # Rich would print bold letters even with NO_COLOR.
    plain: dict[str, Any] = {} if terminals.has_styles() else {"color_system": None}
    return PrintableConsole(highlight=False, markup=False, emoji=False, **plain | settings)


def has_styles() -> bool:
    """Return whether escape sequences may be printed: not in a pipe, and not with NO_COLOR."""
    return sys.stdout.isatty() and terminals.has_styles()


def is_screen(name: Literal["stdout", "stderr"]) -> bool:
    """Return whether this stream is a terminal whose lines can be replaced."""
    return bool(getattr(sys, name).isatty()) and not terminals.is_dumb()


def console_width() -> int:
    columns = max(_NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)
    # In a pipe the width of some terminal must not change the output.
    return columns if sys.stdout.isatty() else min(WIDTH, columns)


def _needed_width(screen: Console, drawn: RenderableType) -> int:
    """Return the columns that a thing needs in a pipe: its pieces are whole.

    Where those of a row do not fit in 80 columns, the row is one line.
    """
    from rich.measure import Measurement
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from numalet.cli.breaking import Breakable
    from numalet.cli.tables import FittedTable

    inner = drawn.renderable if isinstance(drawn, Padding) else drawn
    beside = drawn.left + drawn.right if isinstance(drawn, Padding) else 0
    is_row = isinstance(inner, Text) and bool(inner.no_wrap)
    is_row |= isinstance(inner, Table) and not inner.expand
    if isinstance(inner, str | Text):
        inner = Breakable(Text(inner) if isinstance(inner, str) else inner)
    measured = Measurement.get(screen, screen.options.update_width(_WIDEST), inner)
    is_row |= isinstance(inner, FittedTable) and beside + measured.minimum > WIDTH
    return beside + (measured.maximum if is_row else measured.minimum)


def one_line(text: str, style: str = "") -> Text:
    """Return a text that is one line in a pipe, however long, and is wrapped on a terminal."""
    from rich.text import Text

    return Text(printable(text), style=style, no_wrap=not sys.stdout.isatty())


def print_all(parts: Iterable[RenderableType]) -> None:
    """Print the parts from top to bottom."""
    print_drawn(drawn(parts))


def drawn(parts: Iterable[RenderableType]) -> str:
    """Return the lines of the parts from top to bottom, without trailing blanks."""
    screen = console()
    for each in parts:
        if not sys.stdout.isatty():
            screen.width = max(console_width(), _needed_width(screen, each))
        screen.print(each)
    assert isinstance(screen.file, io.StringIO)
    return _TRAILING_BLANKS.sub(r"\1", screen.file.getvalue())


def is_unicode() -> bool:
    """Return whether boxes and blocks may be printed: not on a terminal of type dumb."""
    is_dumb = sys.stdout.isatty() and terminals.is_dumb()
    return (sys.stdout.encoding or "").lower().startswith("utf") and not is_dumb


def bar(reserved: int, used: int, free: int, width: int = 10) -> str:
    """Draw what is reserved for the system, used and free.

    Each part that is not zero has a mark at least; the largest gets what rounding leaves.
    """
    parts = [max(each, 0) for each in (reserved, used, free)]
    whole = sum(parts)
    if not whole:
        return ""
    marks = [max(each * width // whole, 1 if each else 0) for each in parts]
    marks[parts.index(max(parts))] += width - sum(marks)
    return "".join(mark * count for mark, count in zip(_bar_marks(), marks, strict=True))


def legend_of_bars(used: str = "used") -> Text:
    """Return the meaning of the parts of a bar, as in pages and drawings."""
    from rich.text import Text

    words = zip(_bar_marks(), ("reserved", used, "free"), strict=True)
    return Text("   ".join(map(" ".join, words)), "dim")


def _bar_marks() -> str:
    return "▒█·" if is_unicode() else "/#."


def print_text(text: str) -> None:
    """Print lines with texts from a user's files."""
    sys.stdout.write(printable(text))


def print_hanging(text: str) -> None:
    """Print lines; on a terminal a line continues below its first value."""
    if not sys.stdout.isatty():
        print_text(text)
        return
    from numalet.cli import breaking

    for line in printable(text).splitlines():
        head = _HEAD.match(line)
        indent = head.end() if head else 0
        width = console_width() - indent
        if width < max(_LEAST_VALUE, breaking.widths(line[indent:])[0]):
            # A long id is whole below its name.
            indent = len(line) - len(line.lstrip()) + len(_INDENT)
            width = console_width() - indent
        rest = breaking.lines(line[indent:], width, units=breaking.WORDS)
        print_text(line[:indent] + f"\n{' ' * indent}".join(rest) + "\n")


def print_line(text: str = "") -> None:
    print_text(f"{text}\n")
    sys.stdout.flush()


def print_drawn(text: str) -> None:
    """Print coloured lines of printable texts."""
    sys.stdout.write(text)


def print_screen(text: str) -> None:
    """Replace the content of the terminal; if the output is not a terminal, append."""
    sys.stdout.write(f"{_CLEARED if is_screen('stdout') else ''}{text}\n")


def print_log(data: bytes) -> None:
    """Print a container's output; on a terminal with control characters escaped."""
    if sys.stdout.isatty():
        sys.stdout.write(printable(data.decode(errors="backslashreplace"), "\n\t"))
    else:
        sys.stdout.buffer.write(data)


def pass_on(data: bytes, *, is_error: bool = False) -> None:
    """Print markup in UTF-8, or the output of the user's own command in a guest, byte for byte."""
    stream = sys.stderr if is_error else sys.stdout
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def print_rows(rows: Iterable[Sequence[object]]) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows([_cell(each) for each in row] for row in rows)


def _cell(value: object) -> object:
    """Escape a text that a spreadsheet would interpret as a formula."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    begin = text.lstrip()
    # A single sign or a number is not a formula.
    is_formula = begin.startswith(_FORMULAS) and len(begin) > 1 and not _NUMBER.fullmatch(begin)
    return f"'{text}" if is_formula or value.startswith(("\t", "\r")) else text


def print_json(document: Any, indent: int | None = None) -> None:
    """Print a value as JSON at once."""
    import json

    # JSON allows DEL unescaped, but a terminal may interpret it.
    print_text(json.dumps(document, indent=indent).replace("\x7f", "\\u007f") + "\n")
    sys.stdout.flush()


@contextlib.contextmanager
def aside() -> Iterator[None]:
    """Redirect output to the error stream in the block."""
    with contextlib.redirect_stdout(sys.stderr):
        yield


def say(text: str) -> None:
    """Print a line to the error stream, for people."""
    sys.stderr.write(f"{printable(text)}\n")
    sys.stderr.flush()


def redraw(text: str = "") -> None:
    """Replace the last line of the error stream, which is a terminal."""
    sys.stderr.write(f"\r\x1b[K{printable(text)}")
    sys.stderr.flush()


def show_findings(findings: Iterable[Finding]) -> None:
    """Print findings to the error stream: severity, place, sentence."""
    for finding in findings:
        complain(finding.severity, finding.located)


def complain(severity: Severity, text: str) -> None:
    """Print a message to the error stream; on a terminal wrapped and with colour."""
    word, message = severity.value, printable(text)
    if not sys.stderr.isatty():
        say(f"{word}: {message}")
        return
    from numalet.cli import breaking

    lines = breaking.lines(
        f"{word}: {message}", console_width() - len(_INDENT), units=breaking.WORDS
    )
    filled = f"\n{_INDENT}".join(lines).removeprefix(word)
    if terminals.has_styles():
        word = typer.style(word, fg=_COLOURS[severity], bold=True)
    sys.stderr.write(f"{word}{filled}\n")
    sys.stderr.flush()


def print_document(document: Struct | Mapping[str, Any], chosen: str) -> None:
    """Print a document as YAML, or in any other form as JSON."""
    if not isinstance(document, Mapping):
        from numalet.insight.output import json_schema

        document = json_schema.plain(document)
    if chosen == OutputFormat.YAML:
        print_text(_as_yaml(document))
    else:
        import json

        # Some at a time: all pieces of a long document take many times its size.
        pieces = json.JSONEncoder(indent=2).iterencode(document)
        while text := "".join(islice(pieces, _PIECES)):
            print_text(text.replace("\x7f", "\\u007f"))
        print_text("\n")


def _as_yaml(document: Any) -> str:
    import yaml

    class NoAliasDumper(yaml.CSafeDumper):
        """Writes a value that occurs twice two times, without anchors."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

        def represent_text(self, text: str) -> Any:
            """In quotes where it has characters that are written as escapes."""
            style = None if printable(text) == text else '"'
            return self.represent_scalar("tag:yaml.org,2002:str", text, style)

    NoAliasDumper.add_representer(str, NoAliasDumper.represent_text)
    text = str(yaml.dump(document, Dumper=NoAliasDumper, sort_keys=False, allow_unicode=True))
    return printable(text)
