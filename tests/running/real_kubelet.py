"""A real kubelet with containerd and runc, alone or as a node of a control plane."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from running import kubelet_programs, machine_of_its_own, runc_without_cpusets
from running.kubelet_programs import KubeletPrograms
from running.machine_of_its_own import OwnMachine
from running.server_programs import ServerProgram, free_port

NODE: Final = "real-0"
ROOT: Final = "/var/lib/kubelet"
"""Its root directory, as its own processes see it."""
_SOCKET: Final = "/run/containerd/containerd.sock"
_RUNC_OPTIONS: Final = 'plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc'
_CONTAINERD: Final = f"""
version = 2
disabled_plugins = ["io.containerd.internal.v1.opt"]
[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{kubelet_programs.IMAGE}"
disable_apparmor = true
restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".containerd]
snapshotter = "native"
[{_RUNC_OPTIONS}]
runtime_type = "io.containerd.runc.v2"
[{_RUNC_OPTIONS}.options]
BinaryName = "@RUNC@"
"""
_SETTINGS: Final = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "failCgroupV1": False,
    "cgroupDriver": "cgroupfs",
    "containerRuntimeEndpoint": f"unix://{_SOCKET}",
    # Stale CPUs go when the next pod is admitted, and not at a moment of their own.
    "cpuManagerReconcilePeriod": "1h",
    # The memory in use is the host's, and the capacity that of the machine that is shown.
    "evictionHard": {"memory.available": "0%"},
    "localStorageCapacityIsolation": False,
    "enforceNodeAllocatable": ["none"],
    "makeIPTablesUtilChains": False,
    "imageGCHighThresholdPercent": 100,
    "failSwapOn": False,
    "resolvConf": "",
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "address": "127.0.0.1",
    "logging": {"verbosity": 1},
    "volumePluginDir": f"{ROOT}/volume-plugins",
}


class RealKubelet:
    """One kubelet; ``config`` is the file of its configuration, ``manifests`` its static pods."""

    def __init__(
        self,
        programs: KubeletPrograms,
        own: OwnMachine,
        settings: Mapping[str, Any],
        kubeconfig: Path | None,
    ) -> None:
        self.own = own
        self.root = own.path(ROOT)
        self.manifests = own.folder / "manifests"
        self.manifests.mkdir()
        self.config = own.folder / "kubelet.yaml"
        ports = {each: free_port() for each in ("port", "healthzPort", "readOnlyPort")}
        of_node = {"cgroupRoot": own.cgroup, "staticPodPath": str(self.manifests)}
        self.config.write_text(yaml.safe_dump({**_SETTINGS, **of_node, **ports, **settings}))
        self._health = f"http://127.0.0.1:{ports['healthzPort']}/healthz"
        self._pages = f"http://127.0.0.1:{ports['readOnlyPort']}"
        in_cluster = [] if kubeconfig is None else [f"--kubeconfig={kubeconfig}"]
        self.kubelet = ServerProgram(
            "kubelet",
            own.command(
                programs.kubelet,
                *(f"--config={self.config}", f"--hostname-override={NODE}", *in_cluster),
            ),
            own.folder / "kubelet.log",
            self._is_ready,
        )
        self._containerd = _containerd(programs, own)
        self._programs = programs

    def start(self) -> None:
        """Start containerd and the kubelet."""
        archive = self.own.folder / "image.tar"
        kubelet_programs.write_image(self._programs.busybox, archive)
        self._containerd.start()
        ctr = str(self._programs.runtime_folder / "usr" / "bin" / "ctr")
        loaded = self.own.run(ctr, "--namespace=k8s.io", "images", "import", str(archive))
        assert loaded.returncode == 0, loaded.stderr
        self.kubelet.start()

    def end(self) -> None:
        """Kill both. Containers go on."""
        self.kubelet.kill()
        self._containerd.kill()

    def logs(self) -> str:
        """The last lines of both."""
        return "\n".join(
            f"--- {each.name}\n{each.last_lines()}" for each in (self._containerd, self.kubelet)
        )

    def pods(self) -> list[dict[str, Any]]:
        """The pods that it knows, with their status."""
        answer = httpx.get(f"{self._pages}/pods", trust_env=False)
        answer.raise_for_status()
        return list(answer.json()["items"] or ())

    def metrics(self) -> str:
        """Its page of metrics."""
        answer = httpx.get(f"{self._pages}/metrics", trust_env=False)
        answer.raise_for_status()
        return answer.text

    def numalet(self, *words: str, status: int = 0) -> str:
        """What a command of numalet prints on this node; another exit status fails the test."""
        done = self.own.run(sys.executable, "-m", "numalet", *words)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    def _is_ready(self) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(self._health, trust_env=False).text == "ok"
        return False


def _containerd(programs: KubeletPrograms, own: OwnMachine) -> ServerProgram:
    runc = own.folder / "runc"
    source = Path(runc_without_cpusets.__file__).read_text()
    runc.write_text(source.replace("@RUNC@", str(programs.runc)))
    runc.chmod(0o755)
    config = own.folder / "containerd.toml"
    config.write_text(_CONTAINERD.replace("@RUNC@", str(runc)))
    path = f"PATH={programs.search_path}"
    command = own.command("env", path, "containerd", f"--config={config}")
    socket = own.path(_SOCKET)
    return ServerProgram("containerd", command, own.folder / "containerd.log", socket.exists)


@contextmanager
def running(
    programs: KubeletPrograms,
    folder: Path,
    machine: Path,
    settings: Mapping[str, Any],
    kubeconfig: Path | None = None,
) -> Iterator[RealKubelet]:
    """A kubelet that sees this machine; all that it started has ended after the block."""
    with machine_of_its_own.opened(folder, machine) as own:
        kubelet = RealKubelet(programs, own, settings, kubeconfig)
        try:
            kubelet.start()
            yield kubelet
        except BaseException as failed:
            failed.add_note(kubelet.logs())
            raise
        finally:
            kubelet.end()
