"""containerd of a test with runc and the plugin interface, and containers through the CRI.

It runs beside the machine's own programs, on a machine of its own, or in a guest, where all is the
test's; ``Place`` says what it needs of either.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import grpc

from numalet.agent.host import procfs
from numalet.agent.host.procfs import Allowed
from numalet.core.model.cpu_set import CpuSet
from running import kubelet_programs, machine_of_its_own
from running.server_programs import ServerProgram

_CONFIG: Final = """
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.erofs",
  "io.containerd.snapshotter.v1.blockfile", "io.containerd.differ.v1.erofs"]
[grpc]
address = "/run/c.sock"
[plugins."io.containerd.nri.v1.nri"]
disable = false
socket_path = "/run/nri.sock"
plugin_path = "/run/plugins"
plugin_config_path = "/run/conf"
plugin_registration_timeout = "{registration}s"
plugin_request_timeout = "{answer}s"
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{image}"
disable_apparmor = true
restrict_oom_score_adj = true
stream_server_address = "127.0.0.1"
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
BinaryName = "{runc}"
"""
_PERIOD: Final = 100_000
_NODE: Final = 2
"""The namespace of the host."""
_SLEEP: Final = ("sleep", "infinity")


class Place(Protocol):
    """Where the programs run; ``folder`` has their files, ``cgroup`` is above all containers.

    A plugin finds the containers' cgroups below ``cgroups``.
    """

    @property
    def folder(self) -> Path: ...

    @property
    def cgroup(self) -> str: ...

    @property
    def cgroups(self) -> Path: ...

    def command(self, *words: str) -> list[str]:
        """The command line that runs these words there."""

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The end of a program there, and what it wrote."""

    def path(self, inside: str) -> Path:
        """Where the test has a file of a program there."""


@dataclass(frozen=True)
class Limits:
    """Seconds: of a plugin's registration, of its answers, and of the runtime's calls."""

    registration: int = 5
    answer: int = 2
    call: float = 120.0


_USUAL_LIMITS: Final = Limits()


