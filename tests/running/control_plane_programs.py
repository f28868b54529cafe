"""The programs of a control plane: the folder, the release, and the scheduler's configuration.

Tested with the releases 1.34 and 1.37. Releases before 1.34 are no longer supported upstream.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

VARIABLE: Final = "NUMALET_CONTROL_PLANE"
"""The folder with the programs. ``make cluster`` sets it."""

_PROGRAMS: Final = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "etcd")


@dataclass(frozen=True, slots=True)
class ControlPlanePrograms:
    """The folder of the programs, and the release as (1, 37)."""

    folder: Path
    release: tuple[int, int]

    def program(self, name: str) -> str:
        """The path of a program that every folder has."""
        return str(self.folder / name)

    @property
    def kubectl(self) -> str:
        """The one that came with the servers, else the one of this machine."""
        own = self.folder / "kubectl"
        return str(own) if os.access(own, os.X_OK) else "kubectl"


def scheduler_configuration(
    kubeconfig: Path, extenders: list[dict[str, Any]], name: str = "default-scheduler"
) -> Mapping[str, Any]:
    """A KubeSchedulerConfiguration: fast clients, short back-off, these extenders.

    It schedules the pods whose ``schedulerName`` is ``name``.
    """
    given: dict[str, Any] = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 1000, "burst": 2000},
        "leaderElection": {"leaderElect": False},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 2,
        "profiles": [{"schedulerName": name}],
    }
    return {**given, "extenders": extenders} if extenders else given


@functools.cache
def in_named_folder() -> ControlPlanePrograms | str:
    """The programs of the folder in ``NUMALET_CONTROL_PLANE``, or why there are none."""
    named = os.environ.get(VARIABLE)
    if not named:
        return f"{VARIABLE} names no folder; make cluster sets it"
    return in_folder(Path(named))


def in_folder(folder: Path) -> ControlPlanePrograms | str:
    """The programs of the folder, or why there is no control plane in it."""
    for name in _PROGRAMS:
        if not os.access(folder / name, os.X_OK):
            return f"there is no {name} in {folder}; .ci/control-plane builds one"
    said = subprocess.run(
        [folder / "kube-apiserver", "--version"], capture_output=True, text=True, check=False
    )
    version = re.search(r"v(\d+)\.(\d+)", said.stdout)
    if version is None:
        return f"{folder / 'kube-apiserver'} does not print its version: {said.stderr[-200:]}"
    return ControlPlanePrograms(folder, (int(version[1]), int(version[2])))
