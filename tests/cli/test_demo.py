"""The demo shows what it promises, and leaves nothing behind, however it ends."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cli import console_page
from harness import thoroughness

_SCRIPT = console_page.ROOT / "examples" / "demo.sh"
_MOMENTS = thoroughness.of(
    ["Agent is ready", "ALIGNED says so"],
    ["Agent is ready", "pod/pinned admitted", "ALIGNED says so"],
)
_PROGRAM = Path(sys.executable).parent / "numalet"


def _begin() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [_SCRIPT],
        env={**os.environ, "NUMALET": str(_PROGRAM)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def _processes_of(root: str) -> list[str]:
    """Command lines that name the root folder of a demo: its agent, its shims, its clients."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if root in words:
            found.append(words.replace("\0", " "))
    return found


def _nothing_is_left(said: str) -> bool:
    """No folder, no agent and shims, and the pinned program is gone too."""
    found = re.search(r"--root (/tmp/numalet\.\w+)", said)
    assert found, said
    deadline = time.monotonic() + 180
    while _processes_of(found[1]) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not Path(found[1]).exists() and not _processes_of(found[1])


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_starts_an_agent_shows_what_the_kernel_says_and_ends_it() -> None:
    demo = _begin()
    said, _ = demo.communicate(timeout=500)

    assert demo.returncode == 0, said
    if "An agent keeps this machine" in said or "Somebody else keeps" in said:
        pytest.skip("this machine has an owner")
    assert "pod/pinned admitted" in said
    assert re.search(r"^too-large +0/1 +TopologyAffinityError", said, re.MULTILINE)
    assert re.search(r"^pinned +1/1 +Running .* yes ", said, re.MULTILINE)
    assert said.count("Mems_allowed_list:\t") == 2
    assert _nothing_is_left(said)
    assert "/login?token=" in _first_line_of_the_last_command(said)


def _first_line_of_the_last_command(said: str) -> str:
    """What the command prints that the demo ends with; a browser is not opened for a test."""
    command = said[said.rindex("cd examples && ") :].replace(" --open", "")
    with subprocess.Popen(
        ["sh", "-c", command],
        cwd=console_page.ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True,
    ) as dashboard:  # fmt: skip
        assert dashboard.stdout
        line = dashboard.stdout.readline()
        os.killpg(dashboard.pid, signal.SIGINT)
    return line


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("moment", _MOMENTS)
def test_the_demo_interrupted_at_any_moment_leaves_nothing(moment: str) -> None:
    said = ""
    with _begin() as demo:
        assert demo.stdout
        for line in demo.stdout:
            said += line
            if moment in line:
                # As Ctrl-C does: the whole group in the foreground is told.
                os.killpg(demo.pid, signal.SIGINT)
    if "An agent keeps this machine" in said or "Somebody else keeps" in said:
        pytest.skip("this machine has an owner")
    assert demo.returncode == 130, said
    assert _nothing_is_left(said)
