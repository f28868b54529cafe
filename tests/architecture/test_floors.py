"""The floors of the house: who may import whom, and what the core never touches."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from typing import Any

from architecture import tree

ABOVE_THE_CORE = ("cli", "lab", "agent", "samples", "servers", "adapters")


def _contracts() -> list[dict[str, Any]]:
    text = (tree.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts: list[dict[str, Any]] = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return contracts


def _rooms() -> list[str]:
    """Every room that the contract about the floors names."""
    floors = next(contract for contract in _contracts() if contract["type"] == "layers")
    return [room.strip() for layer in floors["layers"] for room in layer.split("|")]


def test_the_floors_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as m; m()"]
    done = subprocess.run(command, cwd=tree.ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_room_stands_on_a_floor() -> None:
    folders = {path.parent.name for path in tree.SOURCE.glob("*/__init__.py")}
    assert folders <= set(_rooms())


def test_the_core_is_forbidden_every_effect() -> None:
    forbidding = next(contract for contract in _contracts() if contract["type"] == "forbidden")
    core = {f"numalet.{room}" for room in _rooms() if room not in ABOVE_THE_CORE}
    assert core == set(forbidding["source_modules"])
    assert {"os", "io", "pathlib", "time", "random", "logging"} <= set(
        forbidding["forbidden_modules"]
    )


def test_the_coverage_gate_knows_every_room_of_the_core() -> None:
    makefile = (tree.ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.search(r"^CORE := (.*)$", makefile, re.MULTILINE)
    assert named is not None
    assert {room for room in _rooms() if room not in ABOVE_THE_CORE} == set(named[1].split())
