"""The node as the Node object that Kubernetes' clients know.

It has no NUMA facts: Kubernetes knows sums over the machine only. Capacity is what the machine
has; allocatable is capacity without the reservation, and without the huge pages where memory is
concerned. Kubelet: ``nodestatus.MachineInfo``, v1.32.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final

from numalet.config import node_allocatable
from numalet.model import resources
from numalet.model.quantity import ZERO, Quantity
from numalet.node.node import Node
from numalet.reports import kube_time
from numalet.wording import kubelet_status

MOST_PODS: Final = 110
"""As many as the kubelet takes by default."""

_PRESSURES: Final = ("Memory", "Disk", "PID")


class Unready(Enum):
    """Why a node takes no pods; the value is the reason of its condition."""

    OBSERVING = "AgentObserves"
    STARTING = "SourcesNotReady"
    BOOKS = "BooksNotWritable"
    STOPPING = "AgentStops"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """What the node object says of the host; empty where it is not known.

    ``architecture`` in Go's words (``amd64``), ``version`` that of this program.
    """

    name: str
    started_at: datetime
    unready: Unready | None = None
    version: str = ""
    architecture: str = ""
    kernel_version: str = ""
    os_image: str = ""
    machine_id: str = ""
    boot_id: str = ""
    resource_version: int = 0


def node_object(node: Node, facts: NodeFacts) -> dict[str, Any]:
    """The whole object."""
    labels = {
        "kubernetes.io/arch": facts.architecture,
        "kubernetes.io/hostname": facts.name,
        "kubernetes.io/os": node.rules.machine.os.value,
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": facts.name,
            "uid": facts.name,
            "resourceVersion": str(facts.resource_version),
            "creationTimestamp": kube_time.seconds(facts.started_at),
            "labels": {name: value for name, value in labels.items() if value},
        },
        "spec": {},
        "status": {
            "capacity": _texts(capacity(node)),
            "allocatable": _texts(allocatable(node)),
            "conditions": _conditions(facts),
            "addresses": [{"type": "Hostname", "address": facts.name}],
            "nodeInfo": _node_info(node, facts),
        },
    }


def capacity(node: Node) -> dict[str, Quantity]:
    """What the node has: the machine's sums, every known device, and room for pods."""
    registered = node.snapshot.device.inventory.registered
    return {
        **node_allocatable.capacity(node.rules.machine),
        **{
            name: Quantity.from_int(len(each.healthy | each.unhealthy))
            for name, each in registered.items()
        },
        "pods": Quantity.from_int(MOST_PODS),
    }


def allocatable(node: Node) -> dict[str, Quantity]:
    """What pods may have of it; healthy devices only."""
    inventory = node.snapshot.device.inventory
    free = {
        name: _not_below_zero(amount - node.rules.reservation.get(name, ZERO))
        for name, amount in capacity(node).items()
    }
    for name in inventory.registered:
        free[name] = Quantity.from_int(len(inventory.healthy(name)))
    for name, amount in free.items():
        if resources.is_hugepages(name):
            free[resources.MEMORY] = _not_below_zero(free[resources.MEMORY] - amount)
    return free


def _not_below_zero(amount: Quantity) -> Quantity:
    return amount if amount.sign > 0 else ZERO


def _texts(amounts: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(amounts[name]) for name in sorted(amounts)}


def _conditions(facts: NodeFacts) -> list[dict[str, Any]]:
    at = kube_time.seconds(facts.started_at)
    moments = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    ready = {
        "type": "Ready",
        "status": "False" if facts.unready else "True",
        "reason": facts.unready.value if facts.unready else "AgentReady",
        "message": kubelet_status.NODE_MESSAGES[facts.unready.value if facts.unready else ""],
    }
    pressures = [
        {"type": f"{what}Pressure", "status": "Unknown", "reason": "NotWatched"}
        for what in _PRESSURES
    ]
    return [{**condition, **moments} for condition in (*pressures, ready)]


def _node_info(node: Node, facts: NodeFacts) -> dict[str, str]:
    release = node.rules.release.value
    return {
        "architecture": facts.architecture,
        "bootID": facts.boot_id,
        "containerRuntimeVersion": f"process://{facts.version}",
        "kernelVersion": facts.kernel_version,
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{release}.0+numalet.{facts.version or '0'}",
        "machineID": facts.machine_id,
        "operatingSystem": node.rules.machine.os.value,
        "osImage": facts.os_image,
        "systemUUID": facts.machine_id,
    }
