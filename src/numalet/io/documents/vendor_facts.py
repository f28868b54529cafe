"""What the rows of ``vendor_table`` share: own names of fields, and what vendors set or leave open.

The second value of an unknown field is another one that the vendor's machines have: an answer that
is the same with both does not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from numalet.core.model.findings import BadInput, Location
from numalet.io.documents.kubelet_fields import HONOURED
from numalet.io.documents.kubelet_types import go_kind
from numalet.io.findings.config_files import ConfigFileKind, ConfigFileNotAMapping

_MOST_NAMES: Final = 6
API_VERSION: Final = "kubelet.config.k8s.io/v1beta1"
KIND: Final = "KubeletConfiguration"

UNSET: Final = MappingProxyType(
    {
        "kubeReserved.cpu": ("", "1"),
        "kubeReserved.memory": ("", "1Gi"),
        "systemReserved.cpu": ("", "1"),
        "systemReserved.memory": ("", "1Gi"),
        "evictionHard.memory.available": ("", "500Mi"),
    }
)
"""What the rest of a configuration may set, where the file is only a part of it."""

OPENSHIFT: Final = MappingProxyType(
    {"systemReserved.cpu": ("500m", "2"), "systemReserved.memory": ("1Gi", "3Gi")}
)
OC: Final = "oc get --raw /api/v1/nodes/NODE/proxy/configz"
EKS: Final = MappingProxyType(
    {
        "kubeReserved.cpu": ("60m", "1"),
        "kubeReserved.memory": ("1465Mi", "299Mi"),
        "maxPods": ("110", "58"),
    }
)
"""Made of the number of CPUs and of the pods that the network of the type of machine allows."""
EKS_SOURCE: Final = "awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go (2025)"
EVICTION: Final = {"memory.available": "100Mi"}
NODE: Final = "nodeRegistration/kubeletExtraArgs"
AKS_NAMES: Final = MappingProxyType(
    {
        "cpuCfsQuota": "cpuCFSQuota",
        "cpuCfsQuotaPeriod": "cpuCFSQuotaPeriod",
        "imageGcHighThreshold": "imageGCHighThresholdPercent",
        "imageGcLowThreshold": "imageGCLowThresholdPercent",
        "podMaxPids": "podPidsLimit",
        "containerLogMaxSizeMB": None,
        "containerLogMaxSizeMb": None,
    }
)
GKE_NAMES: Final = MappingProxyType(
    {
        "cpuCfsQuota": "cpuCFSQuota",
        "cpuCfsQuotaPeriod": "cpuCFSQuotaPeriod",
        "memoryManager.policy": "memoryManagerPolicy",
        "topologyManager.policy": "topologyManagerPolicy",
        "topologyManager.scope": "topologyManagerScope",
        "imageGcHighThresholdPercent": "imageGCHighThresholdPercent",
        "imageGcLowThresholdPercent": "imageGCLowThresholdPercent",
        "imageMinimumGcAge": "imageMinimumGCAge",
        "imageMaximumGcAge": "imageMaximumGCAge",
        "singleProcessOomKill": "singleProcessOOMKill",
        "insecureKubeletReadonlyPortEnabled": None,
        "evictionMinimumReclaim": None,
    }
)
GARDENER_NAMES: Final = MappingProxyType(
    {
        f"{field}.{name}": f"{field}.{signal}"
        for field in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod")
        for name, signal in {
            "memoryAvailable": "memory.available",
            "imageFSAvailable": "imagefs.available",
            "imageFSInodesFree": "imagefs.inodesFree",
            "nodeFSAvailable": "nodefs.available",
            "nodeFSInodesFree": "nodefs.inodesFree",
        }.items()
    }
    | {"podPIDsLimit": "podPidsLimit", "evictionMinimumReclaim": None}
)
KUBESPRAY_NAMES: Final = MappingProxyType(
    {
        "kubelet_cpu_manager_policy": "cpuManagerPolicy",
        "kubelet_cpu_manager_policy_options": "cpuManagerPolicyOptions",
        "kubelet_topology_manager_policy": "topologyManagerPolicy",
        "kubelet_topology_manager_scope": "topologyManagerScope",
        "kubelet_max_pods": "maxPods",
        "kubelet_pod_pids_limit": "podPidsLimit",
        "kube_cpu_reserved": "kubeReserved.cpu",
        "kube_memory_reserved": "kubeReserved.memory",
        "system_cpu_reserved": "systemReserved.cpu",
        "system_memory_reserved": "systemReserved.memory",
        "reserved_system_cpus": "reservedSystemCPUs",
        "eviction_hard": "evictionHard",
    }
)


KUBESPRAY: Final = frozenset(
    {
        *(name for name in KUBESPRAY_NAMES if name.startswith("kubelet_")),
        *("kubelet_config_extra_args", "kubelet_custom_flags"),
    }
)
K3S: Final = MappingProxyType(
    {"evictionHard": {"imagefs.available": "5%", "nodefs.available": "5%"}, "failSwapOn": False}
)
K3S_SOURCE: Final = "k3s-io/k3s 1.32 to 1.36, pkg/daemons/agent: no threshold of memory"
MEMORY_AVAILABLE: Final = "evictionHard.memory.available"
KOPS: Final = MappingProxyType(
    {
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "10%",
            "nodefs.inodesFree": "5%",
            "imagefs.available": "10%",
            "imagefs.inodesFree": "5%",
        }
    }
)
KOPS_NAMES: Final = {each: f"{each}<" for each in ("evictionHard", "evictionSoft")}
KOPS_SOURCE: Final = "kubernetes/kops, pkg/model/components/kubelet.go"
AKS: Final = MappingProxyType(
    {
        "kubeReserved.cpu": ("140m", "1400m"),
        "kubeReserved.memory": ("2250Mi", "750Mi"),
        MEMORY_AVAILABLE: ("100Mi", "750Mi"),
        "maxPods": ("110", "30"),
    }
)
AKS_SOURCE: Final = (
    "learn.microsoft.com/azure/aks/node-resource-reservations and custom-node-configuration"
)
NODE_POOL: Final = "spec/template/spec/kubelet"
PROVISIONER: Final = "spec/kubeletConfiguration"


def fields_of(value: object, where: Location) -> dict[str, Any]:
    """The fields of a configuration that may leave out ``apiVersion`` and ``kind``.

    Raises:
        BadInput: it is no mapping, or says that it is something else.
    """
    if not isinstance(value, dict):
        raise BadInput([ConfigFileNotAMapping(found=go_kind(value), where=where)])
    if (value.get("apiVersion", API_VERSION), value.get("kind", KIND)) != (API_VERSION, KIND):
        raise BadInput([ConfigFileKind(what=described(value), others=KIND, where=where)])
    return value


def described(value: Mapping[str, Any]) -> str:
    """A document by its kind, or by its keys."""
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if kind is not None or api_version is not None:
        return f"this is kind {kind!r} of apiVersion {api_version!r}"
    names = [str(name) for name in value]
    more = ", ..." * (len(names) > _MOST_NAMES)
    return f"this is a document with the keys {', '.join(names[:_MOST_NAMES])}{more}"


def is_aks(value: Mapping[str, Any]) -> bool:
    """Whether a document has a name that only AKS gives to a setting."""
    return not AKS_NAMES.keys().isdisjoint(value)


def is_aks_pool(value: Mapping[str, Any]) -> bool:
    """Whether a document is a node pool or a cluster of AKS."""
    is_pool = not {"vmSize", "linuxOsConfig", "linuxOSConfig"}.isdisjoint(value)
    return "agentPoolProfiles" in value or (is_pool and "kubeletConfig" in value)


def is_flags(value: Mapping[str, Any]) -> bool:
    """Whether a document is a mapping from flags to values."""
    return bool(value) and all(str(name).startswith("--") for name in value)


def has_no_head(value: Mapping[str, Any]) -> bool:
    """A KubeletConfiguration that does not say, or not wholly, that it is one."""
    head = value.get("apiVersion"), value.get("kind")
    is_of_kubelet = head[0] in (None, API_VERSION) and head[1] in (None, KIND) and None in head
    is_of_vendor = is_aks(value) or is_aks_pool(value)
    return is_of_kubelet and not is_of_vendor and not HONOURED.keys().isdisjoint(value)
