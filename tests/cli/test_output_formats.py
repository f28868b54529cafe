"""The forms of output that commands offer: JSON and YAML together, CSV where answers are rows.

Every form of a command is read by a reader of that form.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from cli.commands import DOCUMENTED, FLEET, FLEET_FOLDER, GUARANTEED, SMALL_MACHINE, Runner
from numalet.cli import main

_FILES = {("publish",), ("fleet", "classes")}
"""Commands that print objects or a file, by default as YAML."""


def _formats(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], set[str]]]:
    for each in command.params:
        if "-o" in each.opts:
            yield words, set(each.type.choices)
    for name, child in getattr(command, "commands", {}).items():
        yield from _formats(child, (*words, name))


def test_a_command_that_prints_json_prints_yaml() -> None:
    formats = dict(_formats(main.commands(), ()))
    assert len(formats) > 20
    assert {words for words, each in formats.items() if not {"json", "yaml"} <= each} == set()
    neither = {words for words, each in formats.items() if not {"table", "text"} & each}
    assert neither == _FILES


def test_answers_that_are_rows_can_be_csv() -> None:
    formats = dict(_formats(main.commands(), ()))
    with_rows = {" ".join(words) for words, each in formats.items() if "csv" in each}
    assert with_rows == {
        "what-if",
        *(
            f"fleet {name}"
            for name in ("fit", "traps", "why", "rejected", "free", "what-if", "replay")
        ),
    }


_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "machine": SMALL_MACHINE,
    "simulate": (*DOCUMENTED, GUARANTEED),
    "explain": (*DOCUMENTED, GUARANTEED),
    "what-if": (*DOCUMENTED, GUARANTEED),
    "replay": ("RECORD",),
    "check": (*DOCUMENTED, GUARANTEED),
    "reserve": SMALL_MACHINE,
    "state show": ("STATE",),
    "state verify": ("STATE",),
    "state diff": ("STATE", "STATE"),
    "state restore-check": (*DOCUMENTED, "STATE"),
    "state upgrade-check": (*DOCUMENTED, "STATE", "--from", "1.36", "--to", "1.37"),
    "state rebase": (*DOCUMENTED, "STATE"),
    "fleet fit": (str(FLEET_FOLDER / "jobs.yaml"), *FLEET),
    "fleet traps": FLEET,
    "fleet free": (GUARANTEED, *FLEET),
    "fleet rejected": FLEET,
    "fleet classes": ("--dump", str(FLEET_FOLDER / "dump.json")),
    "lab list": (),
}
"""Commands that answer from files; the others ask an agent, a kubelet or a cluster."""
_OTHERS = {
    *("podresources", "publish", "run", "ps", "dashboard", "doctor cluster"),
    *("fleet why", "fleet what-if", "fleet replay"),
}


def _read(text: str, form: str) -> object:
    """Read an answer by the rules of its format."""
    match form:
        case "json" | "sarif" | "gitlab":
            return json.loads(text)
        case "yaml":
            return yaml.safe_load(text)
        case "csv":
            header, *rows = csv.reader(io.StringIO(text))
            assert {len(row) for row in rows} <= {len(header)}
            return header
        case "junit":
            return ElementTree.fromstring(text).tag
        case "github":
            return all(line.startswith("::") for line in text.splitlines())
        case _:
            return text


def _every_format() -> list[tuple[str, str]]:
    of = sorted(_formats(main.commands(), ()))
    return [(" ".join(words), form) for words, forms in of for form in sorted(forms)]


@pytest.mark.parametrize(
    ("command", "form"), [each for each in _every_format() if each[0] in _ARGUMENTS]
)
def test_every_format_of_a_command_is_what_its_name_says(
    numalet: Runner, tmp_path: Path, command: str, form: str
) -> None:
    files = {"RECORD": tmp_path / "record.jsonl", "STATE": tmp_path / "state"}
    files["STATE"].mkdir()
    made = numalet.simulate(
        GUARANTEED, "--record", str(files["RECORD"]), "--state-dir", str(files["STATE"])
    )
    assert made.status == 0, made.err
    arguments = [str(files.get(each, each)) for each in _ARGUMENTS[command]]
    ended = numalet(*command.split(), *arguments, "-o", form)
    assert ended.status in (0, 1), ended.err
    assert _read(ended.out, form) is not None


def test_an_unknown_format_is_refused_alike_by_every_command(numalet: Runner) -> None:
    by_command: dict[str, list[str]] = {}
    for command, form in _every_format():
        by_command.setdefault(command, []).append(form)
    assert by_command.keys() == _ARGUMENTS.keys() | _OTHERS
    for command in by_command:
        ended = numalet(*command.split(), "-o", "xml")
        start = "Error: Invalid value for '-o' / '--output': 'xml' is not one of "
        assert (ended.status, ended.out) == (2, ""), command
        last = " ".join(ended.err.partition("\n\n")[2].split())
        assert last.startswith(start), command
        assert all(f"'{form}'" in last for form in by_command[command]), command
