"""A kubelet that is a node of a control plane, and an agent that is given the same pods."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster import manifests
from kubelet import views
from kubelet.node_pods import GPU, container, pod
from kubelet.views import Pair
from machines.guests import tarball
from running import control_plane, control_plane_programs, real_kubelet
from running.control_plane import ControlPlane
from running.kubelet_programs import KubeletPrograms
from running.real_kubelet import NODE, ROOT
from running.server_programs import ServerProgram

MACHINE: Final = "n2c8-interleaved"
SETTINGS: Final = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "restricted",
    "topologyManagerScope": "pod",
    "reservedSystemCPUs": "0",
    "kubeReserved": {"memory": "100Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
}
_NUMALET: Final = (sys.executable, "-m", "numalet")
_PUBLISH: Final = ("publish", "--kubeconfig")
_TOPOLOGY: Final = f"/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/{NODE}"
DEVICES: Final = ("g0@0", "g1@0", "g2@1", "g3@1")
NOW: Final = {"gracePeriodSeconds": 0}


@dataclass(kw_only=True)
class Cluster(Pair):
    """The control plane, its node, and the agent; ``path`` is that of the pods in both APIs."""

    plane: ControlPlane
    path: str

    def add(self, made: dict[str, Any], phase: str = "Running") -> None:
        """Bind the pod to the node, give the agent what the API server made of it, and compare."""
        foretold = self.explained(made)
        bound = self.plane.create(self.path, made)
        name = bound["metadata"]["name"]
        given = {**made, "spec": bound["spec"]}
        self.agent.asked(lambda client: client.post(self.path, given))
        self.phases[name] = phase
        self.agree()
        _, reason, message = views.statuses(self.pods())[name]
        assert foretold == (reason, message.removeprefix("Pod was rejected: "))

    def explained(self, made: dict[str, Any]) -> tuple[str, str]:
        """Reason and message of the rejection that ``explain`` foretells on this node."""
        made["spec"] |= {"nodeName": NODE, "tolerations": [{"operator": "Exists"}]}
        files = [self.kubelet.own.folder / each for each in ("asked.json", "there.json")]
        for file, content in zip(files, (made, self.plane.get(self.path)), strict=True):
            file.write_text(json.dumps(content))
        words = ("explain", str(files[0]), "--after", str(files[1]), "-o", "json", "--budget=0")
        ended = self.kubelet.own.run(*_NUMALET, *words)
        assert ended.returncode in (0, 1), ended.stderr
        told = json.loads(ended.stdout)
        assert told["release"] == "1.37"
        return told["reason"] or "", told["message"] or ""

    def remove(self, name: str) -> None:
        """Delete the pod, and compare when it is gone."""
        self.plane.request("DELETE", f"{self.path}/{name}")
        self.agent.asked(lambda client: client.delete(f"{self.path}/{name}", NOW))
        del self.phases[name]
        self.agree()

    def agree_with_publish(self) -> None:
        """Wait until what ``publish`` has written is what PodResources say."""
        views.wait_for(self._published, views.available(self.kubelet, MACHINE))

    def _published(self) -> dict[str, dict[str, int]]:
        """What the NodeResourceTopology says is available on each NUMA node."""
        answer = self.plane.request("GET", _TOPOLOGY)
        zones = answer.json()["zones"] if answer.is_success else ()
        return {
            zone["name"]: {each["name"]: int(each["available"]) for each in zone["resources"]}
            for zone in zones
        }

    def device_counts(self) -> tuple[int, int, int]:
        """How many the API server, the kubelet and the agent know of."""
        node = self.plane.request("GET", f"/api/v1/nodes/{NODE}").json()
        counted = int(node.get("status", {}).get("allocatable", {}).get(GPU, 0))
        return counted, views.device_count(self.kubelet), views.device_count(self.agent)

    def pods(self) -> list[dict[str, Any]]:
        """The pods that are bound to the node, as the API server has them."""
        return list(self.plane.get(self.path)["items"])

    def differences(self) -> list[str]:
        """Compare by the names of pods: each of both gives them uids of its own."""
        there = (*self.pods(), *self.agent.pods())
        self.names |= {each["metadata"]["uid"]: each["metadata"]["name"] for each in there}
        return super().differences()


@contextmanager
def cluster(programs: KubeletPrograms, folder: Path) -> Iterator[Cluster]:
    """A control plane with a node, device plugins, and an agent."""
    of_plane = control_plane_programs.in_folder(programs.kubelet_folder)
    assert not isinstance(of_plane, str), of_plane
    file = tarball(MACHINE)
    with control_plane.running(of_plane, folder) as plane:
        plane.apply(*manifests.DEFINITIONS)
        plane.until_established()
        path = f"/api/v1/namespaces/{plane.namespace()}/pods"
        config = plane.kubeconfig
        with (
            real_kubelet.running(programs, folder, file, SETTINGS, config) as kubelet,
            views.agent(folder, file, kubelet) as agent,
            _program(folder, "publish", kubelet.own.command(*_NUMALET, *_PUBLISH, str(config))),
            _program(folder, "kubelet-devices", kubelet.own.command(*_plugin(ROOT))),
            _program(folder, "agent-devices", _plugin(str(agent.root))),
        ):
            made = Cluster(kubelet, agent, plane=plane, path=path)
            views.wait_for(made.device_counts, (len(DEVICES),) * 3)
            made.agree()
            yield made


def _plugin(root: str) -> list[str]:
    devices = [f"--device={each}" for each in DEVICES]
    return [*_NUMALET, "sample-device-plugin", *devices, f"--root={root}"]


@contextmanager
def _program(folder: Path, name: str, command: list[str]) -> Iterator[ServerProgram]:
    program = ServerProgram(name, command, folder / f"{name}.log", lambda: True)
    program.start()
    try:
        yield program
    finally:
        program.kill()


def test_devices_and_pods_of_an_api_server(programs: KubeletPrograms, folder: Path) -> None:
    with cluster(programs, folder) as node:
        assert node.kubelet.numalet("check").startswith("The kubelet v1.37 would start")
        node.add(pod("device", container("main", "1", "100Mi", "1")))
        node.add(pod("both", container("one", "1", "50Mi"), container("other", "1", "50Mi", "2")))
        node.add(pod("many", container("main", "1", "50Mi", "3")), "Failed")
        node.add(pod("wide", container("main", "8", "50Mi")), "Failed")
        node.add(pod("shared", container("main", "100m", "50Mi", is_limited=False)))
        node.agree_with_publish()
        node.restart()
        node.remove("device")
        node.add(pod("next", container("main", "2", "200Mi", "1")))
        node.restart()
        node.agree_with_publish()
