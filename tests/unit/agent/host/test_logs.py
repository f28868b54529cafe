"""Lines of the log as they are written."""

from __future__ import annotations

import io
import json
import re

import pytest

from numalet.agent.host.logs import LeveledLog, to_stderr
from numalet.wording.log_line import LogFormat, LogLine

LINES = [
    LogLine("Allocate", {"pod": "default/u", "containerName": "c"}),
    LogLine("Deleted memory assignment", {"podUID": "u"}, level=2),
    LogLine("Allocate error", {"err": "no\nmore"}, level=5, is_error=True),
]


class Broken(io.StringIO):
    """A stream on a full disk."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def test_json_has_one_object_a_line() -> None:
    stream = io.StringIO()
    LeveledLog(stream, LogFormat.JSON, verbosity=2).write(LINES)
    first, second, third = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert first.pop("ts").endswith("Z")
    assert first == {
        "level": "info",
        "v": 0,
        "msg": "Allocate",
        "pod": "default/u",
        "containerName": "c",
    }
    assert (second["v"], third["level"]) == (2, "error")


def test_the_verbosity_leaves_lines_out_but_no_errors() -> None:
    stream = io.StringIO()
    LeveledLog(stream, LogFormat.CONSOLE).write(LINES)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert "Allocate error" in lines[1]


def test_console_lines_have_no_colour_off_a_terminal_and_stay_one_line() -> None:
    stream = io.StringIO()
    LeveledLog(stream, LogFormat.CONSOLE, verbosity=2).write(LINES)
    assert "\x1b" not in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 3
    assert "v=2" in stream.getvalue()
    assert "v=0" not in stream.getvalue()


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
def test_a_terminal_without_escape_sequences_gets_none(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", kind)
    stream = Terminal()
    LeveledLog(stream, LogFormat.CONSOLE, verbosity=5).write(LINES)
    assert "Allocate" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_off_a_terminal_lines_are_those_of_a_terminal_without_its_colours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    texts = ["plain", "two words", "it's", 'a "quote"', "a=b", "two\nlines", "tab\t", "", "r\r"]
    keys = {f"key{at}": text for at, text in enumerate(texts)} | {"aa": None, "n": {"x": [1]}}
    lines = [LogLine("Short", keys), LogLine("x" * 40, level=3), LogLine("Bad", is_error=True)]
    terminal, file = Terminal(), io.StringIO()
    LeveledLog(terminal, LogFormat.CONSOLE, verbosity=5).write(lines)
    LeveledLog(file, LogFormat.CONSOLE, verbosity=5).write(lines)

    def without_time(text: str) -> list[str]:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
        return [line.partition(" ")[2].rstrip() for line in plain.splitlines()]

    assert "\x1b" in terminal.getvalue()
    assert without_time(terminal.getvalue()) == without_time(file.getvalue())


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_no_control_character_of_a_line_is_written(stream: io.StringIO) -> None:
    bad = "a\x1b]0;b\x07\x7f\x9b\u202ez"
    LeveledLog(stream, LogFormat.CONSOLE).write([LogLine(bad, {"key": bad, "other": bad + " b"})])
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert plain.removesuffix("\n").isprintable()
    assert r"\x1b]0;b" in plain


def test_a_log_that_can_not_be_written_stops_nobody() -> None:
    LeveledLog(Broken()).write(LINES)


def test_the_agents_log_goes_to_the_error_stream() -> None:
    assert to_stderr(verbosity=4).verbosity == 4
