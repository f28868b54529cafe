"""A hundred hollow nodes in a process of their own, and a thousand pods that a scheduler binds."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

from numalet.io.kube_api import access, client
from running import fleet_observer
from running.control_plane import ControlPlane
from running.fleet_observer import at_part
from running.hollow_program import hollow_nodes
from running.job_stream import job_pod

NODES = 100
PODS = 1000
CLIENTS = 8
MOST_BYTES = 150_000_000


async def test_a_thousand_pods_on_a_hundred_nodes_are_decided(
    defined: ControlPlane, tmp_path: Path, figures: list[str]
) -> None:
    plane = defined
    plane.start_scheduler()
    path = f"/api/v1/namespaces/{plane.namespace()}/pods"
    rng = random.Random(NODES)
    # Their sum is less than what the nodes have, so all of them are bound.
    waiting = [job_pod(f"pod-{at}", rng.choice((0, 0, 0, 1, 2))) for at in range(PODS)]
    admin = access.of(plane.kubeconfig)
    async with (
        fleet_observer.observing(admin) as seen,
        hollow_nodes(plane.kubeconfig, tmp_path, NODES, "--untaint") as program,
        client.opened(admin) as api,
    ):
        before = program.cpu_seconds()

        async def submit() -> None:
            while waiting:
                await api.create(path, waiting.pop())

        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(submit())
        await seen.until(lambda: len(seen.decided) == PODS)

        waits = [each.decided_after_seconds for each in seen.decided.values()]
        phases = Counter((each.phase, each.reason) for each in seen.decided.values())
        spent_ms = 1000 * (program.cpu_seconds() - before) / PODS
        figures += [
            f"bound to decided: p50 {at_part(waits, 0.5):.2f} s, p99 {at_part(waits, 0.99):.2f} s",
            f"CPU {spent_ms:.1f} ms a pod; {program.memory_bytes() / 1e6:.0f} MB; {dict(phases)}",
        ]
        assert {*phases} <= {("Running", ""), ("Failed", "TopologyAffinityError")}
        assert program.memory_bytes() < MOST_BYTES
