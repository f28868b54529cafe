"""The page on simulations shows real commands with real output.

The commands write state files that later ones read, so they run in order, in a copy.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cli import console_page
from cli.commands import EXAMPLES


@pytest.mark.slow
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path, dirs_exist_ok=True)
    shown = console_page.shown("simulate.md")

    printed = [(command, console_page.printed(command, tmp_path)) for command, _ in shown]

    assert len(printed) > 5
    assert printed == shown
