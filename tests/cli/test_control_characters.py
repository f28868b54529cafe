"""Whatever an input holds, the terminal gets no control character of it, in any command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.commands import DOCUMENTED, EXAMPLES, Runner

BAD = "x\x1b]0;title\x07\x1b[31mred\x7f\x9b31m\u202ez"
SCENARIOS = Path(__file__).parents[1] / "scenarios"


def _spoilt(value: Any) -> Iterator[Any]:
    """The value with one text or one key more that is bad, in each place in turn."""
    if isinstance(value, dict):
        yield {**value, BAD: value}
        for key, each in value.items():
            for spoilt in _spoilt(each):
                yield {**value, key: spoilt}
    elif isinstance(value, list):
        for at, each in enumerate(value):
            for spoilt in _spoilt(each):
                yield [*value[:at], spoilt, *value[at + 1 :]]
    elif isinstance(value, str):
        yield BAD


def _manifest(name: str) -> Any:
    return yaml.safe_load((EXAMPLES / name).read_text(encoding="utf-8"))


CASES: dict[str, tuple[Callable[[], Any], Callable[[str], list[list[str]]]]] = {
    "configuration": (
        lambda: _manifest("kubelet.yaml"),
        lambda file: [
            ["check", "-c", file, *DOCUMENTED[-2:]],
            ["reserve", "-c", file, *DOCUMENTED[-2:]],
        ],
    ),
    "machine": (
        lambda: _manifest("machine.yaml"),
        lambda file: [["machine", "-m", file]],
    ),
    "pod": (
        lambda: _manifest("guaranteed.yaml"),
        lambda file: [
            ["simulate", *DOCUMENTED, file],
            ["simulate", *DOCUMENTED, file, "-o", "yaml"],
            ["explain", *DOCUMENTED, file],
            ["what-if", *DOCUMENTED, file, "--policy", "restricted,best-effort", "-o", "csv"],
        ],
    ),
    "scenario": (
        lambda: yaml.safe_load(
            (SCENARIOS / "affinity-with-nothing-on-it.yaml").read_text(encoding="utf-8")
        ),
        lambda file: [["replay", file]],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_no_control_character_is_printed(kind: str, numalet: Runner, tmp_path: Path) -> None:
    make, commands = CASES[kind]
    file = tmp_path / "input.json"
    for spoilt in _spoilt(make()):
        file.write_text(json.dumps(spoilt), encoding="utf-8")
        for command in commands(str(file)):
            ended = numalet(*command)
            for text in (ended.out, ended.err):
                bad = [each for each in text if not (each.isprintable() or each == "\n")]
                assert bad == [], (command, spoilt, text)


@pytest.mark.parametrize(
    "words", [[BAD], ["simulate", f"--{BAD}"], ["simulate", BAD], ["explain", "-m", BAD, BAD]]
)
def test_no_control_character_of_a_command_line_is_printed(
    words: list[str], numalet: Runner
) -> None:
    ended = numalet(*words)
    assert ended.status == 2
    assert all(each.isprintable() or each == "\n" for each in ended.out + ended.err)
