"""A real agent, 16 clients, 1,000 pods of which half are deleted: decisions, memory, idleness.

Printed, not judged: aimed at are 20 ms within which 99 of 100 creates are decided and answered,
150 MB, and 1 % of a CPU while nobody asks.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from running import agent_load


def test_agent_under_load() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="node") as folder,
        agent_load.agent(Path(folder) / "root") as agent,
    ):
        before = agent.cpu_seconds()
        load = agent_load.put(agent)
        used = agent.cpu_seconds() - before
        memory_bytes, idle = agent.memory_bytes(), agent.idle_cpu(10.0)
    assert load.troubles == []
    requests = len(load.durations) + load.deleted
    print()
    print(load)
    print(f"  {used / requests * 1e3:.2f} ms of CPU a request")
    print(f"  {memory_bytes / 1e6:.0f} MB at most, {idle:.2%} of a CPU while idle")