class Containerd:
    """The daemon; ``programs`` are Debian's packages of a newer release."""

    def __init__(
        self, programs: Path, runc: Path, own: Place, limits: Limits = _USUAL_LIMITS
    ) -> None:
        self.own = own
        self.run_folder = own.path("/run")
        self._bin = programs / "usr" / "bin"
        self._seconds = limits.call
        config = own.folder / "containerd.toml"
        config.write_text(
            _CONFIG.format(
                image=kubelet_programs.IMAGE,
                runc=runc,
                registration=limits.registration,
                answer=limits.answer,
            )
        )
        path = f"PATH={self._bin}:{runc.parent}:{os.environ['PATH']}"
        self.daemon = ServerProgram(
            "containerd",
            own.command("env", path, "containerd", f"--config={config}"),
            own.folder / "containerd.log",
            self._answers,
        )
        # The messages are made from the file when they are needed.
        load: Any = grpc.protos_and_services
        self._protos, services = load("running/cri_v1.proto")
        channel = grpc.insecure_channel(
            f"unix:{self.run_folder}/c.sock", options=[("grpc.default_authority", "localhost")]
        )
        self._cri = services.RuntimeServiceStub(channel)

    def start(self, busybox: Path) -> None:
        self.start_daemon()
        archive = self.own.folder / "image.tar"
        kubelet_programs.write_image(busybox, archive)
        words = ("--address=/run/c.sock", "--namespace=k8s.io", "images", "import", str(archive))
        loaded = self.own.run(str(self._bin / "ctr"), *words)
        assert loaded.returncode == 0, loaded.stderr

    def start_daemon(self) -> None:
        self.daemon.launch()
        self.daemon.wait_ready(self._seconds)

    def _answers(self) -> bool:
        with suppress(grpc.RpcError):
            self._cri.ListPodSandbox(self._protos.Empty(), timeout=5)
            return True
        return False

    def run_pod(self, name: str, qos: str = "") -> RunningPod:
        """Run a sandbox, below the cgroup of its class."""
        below = "/".join(filter(None, (self.own.cgroup, "kubepods", qos, f"pod{name}")))
        config = self._protos.PodSandboxConfig(
            metadata={"name": name, "uid": f"uid-{name}", "namespace": "default"},
            log_directory="/var/log",
            linux={
                "cgroup_parent": below,
                "security_context": {"namespace_options": {"network": _NODE, "pid": 1}},
            },
        )
        request = self._protos.RunPodSandboxRequest(config=config)
        made = self._cri.RunPodSandbox(request, timeout=self._seconds)
        return RunningPod(name, made.pod_sandbox_id, config)

    def create(
        self, pod: RunningPod, cpu: int = 0, attempt: int = 0, command: Sequence[str] = _SLEEP
    ) -> str:
        """Create a container, with whole CPUs and 64Mi or without limits; its id.

        Raises ``grpc.RpcError``.
        """
        asked = {"cpu_shares": 2}
        if cpu:
            asked = {
                "cpu_shares": cpu * 1024,
                "cpu_quota": cpu * _PERIOD,
                "cpu_period": _PERIOD,
                "memory_limit_in_bytes": 64 << 20,
            }
        config = self._protos.ContainerConfig(
            metadata={"name": "app", "attempt": attempt},
            image={"image": kubelet_programs.IMAGE},
            command=command,
            log_path=f"{pod.name}.log",
            linux={
                "resources": asked,
                "security_context": {"namespace_options": {"network": _NODE, "pid": 1}},
            },
        )
        request = self._protos.CreateContainerRequest(
            pod_sandbox_id=pod.id, config=config, sandbox_config=pod.config
        )
        return str(self._cri.CreateContainer(request, timeout=self._seconds).container_id)

    def start_container(self, container_id: str) -> None:
        self._cri.StartContainer(
            self._protos.ContainerRequest(container_id=container_id), timeout=self._seconds
        )

    def run(
        self, pod: RunningPod, cpu: int = 0, attempt: int = 0, command: Sequence[str] = _SLEEP
    ) -> str:
        container_id = self.create(pod, cpu, attempt, command)
        self.start_container(container_id)
        return container_id

    def set_cpus(self, container_id: str, cpus: str) -> None:
        """Ask the runtime for other CPUs, as a kubelet's CPU Manager does."""
        request = self._protos.UpdateContainerResourcesRequest(
            container_id=container_id, linux={"cpuset_cpus": cpus}
        )
        self._cri.UpdateContainerResources(request, timeout=self._seconds)

    def stop(self, container_id: str) -> None:
        request = self._protos.StopContainerRequest(container_id=container_id, timeout=0)
        self._cri.StopContainer(request, timeout=self._seconds)

    def stop_pod(self, pod: RunningPod) -> None:
        request = self._protos.SandboxRequest(pod_sandbox_id=pod.id)
        self._cri.StopPodSandbox(request, timeout=self._seconds)

    def remove_pod(self, pod: RunningPod) -> None:
        self.stop_pod(pod)
        request = self._protos.SandboxRequest(pod_sandbox_id=pod.id)
        self._cri.RemovePodSandbox(request, timeout=self._seconds)
        machine_of_its_own.remove_empty(pod.cgroup)

    def pid(self, container_id: str) -> int:
        """The main process, by the daemon's own list of processes."""
        request = self._protos.ContainerStatusRequest(container_id=container_id, verbose=True)
        status = self._cri.ContainerStatus(request, timeout=self._seconds)
        return int(json.loads(status.info["info"])["pid"])

    def allowed(self, container_id: str) -> Allowed:
        """The CPUs and NUMA nodes that the kernel lets its main process use."""
        status = self.own.run("cat", f"/proc/{self.pid(container_id)}/status").stdout
        return procfs.parse_status(status)

    def cpus(self, container_id: str) -> CpuSet:
        return self.allowed(container_id).cpus


class RunningPod:
    def __init__(self, name: str, sandbox_id: str, config: Any) -> None:
        self.name = name
        self.id = sandbox_id
        self.config = config

    @property
    def cgroup(self) -> str:
        return str(self.config.linux.cgroup_parent)
