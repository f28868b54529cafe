"""containerd of a test with runc and the plugin interface, and containers through the CRI."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import grpc

from numalet.agent.host import procfs
from numalet.core.model.cpu_set import CpuSet
from running import kubelet_programs
from running.machine_of_its_own import OwnMachine
from running.server_programs import ServerProgram

_CONFIG: Final = """
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs"]
[grpc]
address = "/run/c.sock"
[plugins."io.containerd.nri.v1.nri"]
disable = false
socket_path = "/run/nri.sock"
plugin_path = "/run/plugins"
plugin_config_path = "/run/conf"
plugin_registration_timeout = "5s"
plugin_request_timeout = "2s"
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
_SECONDS: Final = 120.0


class Containerd:
    """A daemon on a machine of its own; ``programs`` are Debian's packages of a newer release."""

    def __init__(self, programs: Path, runc: Path, own: OwnMachine) -> None:
        self.own = own
        self.run_folder = own.path("/run")
        self._bin = programs / "usr" / "bin"
        config = own.folder / "containerd.toml"
        config.write_text(_CONFIG.format(image=kubelet_programs.IMAGE, runc=runc))
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
        self.daemon.start()
        archive = self.own.folder / "image.tar"
        kubelet_programs.write_image(busybox, archive)
        words = ("--address=/run/c.sock", "--namespace=k8s.io", "images", "import", str(archive))
        loaded = self.own.run(str(self._bin / "ctr"), *words)
        assert loaded.returncode == 0, loaded.stderr

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
        made = self._cri.RunPodSandbox(request, timeout=_SECONDS)
        return RunningPod(name, made.pod_sandbox_id, config)

    def create(self, pod: RunningPod, cpu: int = 0, attempt: int = 0) -> str:
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
            command=["sleep", "infinity"],
            log_path=f"{pod.name}.log",
            linux={
                "resources": asked,
                "security_context": {"namespace_options": {"network": _NODE, "pid": 1}},
            },
        )
        request = self._protos.CreateContainerRequest(
            pod_sandbox_id=pod.id, config=config, sandbox_config=pod.config
        )
        return str(self._cri.CreateContainer(request, timeout=_SECONDS).container_id)

    def run(self, pod: RunningPod, cpu: int = 0, attempt: int = 0) -> str:
        container_id = self.create(pod, cpu, attempt)
        self._cri.StartContainer(
            self._protos.ContainerRequest(container_id=container_id), timeout=_SECONDS
        )
        return container_id

    def stop(self, container_id: str) -> None:
        request = self._protos.StopContainerRequest(container_id=container_id, timeout=0)
        self._cri.StopContainer(request, timeout=_SECONDS)

    def remove_pod(self, pod: RunningPod) -> None:
        request = self._protos.SandboxRequest(pod_sandbox_id=pod.id)
        self._cri.StopPodSandbox(request, timeout=_SECONDS)
        self._cri.RemovePodSandbox(request, timeout=_SECONDS)

    def allowed(self, container_id: str) -> CpuSet:
        """The CPUs on which the kernel lets its main process run."""
        request = self._protos.ContainerStatusRequest(container_id=container_id, verbose=True)
        pid = json.loads(self._cri.ContainerStatus(request, timeout=_SECONDS).info["info"])["pid"]
        # The number is that of the daemon's own list of processes.
        status = self.own.run("cat", f"/proc/{pid}/status").stdout
        return procfs.parse_status(status).cpus


class RunningPod:
    def __init__(self, name: str, sandbox_id: str, config: object) -> None:
        self.name = name
        self.id = sandbox_id
        self.config = config
