"""An attempt that is offered to a runner in the foreground, who looks for it all the time."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from numalet.agent.host.runtime.attempts import RUNS, AttemptFolder, Attempts
from numalet.agent.host.runtime.port import Offered
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.agent.host.runtime.shim import attempt_files, process_tree
from numalet.agent.run import foreground
from numalet.agent.run.foreground import AcceptedOrder
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.spec import Runner
from running.process_builders import NO_GROUPS, launch

TIMES = 50


class Looking(threading.Thread):
    """A runner that looks for an order without a pause, and keeps the first that it gets."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.taken: AcceptedOrder | None = None
        self.stops = False

    def run(self) -> None:
        while self.taken is None and not self.stops:
            self.taken = foreground.accept_order(self.folder)


@contextmanager
def looking(folder: Path) -> Iterator[Looking]:
    runner = Looking(folder)
    runner.start()
    try:
        yield runner
    finally:
        runner.stops = True
        runner.join()
        if runner.taken is not None:
            os.close(runner.taken.lock)


def left_by_an_agent_that_died(root: Path, number: int) -> AttemptFolder:
    """It had made the folder, and one before it had made the lock, and no order lies there."""
    attempt = Attempts(root / RUNS).of(ContainerKey(f"u-{number}", "c"), 1)
    attempt.folder.mkdir(parents=True)
    (attempt.folder / attempt_files.LOCK).touch()
    return attempt


def test_a_runner_that_looks_for_its_order_is_never_taken_for_one_that_has_it(
    tmp_path: Path,
) -> None:
    attempt = left_by_an_agent_that_died(tmp_path, 1)
    with looking(attempt.folder):
        held = [attempt.lock_is_held() for _ in range(40 * TIMES)]
    assert not any(held)


async def test_what_an_agent_prepares_again_is_an_order_that_its_runner_gets(
    tmp_path: Path,
) -> None:
    own = process_tree.process(os.getpid())
    assert own is not None
    runner = Runner(own.pid, own.started, process_tree.boot_id())

    ours = ProcessRuntime(tmp_path, on=NO_GROUPS)
    await ours.open()
    try:
        for number in range(TIMES):
            attempt = left_by_an_agent_that_died(tmp_path, number)
            with looking(attempt.folder) as found:
                order = replace(launch("true", key=attempt.key), runner=runner)
                assert await ours.start(order) == Offered()
                await asyncio.to_thread(found.join, 60.0)
                assert found.taken is not None
    finally:
        await ours.close()
