"""``numalet agent`` as a process of its own: pods placed, held there, and left alone by a crash.

The guest has two NUMA nodes with CPUs 0-1 and 2-3. CPU 0 is kept back, so two CPUs of one node are
2-3 alone. ``test_agent_reboot.py`` has what is left to the next boot.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.guest.groups import wait_until
from lab.guest.node_agent import PATIENCE_SECONDS, TREE, NodeAgent, empty, pod
from running.agent_processes import Forks

TWO_CPUS = {"cpu": "2", "memory": "96Mi"}
ONE_CPU = {"cpu": "1", "memory": "96Mi"}
SHARED = {"memory": "48Mi"}
"""No CPUs: what the other pods ask for fills the three that are not reserved."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agent") / "root"


@pytest.fixture(scope="module")
def agent(root: Path, forks: Forks) -> Iterator[NodeAgent]:
    """One agent for all tests, which starts with a Burstable pod."""
    with NodeAgent(forks, root, "--v", "1") as ours:
        assert ours.apply(pod("shared", requests=SHARED)).exit_code == 0
        ours.await_running("shared")
        yield ours
    empty()


def test_a_pod_is_where_it_was_promised_and_a_refused_one_is_nowhere(agent: NodeAgent) -> None:
    decided = agent.apply(pod("pinned", TWO_CPUS), pod("refused", TWO_CPUS | {"cpu": "3"}))
    assert decided.exit_code == 1
    assert "pod/refused rejected: TopologyAffinityError" in decided.output
    agent.await_running("pinned")
    ours = agent.container("pinned")
    assert {1} == ours.memory_nodes()
    assert (frozenset({2, 3}), frozenset({1})) == ours.allowed()
    assert agent.await_audit("pinned")
    assert agent.row("pinned")[1:7] == ["1/1", "Running", "1", "2-3", "96Mi", "yes"]
    assert agent.row("refused")[1:3] == ["0/1", "TopologyAffinityError"]
    told = agent.command("describe", "pinned")
    assert "held by:   kernel" in told
    uid = agent.pods()["refused"]["metadata"]["uid"]
    assert list(TREE.rglob(f"pod{uid}")) == []
    assert list((agent.root / "runs").glob(f"{uid}*")) == []
    agent.delete("pinned", "refused")


def test_shared_cpus_shrink_and_grow_with_exclusive_ones(agent: NodeAgent) -> None:
    shared = agent.container("shared")

    def are(*cpus: int) -> bool:
        """Whether these CPUs are shared, and no process of others may use any other."""
        return frozenset(cpus) == shared.allowed()[0]

    assert are(0, 1, 2, 3)
    assert agent.apply(pod("two", TWO_CPUS)).exit_code == 0
    agent.await_running("two")
    assert are(0, 1)
    assert agent.apply(pod("one", ONE_CPU)).exit_code == 0
    agent.await_running("one")
    assert are(0)
    assert (frozenset({2, 3}), frozenset({1})) == agent.container("two").allowed()
    assert (frozenset({1}), frozenset({0})) == agent.container("one").allowed()
    # What has CPUs of its own is throttled by nobody.
    group = agent.container("two").group
    assert {"max"} == {(each / "cpu.max").read_text().split()[0] for each in (group, group.parent)}
    agent.delete("two")
    wait_until(lambda: are(0, 2, 3), "two CPUs are shared again")
    agent.delete("one")
    wait_until(lambda: are(0, 1, 2, 3), "all CPUs are shared again")


def test_what_another_process_wrote_is_mended_and_counted(agent: NodeAgent) -> None:
    assert agent.apply(pod("drifting", TWO_CPUS)).exit_code == 0
    agent.await_running("drifting")
    assert agent.await_audit("drifting")
    before = agent.drift()
    # Nobody else wrote anything, so nothing was corrected, however many pods came and went.
    assert sum(before.values()) == 0
    ours = agent.container("drifting")
    (ours.group / "cpuset.mems").write_text("0-1")
    wait_until(lambda: ours.effective("cpuset.mems") == "1", "corrected", PATIENCE_SECONDS)
    wait_until(lambda: agent.drift() != before, "counted", PATIENCE_SECONDS)
    assert before | {'{setting="cpuset.mems"}': 1.0} == agent.drift()
    assert (frozenset({2, 3}), frozenset({1})) == ours.allowed()
    agent.delete("drifting")


def test_a_killed_agent_leaves_workloads_and_the_next_one_takes_them_over(
    agent: NodeAgent, root: Path, forks: Forks
) -> None:
    assert agent.apply(pod("two", TWO_CPUS), pod("one", ONE_CPU)).exit_code == 0
    names = ("shared", "two", "one")
    agent.await_running(*names)
    pids = {name: agent.container(name).pids() for name in names}
    agent.kill()
    with NodeAgent(forks, root, "--v", "1") as following:
        following.await_running(*names)
        assert pids == {name: following.container(name).pids() for name in names}
        assert following.await_audit("two")
        assert following.node_state() == following.kernel()
        assert {"1", "0"} == {nodes for _, nodes in following.node_state()[1].values()}
        assert sum(following.drift().values()) == 0
        following.delete(*names)
        assert list(TREE.rglob("pod*")) == []
