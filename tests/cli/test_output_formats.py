"""The forms of output that commands offer: JSON and YAML together, CSV where answers are rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
