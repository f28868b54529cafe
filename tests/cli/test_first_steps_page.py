"""The first steps print what their page says; ages, and what was found out meanwhile, may differ.

The commands talk to an agent that an earlier one has started, so they run in order, in a copy.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from cli import console_page


@pytest.mark.slow
def test_every_command_prints_what_the_page_says(tmp_path: Path) -> None:
    shutil.copytree(console_page.ROOT / "examples" / "this-machine", tmp_path, dirs_exist_ok=True)
    shown = console_page.shown("from-nothing-to-a-pinned-workload.md")

    try:
        printed = [(command, console_page.printed(command, tmp_path)) for command, _ in shown]
    finally:
        _end_agent_in(tmp_path)

    assert len(shown) == 10
    assert [(command, _timeless(text)) for command, text in printed] == [
        (command, _timeless(text)) for command, text in shown
    ]


def _end_agent_in(folder: Path) -> None:
    """End the agent that was started there; the last command does so, if it is reached."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.joinpath("cwd").readlink() == folder:
                os.kill(int(process.name), signal.SIGKILL)


def _timeless(text: str) -> str:
    """The same at any moment: ALIGNED is "-" until the agent has compared, and an age grows."""
    return re.sub(r" (yes|-) +\w+$", " ALIGNED AGE", text, flags=re.MULTILINE)
