"""``numalet fleet`` in processes of their own that stay, beside any API server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

PATIENCE_SECONDS: Final = 120.0


class FleetProgram:
    """``numalet fleet`` in a process of its own; what it prints, as it comes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.out = ""
        self.err = ""

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Read on until it is so. Raises ``TimeoutError``."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():
                for name, stream in (("out", self.process.stdout), ("err", self.process.stderr)):
                    with contextlib.suppress(TimeoutError):
                        piece = await asyncio.wait_for(stream.read(65536), 0.02)
                        setattr(self, name, getattr(self, name) + piece.decode())

    async def ended(self, by: signal.Signals = signal.SIGINT) -> int:
        """The exit status after Ctrl-C, or after another signal."""
        self.process.send_signal(by)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.process.wait()


@contextlib.asynccontextmanager
async def running(kubeconfig: Path, *words: str) -> AsyncIterator[FleetProgram]:
    """A program that is asked these words, until the end of the block."""
    command = [sys.executable, "-m", "numalet", "fleet", *words, "--kubeconfig", str(kubeconfig)]
    process = await asyncio.create_subprocess_exec(
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        yield FleetProgram(process)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
