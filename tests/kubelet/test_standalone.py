"""A kubelet without an API server and an agent read the same folder of static pods."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubelet import views
from kubelet.node_pods import container, pod, static
from kubelet.views import Pair
from machines.guests import tarball
from running import real_kubelet
from running.kubelet_programs import KubeletPrograms
from running.real_kubelet import NODE

STATIC: Final = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "reservedSystemCPUs": "0",
    "kubeReserved": {"memory": "100Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
}


@dataclass
class Both(Pair):
    """A kubelet and an agent that read the same folder."""

    made: int = 0

    def add(self, made: dict[str, Any], phase: str = "Running") -> None:
        """Give both the pod, which gets into this phase, and compare."""
        name = made["metadata"]["name"]
        file = self.kubelet.manifests / f"{name}.json"
        # Both read a file that is there, so it appears as a whole.
        written = self.kubelet.own.folder / file.name
        self.made += 1
        written.write_text(json.dumps(static(made, self.made)))
        written.rename(file)
        self.phases[f"{name}-{NODE}"] = phase
        self.agree()

    def remove(self, name: str) -> None:
        """Take the pod from both, and compare when it is gone."""
        (self.kubelet.manifests / f"{name}.json").unlink()
        del self.phases[f"{name}-{NODE}"]
        self.agree()


@contextmanager
def both(programs: KubeletPrograms, folder: Path, machine: str, **settings: Any) -> Iterator[Both]:
    file = tarball(machine)
    with (
        real_kubelet.running(programs, folder, file, {**STATIC, **settings}) as kubelet,
        views.agent(folder, file, kubelet) as agent,
    ):
        made = Both(kubelet, agent)
        made.agree()
        yield made


def test_cores_and_numa_nodes(programs: KubeletPrograms, folder: Path) -> None:
    options = {"full-pcpus-only": "true"}
    policy = {"topologyManagerPolicy": "single-numa-node", "cpuManagerPolicyOptions": options}
    with both(programs, folder, "n2c16-smt", **policy) as node:
        node.add(pod("whole", container("main", "4", "300Mi")))
        node.add(pod("two", container("one", "2", "100Mi"), container("other", "2", "200Mi")))
        node.add(pod("wide", container("main", "10", "100Mi")), "Failed")
        node.add(pod("odd", container("main", "3", "100Mi")), "Failed")
        node.add(pod("large", container("main", "2", "900Mi")), "Failed")
        node.add(pod("shared", container("main", "100m", "50Mi", is_limited=False)))
        node.restart()
        node.remove("whole")
        first = container("first", "4", "100Mi", command=("true",))
        node.add(pod("init", container("main", "2", "50Mi"), initContainers=[first]))
        ending = container("main", "2", "50Mi", command=("sleep", "0.1"))
        node.add(pod("ending", ending, restartPolicy="Never"), "Succeeded")
        node.add(pod("next", container("main", "2", "50Mi")))
        node.restart()


def test_memory_of_several_numa_nodes(programs: KubeletPrograms, folder: Path) -> None:
    with both(programs, folder, "n4c8-2x2dies", topologyManagerPolicy="best-effort") as node:
        node.add(pod("wide", container("main", "2", "700Mi")))
        node.add(pod("small", container("main", "1", "100Mi"), container("more", "1", "50Mi")))
        node.add(pod("large", container("main", "1", "1900Mi")), "Failed")
        node.restart()
        node.remove("wide")
        node.add(pod("next", container("main", "3", "800Mi")))
