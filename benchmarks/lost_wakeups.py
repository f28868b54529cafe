"""How long a waiting pod waits after a pod that held its room was deleted, in a quiet cluster.

One hollow node has room for three pods of a NUMA node each, and a fourth waits. In each round one
of the three is deleted, and the time is taken until the fourth runs. The scheduler may see the
deletion before the extender does. Then it asks too early, and nothing else wakes the pod: such a
round takes minutes. After ``--cap`` seconds a label of the node wakes it.

    python -m benchmarks.lost_wakeups --bin FOLDER --rounds 5000 [--waker]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Final

from benchmarks import page

from cluster import manifests, storm_scene
from cluster.storm_scene import Scene
from running import (
    control_plane,
    control_plane_programs,
    ending,
    extenders,
    fleet_observer,
    storms,
    wakers,
)
from running.control_plane import ControlPlane

_GLANCE_SECONDS: Final = 0.005
_LATE_SECONDS: Final = (1.0, 2.0, 10.0)
_EVERY: Final = 250
"""Rounds between two lines of figures."""


def figures(waits: list[float]) -> str:
    late = ", ".join(
        f"over {limit:g} s: {sum(w > limit for w in waits)}" for limit in _LATE_SECONDS
    )
    p50, p99 = (fleet_observer.at_part(waits, part) for part in (0.5, 0.99))
    return (
        f"{len(waits)} rounds, p50 {p50:.2f} s, p99 {p99:.2f} s, longest {max(waits):.2f} s, "
        f"{late}; load {page.load()}"
    )


async def one_round(scene: Scene, number: int, cap_seconds: float) -> float:
    """Delete a pod that runs; the seconds until the one that waits runs."""
    now = asyncio.get_running_loop().time
    gone = scene.seen.names("Running")[0]
    began, is_woken = now(), False
    await scene.delete(gone)
    while gone in (running := scene.seen.names("Running")) or len(running) < 3:
        if now() - began > cap_seconds and not is_woken:
            is_woken = True
            await scene.wake(str(number))
        await asyncio.sleep(_GLANCE_SECONDS)
    return now() - began


async def measure(
    plane: ControlPlane, rounds: int, cap_seconds: float, *, with_waker: bool
) -> None:
    async with contextlib.AsyncExitStack() as stack:
        scene = await stack.enter_async_context(storm_scene.of_nodes(plane, 1))
        if with_waker:
            await stack.enter_async_context(wakers.awake(plane))
        await scene.fill("hollow-0", "h-0", "h-1", "h-2")
        extender = stack.enter_context(extenders.running(plane.kubeconfig))
        plane.start_scheduler(
            [extender.configuration(prioritizeVerb="prioritize", preemptVerb="preempt", weight=150)]
        )
        waits: list[float] = []
        for number in range(rounds):
            name = f"w-{number}"
            await scene.create(storms.pod(name))
            await scene.until_waiting(name, storm_scene.REASON)
            waits.append(await one_round(scene, number, cap_seconds))
            if waits[-1] > _LATE_SECONDS[1]:
                print(f"round {number}: {waits[-1]:.2f} s", flush=True)
            if (number + 1) % _EVERY == 0 or number + 1 == rounds:
                print(figures(waits), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--bin", type=Path, required=True, help="a folder of .ci/control-plane")
    parser.add_argument("--rounds", type=int, default=5000)
    parser.add_argument("--cap", type=float, default=20.0, help="seconds after which a label wakes")
    parser.add_argument("--waker", action="store_true", help="numalet fleet wake is at work too")
    given = parser.parse_args()
    ending.by_exception()
    programs = control_plane_programs.in_folder(given.bin)
    if isinstance(programs, str):
        parser.error(programs)
    with (
        tempfile.TemporaryDirectory(prefix="wakeups-", ignore_cleanup_errors=True) as folder,
        control_plane.running(programs, Path(folder)) as plane,
    ):
        plane.apply(*manifests.DEFINITIONS, *manifests.ACCOUNTS)
        plane.until_established()
        asyncio.run(measure(plane, given.rounds, given.cap, with_waker=given.waker))


if __name__ == "__main__":
    main()
