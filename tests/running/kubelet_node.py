"""What a kubelet leaves on a node, in folders of a test: state files, links to logs, cgroups.

The state files are the kubelet's to the byte; the cgroups are folders with the files that are
read, as a kubelet with systemd's driver and containerd have them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.pod import ContainerKey
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.files import state_directory
from running import agents

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cpuManagerPolicy: static
memoryManagerPolicy: Static
topologyManagerPolicy: restricted
kubeReserved: {cpu: "1", memory: 924Mi}
reservedMemory:
- {numaNode: 0, limits: {memory: 1Gi}}
"""
EVERYTHING = frozenset(range(16)), frozenset({0, 1})
_PAGE = 4096

Sets = tuple[CpuSet, frozenset[int]]
"""CPUs and NUMA nodes."""


@dataclass
class KubeletNode:
    """A kubelet v1.32 on two NUMA nodes with 8 CPUs and 16Gi each."""

    folder: Path
    node: Node

    @property
    def root(self) -> Path:
        """Its root directory."""
        return self.folder / "root"

    @property
    def cgroups(self) -> Path:
        """In the place of the cgroup file system."""
        return self.folder / "cgroup"

    @property
    def logs(self) -> Path:
        """The links to the logs of containers."""
        return self.folder / "log" / "containers"

    def admit(self, name: str, cpu: str = "2", memory: str = "2Gi") -> None:
        """Admit a Guaranteed pod, and write the state files."""
        pod = agents.pod(name, cpu, memory).pod
        self.node, decision = self.node.admit(pod)
        assert decision.admitted
        self.node = self.node.pod_started(pod.uid)
        self.write()

    def write(self) -> None:
        """Write what differs, as a kubelet does."""
        state_directory.read(self.root).write(self.node.state_files())

    def promised(self, key: ContainerKey) -> Sets:
        """CPUs and NUMA nodes of a container, as its runtime is told."""
        snapshot = self.node.snapshot
        return placement.cpus(snapshot, *key), frozenset(placement.memory_nodes(snapshot, *key))

    def container(
        self,
        key: ContainerKey,
        namespace: str,
        pod: str,
        sets: Sets,
        pages: dict[int, int] | None = None,
    ) -> Path:
        """A container that runs: its cgroup, with these sets in force, and the link to its log."""
        name_in_logs(self.logs, key, namespace, pod)
        group = self.cgroups / cgroup(key)
        group.mkdir(parents=True, exist_ok=True)
        in_force(group, sets, pages)
        return group


def name_in_logs(logs: Path, key: ContainerKey, namespace: str, pod: str) -> None:
    """Make the link that gives a container its name."""
    log = logs.parent / "pods" / f"{namespace}_{pod}_{key.pod_uid}" / key.container / "0.log"
    logs.mkdir(parents=True, exist_ok=True)
    link = logs / f"{pod}_{namespace}_{key.container}-{container_id(key)}.log"
    if not link.is_symlink():
        link.symlink_to(log)


def cgroup(key: ContainerKey) -> Path:
    """Where the cgroup of a container of a Guaranteed pod is, below the root of them all."""
    pod = f"kubepods-pod{key.pod_uid.replace('-', '_')}.slice"
    return Path("kubepods.slice", pod, f"cri-containerd-{container_id(key)}.scope")


def in_force(group: Path, sets: Sets, pages: dict[int, int] | None = None) -> None:
    """Let the kernel say this of a cgroup; ``pages`` are counts of 4 KiB by NUMA node."""
    for name, each in zip(("cpus", "mems"), sets, strict=True):
        (group / f"cpuset.{name}.effective").write_text(cpu_set.text(each) + "\n")
    sizes = " ".join(f"N{node}={count * _PAGE}" for node, count in (pages or {}).items())
    (group / "memory.numa_stat").write_text(f"anon {sizes}\nfile N0=4096\nshmem N0=0\n")


def container_id(key: ContainerKey) -> str:
    """The id that a container runtime might give it."""
    return hashlib.sha256(str(key).encode()).hexdigest()


def made(folder: Path, machine: MachineInfo | None = None, document: str = CONFIG) -> KubeletNode:
    """A kubelet that has just started for the first time; the shape of agents without a machine."""
    root = folder / "root"
    (root / "device-plugins").mkdir(parents=True)
    file = root / "config.yaml"
    file.write_text(document)
    (folder / "cgroup").mkdir()
    config = kubelet_config.load(ConfigSources(config_file=file)).config
    started = nodes.start(config, machine or agents.SHAPE.open().info)
    assert isinstance(started, Node), started
    kubelet = KubeletNode(folder, started.sources_ready())
    kubelet.write()
    return kubelet
