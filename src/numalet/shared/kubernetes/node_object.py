"""The Node object. Kubelet: ``nodestatus.MachineInfo``, v1.32.

Allocatable is capacity minus reservations; huge pages reduce memory. NUMA nodes are not included.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Any, Final

from numalet.core.admission import node_resources, predicates
from numalet.core.config.releases.versions import NOT_SEEN, FollowedRelease
from numalet.core.model import moments as kube_time
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.wording.kubelet import JUDGED, NODE_MESSAGES

UNSCHEDULABLE_TAINT: Final = "node.kubernetes.io/unschedulable"
_PRESSURES: Final = ("Memory", "Disk", "PID")


class Unready(Enum):
    """Why a node admits no pods; the value is the condition's reason."""

    OBSERVING = "AgentObserves"
    STARTING = "SourcesNotReady"
    STATE_UNWRITABLE = "NodeStateNotWritable"
    STOPPING = "AgentStops"


class KubeletCondition(Value):
    """State of the kubelet that owns the node; ``is_running`` is unset if unknown.

    ``release`` is the one whose rules apply.
    """

    is_running: bool | None
    since: datetime
    release: FollowedRelease = NOT_SEEN


class NodeFacts(Value, kw_only=True):
    """Facts of the host; empty if unknown.

    ``architecture`` in Go's spelling (``amd64``); ``version`` of numalet.
    """

    name: str
    created_at: datetime
    started_at: datetime
    unready: Unready | None = None
    unschedulable: bool = False
    version: str = ""
    architecture: str = ""
    kernel_version: str = ""
    os_image: str = ""
    machine_id: str = ""
    boot_id: str = ""
    kubelet: KubeletCondition | None = None


def node_object(node: Node, facts: NodeFacts) -> dict[str, Any]:
    """Build the object without resource version."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": facts.name,
            "uid": facts.name,
            "creationTimestamp": kube_time.seconds(facts.created_at),
            "labels": labels(facts.name, node.rules.machine.os, facts.architecture),
        },
        "spec": _spec(facts),
        "status": {
            "capacity": _texts(capacity(node)),
            "allocatable": _texts(allocatable(node)),
            "conditions": _conditions(facts),
            "addresses": [{"type": "Hostname", "address": facts.name}],
            "nodeInfo": _node_info(node, facts),
        },
    }


def _spec(facts: NodeFacts) -> dict[str, Any]:
    """As after ``kubectl cordon``, with the taint that Kubernetes adds."""
    if not facts.unschedulable:
        return {}
    taint = {"key": UNSCHEDULABLE_TAINT, "effect": "NoSchedule"}
    return {"unschedulable": True, "taints": [taint]}


def labels(name: str, system: OperatingSystem, architecture: str) -> dict[str, str]:
    """Labels with known values."""
    values = {
        "kubernetes.io/arch": architecture,
        predicates.HOST_LABEL: name,
        predicates.OS_LABEL: system.value,
    }
    return {label: value for label, value in values.items() if value}


def capacity(node: Node) -> dict[str, Quantity]:
    return node_resources.capacity(node.rules, node.snapshot)


def allocatable(node: Node) -> dict[str, Quantity]:
    return node_resources.allocatable(node.rules, node.snapshot)


def _texts(amounts: dict[str, Quantity]) -> dict[str, str]:
    return {name: str(amounts[name]) for name in sorted(amounts)}


def _conditions(facts: NodeFacts) -> list[dict[str, Any]]:
    at = kube_time.seconds(facts.started_at)
    moments = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    ready = {
        "type": "Ready",
        "status": "False" if facts.unready else "True",
        "reason": facts.unready.value if facts.unready else "AgentReady",
        "message": NODE_MESSAGES[facts.unready.value if facts.unready else ""],
    }
    pressures = [
        # The agent does not measure pressure, and "False" would claim that there is enough.
        {"type": f"{what}Pressure", "status": "Unknown", "reason": "NotWatched"}
        for what in _PRESSURES
    ]
    conditions = [{**condition, **moments} for condition in (*pressures, ready)]
    if facts.kubelet is not None:
        status, reason = _KUBELET_RUNNING[facts.kubelet.is_running]
        since = {"lastTransitionTime": kube_time.seconds(facts.kubelet.since)}
        running = {"type": "KubeletRunning", "status": status, "reason": reason}
        conditions.append({**running, **moments, **since})
        conditions.append({**_followed(facts.kubelet.release), **moments})
    return conditions


_KUBELET_RUNNING: Final = {
    True: ("True", "KubeletRuns"),
    False: ("False", "KubeletNotRunning"),
    None: ("Unknown", "ProcessesNotVisible"),
}


def _followed(release: FollowedRelease) -> dict[str, str]:
    """Whether numalet applies the rules of the kubelet's own release."""
    status, reason = _KUBELET_FOLLOWED[release.is_of_kubelet]
    if release.may_have_unknown_rules:
        reason = "KubeletReleaseUnknown"
    kubelet = f"kubelet {release.kubelet_version or 'of an unknown version'}"
    message = JUDGED.format(kubelet=kubelet, release=release.release.name)
    return {
        "type": "KubeletReleaseFollowed",
        "status": status,
        "reason": reason,
        "message": message,
    }


_KUBELET_FOLLOWED: Final = {
    True: ("True", "ReleaseOfKubelet"),
    False: ("False", "OtherRelease"),
    None: ("Unknown", "KubeletVersionUnknown"),
}


def _node_info(node: Node, facts: NodeFacts) -> dict[str, str]:
    release = node.rules.release.name
    return {
        "architecture": facts.architecture,
        "bootID": facts.boot_id,
        # Kubernetes defines the form RUNTIME://VERSION.
        "containerRuntimeVersion": f"process://{facts.version}",
        "kernelVersion": facts.kernel_version,
        "kubeProxyVersion": "",
        "kubeletVersion": f"v{release}.0+numalet.{facts.version or '0'}",
        "machineID": facts.machine_id,
        "operatingSystem": node.rules.machine.os.value,
        "osImage": facts.os_image,
        "systemUUID": facts.machine_id,
    }
