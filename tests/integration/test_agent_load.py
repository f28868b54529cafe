"""A real agent under load. How soon it answers is measured elsewhere: machines that run tests do
other things too. What it takes of CPU and memory hangs on nobody else.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from running import agent_load


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_agent_bears_a_load_and_is_idle_afterwards() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="node") as folder,
        agent_load.agent(Path(folder) / "root") as agent,
    ):
        load = agent_load.put(agent, pods=320)
        memory_bytes, idle = agent.memory_bytes(), agent.idle_cpu(3.0)
    assert load.troubles == []
    assert len(load.durations) == 320
    assert memory_bytes < 150e6
    assert idle < 0.10
