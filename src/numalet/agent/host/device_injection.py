"""Merges the ``Allocate`` responses of device plugins into one container's devices and mounts.

Kubelet: ``deviceRunContainerOptions``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from google.protobuf.message import DecodeError

from numalet.core.model.value import Value
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages


class HandedOut(Value):
    """Environment by name; host paths of mounts and device nodes by path in the container."""

    environment: Mapping[str, str]
    mounts: Mapping[str, str]
    device_nodes: Mapping[str, str]
    annotations: Mapping[str, str]
    cdi_devices: tuple[str, ...]


def merged(responses: Iterable[bytes]) -> HandedOut:
    """Merge all responses; the first value for a name or path wins. Skips undecodable responses."""
    environment: dict[str, str] = {}
    mounts: dict[str, str] = {}
    nodes: dict[str, str] = {}
    annotations: dict[str, str] = {}
    cdi_devices: dict[str, None] = {}
    for response in responses:
        try:
            answer = messages.ContainerAllocateResponse.FromString(response)
        except DecodeError:
            continue
        # The earlier response wins, so the new one is spread first.
        environment = {**answer.envs, **environment}
        annotations = {**answer.annotations, **annotations}
        for mount in answer.mounts:
            mounts.setdefault(mount.container_path, mount.host_path)
        for node in answer.devices:
            nodes.setdefault(node.container_path, node.host_path)
        cdi_devices.update(dict.fromkeys(each.name for each in answer.cdi_devices))
    return HandedOut(environment, mounts, nodes, annotations, tuple(cdi_devices))
