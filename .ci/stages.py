#!/usr/bin/env python3
"""Run the stages of continuous integration, say how long each took, and keep the whole short.

    stages.py run TIMES "make check" make check    # run it, note its time in the file TIMES
    stages.py sum TIMES 50                # all of them; status 1 if over 50 minutes, or one failed

What counts is how long a stage would have taken alone on a machine like the one that the limit is
for. A clock says more wherever others work on the machine or its CPUs are slow, and a run must not
fail for that. So from what the clock says goes

- what others took meanwhile: the time for which CPUs were busy, or taken away by the hypervisor,
  without working for the stage, shared out over the CPUs;
- what the CPUs are slower: before and after every stage a fixed piece of work is done, and the CPU
  time that it takes is compared with the time on the machine of the limit.

Time in which a stage sleeps counts in full while nobody else works; else part of it is taken for
the time of others. So both corrections only ever make a time shorter, and a stage that keeps its
CPUs busy comes out right however busy the machine is.
Nothing but Python's own library is imported, because this runs before there is an environment.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

REFERENCE_SECONDS = 0.036
"""CPU time of ``work`` on the machine of the limit: the fastest one that the tests were timed on.

Machines of the same name take up to 0.058 s, and all stages take them as much longer."""
_ROUNDS = 11


def quiet_seconds(
    wall_seconds: float,
    own_cpu_seconds: float,
    busy_cpu_seconds: float,
    cpus: int,
    slowness: float,
) -> float:
    """How long a stage would have taken on the quiet machine of the limit.

    ``busy_cpu_seconds`` is of all CPUs, whoever they worked for; ``slowness`` is 2 where the same
    work takes twice the CPU time.
    """
    others = max(0.0, busy_cpu_seconds - own_cpu_seconds)
    # Never less than the stage's own work, well spread: what is said of others may be wrong.
    alone = max(wall_seconds - others / cpus, min(wall_seconds, own_cpu_seconds / cpus))
    return alone / max(1.0, slowness)


def busy_seconds(stat: str) -> float:
    """CPU time for which the CPUs of a machine were not free, from the text of ``/proc/stat``."""
    user, nice, system, _, _, irq, softirq, steal = map(int, stat.split("\n", 1)[0].split()[1:9])
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")


def work() -> int:
    """A fixed piece of work, such as tests in Python do."""
    total, table = 0, dict[int, int]()
    for number in range(400_000):
        table[number % 1009] = total
        total = (total * 31 + number) % 1_000_003
    return total


def slowness() -> float:
    """How much more CPU time the work takes here and now than on the machine of the limit."""
    took = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        work()
        took.append(time.process_time() - begin)
    return statistics.median(took) / REFERENCE_SECONDS


def run(times: Path, name: str, command: list[str]) -> int:
    """Run a stage and note its time; its exit status."""
    before = slowness()
    stat, own, begin = Path("/proc/stat").read_text(), _children(), time.monotonic()
    status = subprocess.run(command, check=False).returncode  # noqa: S603
    wall = time.monotonic() - begin
    busy = busy_seconds(Path("/proc/stat").read_text()) - busy_seconds(stat)
    own = _children() - own
    slow = max(before, slowness())
    cpus = os.cpu_count() or 1
    noted = {
        "stage": name,
        "status": status,
        "wall_seconds": wall,
        "cpu_seconds": own,
        "slowness": slow,
        "quiet_seconds": quiet_seconds(wall, own, busy, cpus, slow),
    }
    with times.open("a") as file:
        file.write(json.dumps(noted) + "\n")
    _say(_line(noted))
    return status if status >= 0 else 128 - status


def summed(times: Path, limit_minutes: float) -> int:
    """Print all stages and their sum; status 1 if it is over the limit, or a stage failed."""
    noted = [json.loads(line) for line in times.read_text().splitlines()]
    for each in noted:
        _say(_line(each))
    quiet_minutes = sum(each["quiet_seconds"] for each in noted) / 60
    wall_minutes = sum(each["wall_seconds"] for each in noted) / 60
    is_over = quiet_minutes > limit_minutes
    verdict = "OVER the limit of" if is_over else "of at most"
    _say(
        f"all stages: {quiet_minutes:.1f} min on a quiet machine's scale, {verdict} "
        f"{limit_minutes:g} ({wall_minutes:.1f} min by the clock)"
    )
    failed = [each["stage"] for each in noted if each["status"]]
    if failed:
        _say(f"FAILED: {', '.join(failed)}")
    return 1 if is_over or failed else 0


def _line(noted: dict[str, Any]) -> str:
    end = "" if noted["status"] == 0 else f", FAILED with status {noted['status']}"
    return (
        f"{noted['stage']}: {noted['quiet_seconds'] / 60:.1f} min on a quiet machine's scale "
        f"({noted['wall_seconds'] / 60:.1f} by the clock, {noted['cpu_seconds'] / 60:.1f} of CPU "
        f"time, CPUs {noted['slowness']:.2f} times as slow){end}"
    )


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _say(line: str) -> None:
    sys.stdout.write(f".ci/run: {line}\n")
    sys.stdout.flush()


def main(words: list[str]) -> int:
    """What the first lines of this file say."""
    if words[0] == "run":
        return run(Path(words[1]), words[2], words[3:])
    return summed(Path(words[1]), float(words[2]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
