"""A signal to a program that has started another one."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import asyncio, subprocess, sys
from running import ending

async def main():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        try:
            print("started", flush=True)
            await asyncio.Event().wait()
        finally:
            child.kill()
            print("ended", flush=True)

ending.by_exception()
asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_program_that_a_signal_ends_leaves_its_blocks(number: signal.Signals) -> None:
    tests = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, cwd=tests
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        program.send_signal(number)
        assert program.stdout.read() == "ended\n"
    assert program.returncode == 128 + number
