"""The README begins with a real command and its real output."""

from __future__ import annotations

import re
import shlex

import pytest

from cli.commands import EXAMPLES, Runner

_SHOWN = re.compile(r"^```console\n\$ numalet ((?:.*\\\n)*.*\n)((?s:.*?))^```", re.MULTILINE)


def test_the_first_command_prints_what_the_readme_says(
    numalet: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    shown = _SHOWN.search((EXAMPLES.parents[1] / "README.md").read_text(encoding="utf-8"))
    assert shown

    ended = numalet(*shlex.split(shown[1].replace("\\\n", " ")))

    assert (ended.status, ended.out) == (1, shown[2])
