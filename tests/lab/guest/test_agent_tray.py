"""``numalet agent`` on a tray of 36 NUMA nodes, of which 34 have memory alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.guest.node_agent import NodeAgent, empty, pod
from running.agent_processes import Forks

WITH_CPUS = {0, 1}


@pytest.fixture
def agent(tmp_path: Path, forks: Forks) -> Iterator[NodeAgent]:
    with NodeAgent(forks, tmp_path / "root", "--v", "1") as ours:
        yield ours
    empty()


def test_pods_are_pinned_to_nodes_with_cpus_in_milliseconds(agent: NodeAgent) -> None:
    amounts = {"cpu": "1", "memory": "96Mi"}
    decided = agent.apply(
        pod("a", amounts),
        pod("b", {"cpu": "2", "memory": "96Mi"}),
        pod("large", {"cpu": "1", "memory": "3Gi"}),
    )
    assert "pod/large rejected" in decided.output
    agent.await_running("a", "b")
    for name, cpus, nodes in (("a", {1}, {0}), ("b", {2, 3}, {1})):
        ours = agent.container(name)
        assert (frozenset(cpus), frozenset(nodes)) == ours.allowed()
        assert nodes == ours.memory_nodes()
        assert agent.await_audit(name)
    promised = agent.metric("numalet_numa_reserved_bytes")
    assert {'{numa_node="0",type="memory"}', '{numa_node="1",type="memory"}'} == {
        labels for labels, size_bytes in promised.items() if size_bytes and "memory" in labels
    }
    (count,) = agent.metric("numalet_decision_seconds_count").values()
    (seconds,) = agent.metric("numalet_decision_seconds_sum").values()
    assert count == 3
    print(f"decided in {1000 * seconds / count:.1f} ms on average")  # noqa: T201
