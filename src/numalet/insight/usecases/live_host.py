"""Facts of a host for a check, in addition to its machine: swap, cgroups, runtime, kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.insight.lint.subject import Host
from numalet.io.sysfs.trees import Tree

_NUMA_BALANCING: Final = "proc/sys/kernel/numa_balancing"
_SWAPS: Final = "proc/swaps"
_CGROUP_V2: Final = "sys/fs/cgroup/cgroup.controllers"
_CGROUP_V1: Final = "sys/fs/cgroup/memory"


def numa_balancing(tree: Tree | None) -> int | None:
    """Return the value of ``kernel.numa_balancing``, if known."""
    text = None if tree is None else tree.text(_NUMA_BALANCING)
    stripped = (text or "").strip()
    return int(stripped) if stripped.isascii() and stripped.isdigit() else None


def host(tree: Tree | None, config: KubeletConfig, *, is_live: bool) -> Host:
    """Return the facts that the kubelet sees; most are unknown if the machine is not live."""
    if tree is None:
        return Host()
    swaps = tree.text(_SWAPS)
    version = None
    if tree.text(_CGROUP_V2) is not None:
        version = 2
    elif tree.is_directory(_CGROUP_V1):
        version = 1
    return Host(
        # The first line contains the names of the columns.
        swap_areas=None if swaps is None else tuple(map(_first_word, swaps.splitlines()[1:])),
        cgroup_version=version,
        has_runtime=_has_runtime(config) if is_live else None,
    )


def _first_word(line: str) -> str:
    return line.split(maxsplit=1)[0] if line.strip() else line


def _has_runtime(config: KubeletConfig) -> bool | None:
    """Return whether the socket of the container runtime exists, if it is a file."""
    kind, is_url, path = config.container_runtime_endpoint.partition("://")
    if is_url and kind != "unix":
        return None
    return Path(path if is_url else kind).is_socket()
