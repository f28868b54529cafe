"""A thousand hollow nodes in one process on a real control plane: what they cost, what they write.

The figures are in docs/benchmarks.md. What is asserted holds on a busy machine, too.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from numalet.cluster.hollow.node_document import LEASE_SECONDS, RENEW_SECONDS
from numalet.cluster.hollow.publishing import ALIVE_SECONDS, BETWEEN_SECONDS
from numalet.io.kube_api import access, client
from running import fleet_observer
from running.control_plane import ControlPlane
from running.fleet_observer import LEASE, NODE_STATUS, NUMA_NODE, FleetObserver, at_part
from running.hollow_program import HollowProgram, hollow_nodes
from running.job_stream import JobStream

NODES = 1000
JOBS = 1000
JOB_SECONDS = 90
MOST_BYTES = 1_500_000_000
IDLE_SECONDS = 60.0
BUSY_SECONDS = 120.0


@dataclass(frozen=True)
class Spent:
    """What the process used and what was written in so many seconds."""

    seconds: float
    cpu_seconds: float
    writes: Counter[str]

    def per_second(self, kind: str) -> float:
        """Writes of this kind."""
        return self.writes[kind] / self.seconds

    def __str__(self) -> str:
        kinds = (LEASE, NODE_STATUS, NUMA_NODE)
        rates = ", ".join(f"{self.per_second(each):.1f} {each}" for each in kinds)
        used = self.cpu_seconds / self.seconds
        return f"{used:.2f} CPUs over {self.seconds:.0f} s; writes a second: {rates}"


async def spent(program: HollowProgram, seen: FleetObserver, over_seconds: float) -> Spent:
    """What is spent from now on, over this time."""
    now = asyncio.get_running_loop().time
    began, cpu, writes = now(), program.cpu_seconds(), Counter(seen.writes)
    await asyncio.sleep(over_seconds)
    return Spent(now() - began, program.cpu_seconds() - cpu, seen.writes - writes)


@pytest.mark.large
@pytest.mark.timeout(3600)
async def test_a_thousand_nodes_live_in_one_process_and_are_always_ready(
    defined: ControlPlane, tmp_path: Path, figures: list[str]
) -> None:
    plane = defined
    plane.start_scheduler()
    plane.controllers.start()
    namespace = plane.namespace()
    admin = access.of(plane.kubeconfig)
    async with contextlib.AsyncExitStack() as stack:
        seen = await stack.enter_async_context(fleet_observer.observing(admin))
        nodes = hollow_nodes(plane.kubeconfig, tmp_path, NODES)
        program = await stack.enter_async_context(nodes)
        await seen.until(lambda: seen.ready_nodes == len(seen.published) == NODES)
        figures.append(f"registering and publishing: {program.cpu_seconds():.1f} s of CPU")

        idle = await spent(program, seen, IDLE_SECONDS)
        figures.append(f"without pods: {idle}")
        assert idle.per_second(LEASE) < 1.2 * NODES / RENEW_SECONDS
        assert idle.writes[NUMA_NODE] < 2 * NODES * idle.seconds / ALIVE_SECONDS

        api = await stack.enter_async_context(client.opened(admin, "jobs"))
        stream = JobStream(api, seen, namespace, gpus=4, runs_for=f"{JOB_SECONDS}s")
        async with stream.kept(JOBS, JOB_SECONDS):
            await asyncio.sleep(JOB_SECONDS + 10)
            before = {*seen.decided}
            busy = await spent(program, seen, BUSY_SECONDS)
            decided = [times for name, times in seen.decided.items() if name not in before]
        figures.append(f"up to {JOBS} jobs of {JOB_SECONDS} s: {busy}")
        for_leases = idle.cpu_seconds * busy.writes[LEASE] / idle.writes[LEASE]
        of_pod_ms = 1000 * (busy.cpu_seconds - for_leases) / len(decided)
        figures.append(f"{len(decided)} pods decided: {of_pod_ms:.1f} ms of CPU each")
        waits = [each.decided_after_seconds for each in decided]
        halves = f"p50 {at_part(waits, 0.5):.2f} s, p99 {at_part(waits, 0.99):.2f} s"
        figures.append(f"bound to Running: {halves}")
        figures.append(f"most memory: {program.memory_bytes() / 1e6:.0f} MB")
        figures.append(f"longest between two renewals: {seen.longest_lease_seconds:.1f} s")
        assert busy.writes[NUMA_NODE] <= 2.1 * len(decided) + 10
        assert busy.per_second(NUMA_NODE) <= NODES / BETWEEN_SECONDS
        assert program.memory_bytes() < MOST_BYTES
        assert seen.longest_lease_seconds < LEASE_SECONDS
        assert seen.not_ready == set()
        assert {each.phase for each in decided} <= {"Running", "Succeeded"}
