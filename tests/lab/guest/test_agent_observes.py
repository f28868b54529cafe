"""An agent beside a kubelet: what the kernel really has of the kubelet's containers.

The guest has no kubelet; its state files are here, and a container where a kubelet would have it.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.guest import touching
from lab.guest.groups import Group, wait_until
from lab.guest.node_agent import PATIENCE_SECONDS, TOUCHED, NodeAgent
from numalet.core.model import cpu_set
from numalet.core.model.pod import ContainerKey
from numalet.io.machines import MachineChoice
from running import kubelet_node
from running.agent_processes import Forks
from running.kubelet_node import KubeletNode

KEY = ContainerKey("uid-one", "main")
LOGS = Path("/var/log/containers")
CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: restricted
reservedSystemCPUs: "0"
kubeReserved: {memory: 28Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 128Mi}}
"""


@pytest.fixture
def kubelet(tmp_path: Path) -> KubeletNode:
    node = kubelet_node.made(tmp_path / "kubelet", MachineChoice().open().info, CONFIG)
    node.admit("one", "2", "96Mi")
    kubelet_node.name_in_logs(LOGS, KEY, "shop", "one")
    return node


@pytest.fixture
def container(kubelet: KubeletNode) -> Iterator[Group]:
    """A program that touches memory, held as the kubelet promised."""
    cpus, nodes = kubelet.promised(KEY)
    kubepods, pod, scope = kubelet_node.cgroup(KEY).parts
    top = Group.top(kubepods)
    group = top.child(pod).child(scope)
    group.bind(cpus=cpu_set.text(cpus), nodes=cpu_set.text(nodes))
    words = ("sh", "-c", f'echo $$ > {group.path}/cgroup.procs; exec "$@"', "sh")
    process = subprocess.Popen([*words, *touching.command(TOUCHED)], stdout=subprocess.DEVNULL)
    yield group
    group.kill()
    process.wait()
    top.remove()


def test_what_the_kernel_has_of_a_kubelet_s_container_is_reported(
    kubelet: KubeletNode, container: Group, tmp_path: Path, forks: Forks
) -> None:
    words = ("--ownership", "observe", "--kubelet-root", str(kubelet.root), "--v", "1")
    with NodeAgent(forks, tmp_path / "root", *words) as agent:
        assert agent.row("shop/one")[1:7] == ["1/1", "Observed", "1", "2-3", "96Mi", "yes"]
        (held,) = agent.pods()["one"]["containers"]
        wait_until(
            lambda: _touched(agent) >= TOUCHED, "the memory that it touched", PATIENCE_SECONDS
        )
        container.write("cpuset.cpus", "1-3")
        wait_until(lambda: agent.row("shop/one")[6] == "no", "seen to stray", PATIENCE_SECONDS)
        differs = ('{code="kubelet/cpus-differ"}', 1.0)
        # A slow guest reports, too, that no kubelet runs.
        wait_until(
            lambda: differs in agent.metric("numalet_kubelet_problems").items(),
            "a problem of the kubelet",
            PATIENCE_SECONDS,
        )
        assert "CPUs 2-3, but CPUs 1-3 are in force" in agent.said()
        assert container.read("cpuset.cpus.effective") == "1-3"
        assert held["cpus"] == "2-3"


def _touched(agent: NodeAgent) -> int:
    """Bytes on the promised node, as the agent tells them."""
    (held,) = agent.pods()["one"]["containers"]
    return int(held["audit"]["bytesByNumaNode"].get("memory", {}).get("1", 0))
