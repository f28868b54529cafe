"""The floors of the house: who may import whom, and what the core never touches."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from architecture import tree


def _contracts() -> list[dict[str, Any]]:
    text = (tree.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts: list[dict[str, Any]] = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return contracts


def _pure() -> set[str]:
    """Paths of the rooms and modules that the contract about effects names, below the sources."""
    contract = next(each for each in _contracts() if each["type"] == "forbidden")
    names = (name.removeprefix("numalet.").replace(".", "/") for name in contract["source_modules"])
    return {name if (tree.SOURCE / name).is_dir() else f"{name}.py" for name in names}


def test_the_floors_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as m; m()"]
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("wing", ["", "core", "insight", "agent", "shared"])
def test_every_room_stands_on_a_floor(wing: str) -> None:
    containers = [f"numalet.{wing}".rstrip(".")]
    floors = next(each for each in _contracts() if each.get("containers") == containers)
    named = {room.strip() for layer in floors["layers"] for room in layer.split("|")}
    folders = {path.parent.name for path in (tree.SOURCE / wing).glob("*/__init__.py")}
    assert folders <= named
    assert floors["exhaustive"]


def test_the_pure_rooms_are_forbidden_every_effect() -> None:
    forbidding = next(each for each in _contracts() if each["type"] == "forbidden")
    assert {"core", "wording", "insight/explain", "shared/kubernetes"} <= _pure()
    assert {"os", "io", "pathlib", "time", "random", "logging"} <= {
        *forbidding["forbidden_modules"]
    }


def test_the_coverage_gate_knows_every_pure_room() -> None:
    makefile = (tree.ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    named = re.search(r"^PURE := (.*)$", makefile, re.MULTILINE)
    assert named is not None
    assert _pure() == {*named[1].split()}
