"""The programs of a control plane: where they are, which release, and what that release is told.

Any release from 1.20 to 1.36 will do. The flags here are those that all of them take; what some
refuse is added by release, and so is the version of the scheduler's configuration.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "NUMALET_CONTROL_PLANE"
"""The folder with the programs, if not the one into which ``.ci/run`` builds them."""

_PROGRAMS: Final = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
# The last releases of versions of the scheduler's configuration, and of ports without TLS.
_LAST_V1BETA1: Final = (1, 22)
_LAST_V1BETA3: Final = (1, 24)
_LAST_PLAIN_PORT: Final = (1, 23)
_FIRST_POLICY_V1: Final = (1, 21)


@dataclass(frozen=True, slots=True)
class ControlPlanePrograms:
    """The folder of the three programs, etcd, and the release as (1, 20)."""

    folder: Path
    etcd: Path
    release: tuple[int, int]

    @property
    def kubectl(self) -> str:
        """The one that came with the servers, else the one of this machine."""
        own = self.folder / "kubectl"
        return str(own) if os.access(own, os.X_OK) else "kubectl"

    @property
    def policy_version(self) -> str:
        """The version of disruption budgets that all releases from this one on have."""
        return "v1" if self.release >= _FIRST_POLICY_V1 else "v1beta1"

    @property
    def api_server(self) -> Path:
        """The API server."""
        return self.folder / "kube-apiserver"

    @property
    def scheduler(self) -> Path:
        """The scheduler."""
        return self.folder / "kube-scheduler"

    @property
    def controller_manager(self) -> Path:
        """The controllers."""
        return self.folder / "kube-controller-manager"

    def plain_port_flags(self) -> list[str]:
        """What keeps the scheduler and the controllers from a port without TLS on all addresses."""
        return ["--port=0"] if self.release <= _LAST_PLAIN_PORT else []

    def scheduler_configuration(
        self,
        kubeconfig: Path,
        plain_port: int,
        extenders: list[dict[str, Any]],
        name: str = "default-scheduler",
    ) -> Mapping[str, Any]:
        """A KubeSchedulerConfiguration: quick clients, quick second attempts, these extenders.

        It is for the pods that ask for the scheduler of this ``name``.

        ``plain_port`` is for what old releases answer without TLS, and refuse to do without.

        Preemption is left out where the scheduler dies of it: 1.20 when an extender refuses the
        nodes of a pod with a priority.
        """
        given: dict[str, Any] = {
            "apiVersion": f"kubescheduler.config.k8s.io/{self._configuration_version()}",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000},
            "leaderElection": {"leaderElect": False},
            "podInitialBackoffSeconds": 1,
            "podMaxBackoffSeconds": 2,
        }
        profile: dict[str, Any] = {"schedulerName": name}
        if extenders:
            given["extenders"] = extenders
        if self.release <= _LAST_V1BETA1:
            given["healthzBindAddress"] = f"127.0.0.1:{plain_port}"
            given["metricsBindAddress"] = given["healthzBindAddress"]
            profile["plugins"] = {"postFilter": {"disabled": [{"name": "*"}]}}
        return {**given, "profiles": [profile]}

    def _configuration_version(self) -> str:
        if self.release <= _LAST_V1BETA1:
            return "v1beta1"
        return "v1beta3" if self.release <= _LAST_V1BETA3 else "v1"


def default_folder() -> Path:
    """The folder that ``NUMALET_CONTROL_PLANE`` names, else the cache that ``.ci/run`` fills."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return _built_folder()


def _built_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "numalet" / "control-plane"


@functools.cache
def in_folder(folder: Path) -> ControlPlanePrograms | str:
    """The programs of the folder, or why there is no control plane in it."""
    for name in _PROGRAMS:
        if not os.access(folder / name, os.X_OK):
            return f"there is no {name} in {folder}; build one with .ci/control-plane {folder}"
    places = (folder / "etcd", _built_folder() / "etcd")
    etcd = next((each for each in places if os.access(each, os.X_OK)), None)
    if etcd is None and (installed := shutil.which("etcd")):
        etcd = Path(installed)
    if etcd is None:
        return f"there is no etcd in {folder}, {_built_folder()} or PATH"
    said = subprocess.run(
        [folder / "kube-apiserver", "--version"], capture_output=True, text=True, check=False
    )
    version = re.search(r"v(\d+)\.(\d+)", said.stdout)
    if version is None:
        return f"{folder / 'kube-apiserver'} does not say its version: {said.stderr[-200:]}"
    return ControlPlanePrograms(folder, etcd, (int(version[1]), int(version[2])))
