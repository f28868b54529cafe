"""The cgroups of a kubelet, recognised by their names.

A pod's cgroup is called after its uid, a container's after the id that the container runtime gave
it; both in two ways, by the kubelet's driver::

    kubepods/burstable/podUID/ID                                                      cgroupfs
    kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice/x-ID.scope  systemd

With systemd a dash in a uid is an underscore. Of what the container runtime starts beside the
containers (``crio-conmon-ID``) nothing is a container.
Kubelet v1.32: ``CgroupName.ToSystemd``, ``podContainerManagerImpl.GetPodContainerName``.
"""

from __future__ import annotations

import re
from typing import Final

ROOTS: Final = (
    "kubepods.slice",
    "kubepods",
    "kubelet.slice/kubelet-kubepods.slice",
    "kubelet/kubepods",
)
"""Where the cgroups of all pods are below the root of the cgroup file system."""

_POD: Final = re.compile(r"pod(?P<uid>[^/.]+)")
_POD_SLICE: Final = re.compile(r"(?:.+-)?pod(?P<uid>[^/.-]+)\.slice")
_ID: Final = re.compile(r"(?:(?P<by>[a-z0-9-]+)-)?(?P<id>[0-9a-f]{64})(?:\.scope)?")
_NO_CONTAINERS: Final = ("conmon",)


def pod_uid(name: str) -> str | None:
    """The uid of the pod whose cgroup is called so; None if it is no pod's."""
    if match := _POD_SLICE.fullmatch(name):
        return match["uid"].replace("_", "-")
    match = _POD.fullmatch(name)
    return None if match is None else match["uid"]


def container_id(name: str) -> str | None:
    """The id of the container whose cgroup is called so; None if it is no container's."""
    match = _ID.fullmatch(name)
    if match is None or any(word in (match["by"] or "") for word in _NO_CONTAINERS):
        return None
    return match["id"]
