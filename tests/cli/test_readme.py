"""The README shows real commands and their real output."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli import console_page

README = console_page.ROOT / "README.md"
SHOWN = console_page.shown_in(README)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(console_page.ROOT / "examples")
    return tmp_path


def test_it_shows_three_commands() -> None:
    assert SHOWN[0][0] == "cd examples/fleet"
    assert len(SHOWN) == 4


@pytest.mark.parametrize(("command", "expected"), SHOWN[1:3])
def test_a_command_prints_what_the_readme_says(command: str, expected: str, folder: Path) -> None:
    assert console_page.printed(f"{SHOWN[0][0]} && {command}", folder) == expected


def test_a_program_runs_on_cpus_and_nodes_of_its_own(folder: Path) -> None:
    command, expected = SHOWN[3]
    with_root = command.replace("numalet run", f"numalet run --root {folder}/root")
    printed = console_page.printed(with_root, folder)

    def numberless(text: str) -> str:
        return re.sub(r"\t[\d,-]+$", "\tLIST", text, flags=re.MULTILINE)

    assert numberless(printed) == numberless(expected)


def test_it_fits_one_screen() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= 75
