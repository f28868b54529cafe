"""The README begins with a real command and its real output."""

from __future__ import annotations

import itertools
import re
import shlex

import pytest

from cli.commands import EXAMPLES, Runner
from numalet.cli import main

README = EXAMPLES.parents[1] / "README.md"
_COMMAND = re.compile(r"^(numalet .*?)(?:  .*)?$", re.MULTILINE)
_NAMED = sorted(set(_COMMAND.findall(README.read_text("utf-8"))))
_SHOWN = re.compile(r"^```console\n\$ numalet ((?:.*\\\n)*.*\n)((?s:.*?))^```", re.MULTILINE)


def test_the_first_command_prints_what_the_readme_says(
    numalet: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    shown = _SHOWN.search(README.read_text(encoding="utf-8"))
    assert shown

    ended = numalet(*shlex.split(shown[1].replace("\\\n", " ")))

    assert (ended.status, ended.out) == (1, shown[2])


@pytest.mark.parametrize("command", _NAMED)
def test_every_command_is_one_that_exists_with_these_options(command: str, numalet: Runner) -> None:
    words = list(itertools.takewhile(lambda word: word != "--", shlex.split(command)[1:]))
    name = words[:2] if words[0] in ("state", "lab") else words[:1]
    ended = numalet(*name, "--help")

    assert ended.status == 0
    for option in (word for word in words if word.startswith("-")):
        assert re.search(rf"(?<![\w-]){option}(?![\w-])", ended.out), option


def test_every_link_leads_somewhere() -> None:
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text("utf-8"))

    assert len(links) > 10
    assert [link for link in links if not (README.parent / link).exists()] == []


def test_every_command_of_the_command_line_is_named() -> None:
    text = README.read_text("utf-8")
    names = [each.name for each in main.app().registered_commands]
    names += [each.name for each in main.app().registered_groups]

    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == [
        "sample-device-plugin"
    ]
