"""What a configuration says of quotas, processes and OOM kills reaches the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.guest.node_agent import TREE, NodeAgent, empty, pod
from running.agent_processes import Forks

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
podPidsLimit: 50
singleProcessOOMKill: true
cpuCFSQuotaPeriod: 20ms
featureGates: {CustomCPUCFSQuotaPeriod: true}
systemReserved: {pid: "100"}
"""


@pytest.fixture
def agent(tmp_path: Path, forks: Forks) -> Iterator[NodeAgent]:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    with NodeAgent(forks, tmp_path / "root", "--v", "1", "-c", str(config)) as ours:
        yield ours
    empty()


def test_the_switches_of_the_configuration_are_in_force(agent: NodeAgent) -> None:
    agent.apply(pod("limited", {"cpu": "500m", "memory": "96Mi"}))
    agent.await_running("limited")
    group = agent.container("limited").group
    assert (group.parent / "pids.max").read_text().strip() == "50"
    assert (group / "memory.oom.group").read_text().strip() == "0"
    quotas = {(each / "cpu.max").read_text().strip() for each in (group, group.parent)}
    assert {"10000 20000"} == quotas
    limits = [Path("/proc/sys/kernel", name).read_text() for name in ("pid_max", "threads-max")]
    assert min(map(int, limits)) - 100 == int((TREE / "pids.max").read_text())
