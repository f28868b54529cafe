"""What is printed where: characters, colour, width, documents."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from rich.table import Table
from rich.text import Text

from numalet.cli import output
from numalet.cli.output import OutputFormat
from numalet.core.model import input_error
from numalet.core.model.findings import Location, Severity
from numalet.insight.usecases.input_findings import no_pods


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same terminal wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "70")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\nlines"),
        ("ümläut 日本", "ümläut 日本"),
        ("\x1b[31m\a\t", r"\x1b[31m\x07\t"),
        ("\udce9\u202e", r"\udce9\u202e"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert output.printable(text) == shown


def test_what_looks_like_markup_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    rows = Table("POOL")
    rows.add_row("[/gpu]:100:")
    output.print_all([rows, "[bold]:100:"])
    printed = capsys.readouterr().out
    assert "[/gpu]:100:" in printed
    assert "[bold]:100:" in printed


SENTENCE = (
    f"'{'x' * 60}' is not a regular file, so numalet cannot replace it as a whole; name a file"
)
FINDING = input_error.Invalid(SENTENCE, where=Location("a.yaml", "", 3))


def test_a_finding_is_one_line_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_findings([FINDING, no_pods().of_severity(Severity.NOTE)])

    assert capsys.readouterr().err.splitlines() == [
        f"error: a.yaml:3: {SENTENCE}",
        "note: no pod manifests; name at least one file with pods",
    ]


@pytest.mark.parametrize(("no_color", "word"), [(True, "error"), (False, "\x1b[31m\x1b[1merror")])
def test_a_finding_is_wrapped_on_a_terminal(
    no_color: bool, word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")

    output.show_findings([FINDING])

    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(word)
    assert [line[:2] for line in lines[1:]] == ["  "] * (len(lines) - 1)
    assert max(map(len, lines[1:])) <= 70
    assert " ".join(line.strip() for line in lines).endswith(SENTENCE)


@pytest.mark.parametrize(("columns", "width"), [("200", 80), ("75", 75), ("40", 40), ("10", 32)])
def test_the_width_is_the_terminals_within_limits(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)

    assert output.console().width == width


@pytest.mark.parametrize(
    ("reserved", "used", "free", "drawn"),
    [
        (0, 0, 0, ""),
        (0, 0, 7, "··········"),
        (2, 3, 5, "▒▒███·····"),
        (1, 0, 999, "▒·········"),
        (1, 998, 1, "▒████████·"),
        (1, 999, 0, "▒█████████"),
        (5, -3, 5, "▒▒▒▒▒·····"),
    ],
)
def test_each_part_of_a_bar_has_a_mark(reserved: int, used: int, free: int, drawn: str) -> None:
    assert output.bar(reserved, used, free) == drawn


def test_bars_are_ascii_on_a_dumb_terminal_and_their_legend_is_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert output.legend_of_bars().plain == "▒ reserved   █ used   · free"
    monkeypatch.setenv("TERM", "dumb")
    assert output.bar(2, 3, 5) == "▒▒███·····"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert output.bar(2, 3, 5) == "//###....."
    assert output.legend_of_bars("promised").plain == "/ reserved   # promised   . free"


def test_a_long_id_is_whole_below_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    uid = "42db31cc-aaaa-bbbb-cccc-0123456789ab"
    output.print_hanging(f"UID:          {uid}\nCPUs:         1-12,113-124,200-211,220-231\n")
    assert capsys.readouterr().out.splitlines() == [
        "UID:",
        f"  {uid}",
        "CPUs:         1-12,113-124,200-211,",
        "              220-231",
    ]


def test_a_broken_line_keeps_its_indent(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_all([Text("  " + "word " * 20)])
    assert capsys.readouterr().out.splitlines() == ["  " + " ".join(["word"] * n) for n in (13, 7)]


def test_blanks_at_the_ends_of_lines_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_all(["one   ", "two"])

    assert capsys.readouterr().out == "one\ntwo\n"


DOCUMENT = {"a": [shared := [1, 2], shared], "b": "ü"}


def test_documents_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_document(DOCUMENT, OutputFormat.JSON)

    assert capsys.readouterr().out.startswith('{\n  "a": [\n    [\n      1,')


def test_documents_are_yaml_without_anchors(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_document(DOCUMENT, OutputFormat.YAML)
    printed = capsys.readouterr().out

    assert yaml.safe_load(printed) == DOCUMENT
    assert "&" not in printed
    assert "ü" in printed


BAD = "a\x00\x07\x1b[31m\x7f\x85\x9b\u202e\u2066\u2028z"
"""Control characters of both ranges, DEL, and what changes the direction of a text."""
ESCAPED = r"a\x00\x07\x1b[31m\x7f\x85\x9b\u202e\u2066\u2028z"


@pytest.mark.parametrize(
    "print_it",
    [
        output.print_text,
        output.print_line,
        output.say,
        output.redraw,
        lambda text: output.complain(Severity.ERROR, text),
        lambda text: output.print_all([text, Text(text), output.one_line(text)]),
        lambda text: output.print_rows([[text]]),
        lambda text: output.print_log(text.encode()),
    ],
)
def test_no_control_character_is_printed(
    print_it: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    print_it(BAD)
    said = capsys.readouterr()
    text = re.sub(r"^\r\x1b\[K", "", said.out + said.err)
    assert ESCAPED in text
    assert output.printable(text) == text


def test_no_control_character_of_a_table_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    table = Table(BAD, title=BAD)
    table.add_row(BAD, Text(BAD))
    output.print_all([table])
    printed = capsys.readouterr().out
    assert r"\x1b[31m" in printed
    assert output.printable(printed) == printed


@pytest.mark.parametrize("chosen", [OutputFormat.JSON, OutputFormat.YAML])
def test_documents_are_read_back_whatever_is_in_them(
    chosen: OutputFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {BAD: [BAD, "é 日本", "two\nlines", "-1", "yes"], "n": {"x": 1}}
    output.print_document(document, chosen)
    printed = capsys.readouterr().out
    assert output.printable(printed) == printed
    assert yaml.safe_load(printed) == document


def test_json_is_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_json([BAD])
    printed = capsys.readouterr().out
    assert output.printable(printed) == printed
    assert json.loads(printed) == [BAD]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", r"'\t=1"),
        ("\r=1", r"'\r=1"),
        ("  =1", "'  =1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("-5", "-5"),
        ("+5.5e-3", "+5.5e-3"),
        (-5, "-5"),
        (-0.5, "-0.5"),
        ("-", "-"),
        ("a=b", "a=b"),
        (None, ""),
    ],
)
def test_no_cell_is_a_formula(value: object, cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    output.print_rows([["x", value]])
    printed = capsys.readouterr().out
    assert printed in (f"x,{cell}\n", f'x,"{cell}"\n')


def test_a_log_in_a_pipe_is_what_the_container_wrote(capfdbinary: Any) -> None:
    output.print_log(BAD.encode())
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == BAD.encode()
