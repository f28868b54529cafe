"""All vendor formats with kubelet settings, each with the source of its facts.

The second value of an unknown field is another one that the vendor's machines use: an answer that
is the same with both does not depend on the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.core.config.kubelet_fields import HONOURED
from numalet.core.model.value import replace
from numalet.io.documents.kubelet.kubelet_config_document import API_VERSION, KIND
from numalet.io.documents.kubelet.vendor_format import SUM, VendorFormat, at, found

_AVAILABLE: Final = "memory.available"
_EVICTION: Final = {"evictionHard": {_AVAILABLE: "100Mi"}}
_UNSET: Final = {
    "kubeReserved.cpu": ("", "1"),
    "kubeReserved.memory": ("", "1Gi"),
    "systemReserved.cpu": ("", "1"),
    "systemReserved.memory": ("", "1Gi"),
}
_UNSET_WITH_EVICTION: Final = {**_UNSET, f"evictionHard.{_AVAILABLE}": ("", "500Mi")}
_NUMA_POLICY: Final = "spec/numa/topologyPolicy"
_WHOLE_CORES: Final = {"full-pcpus-only": "true"}
_OC: Final = "oc get --raw /api/v1/nodes/NODE/proxy/configz"
# EKS computes these from the number of CPUs, and from the pods that the instance type's network
# allows.
_EKS: Final = {
    "kubeReserved.cpu": ("60m", "1"),
    "kubeReserved.memory": ("1465Mi", "299Mi"),
    "maxPods": ("110", "58"),
}
_EKS_SOURCE: Final = "awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go (2025)"
_EKS_NODES: Final = VendorFormat(
    name="NodeConfig of EKS",
    system="EKS",
    group="node.eks.aws/",
    kinds=("NodeConfig",),
    settings=at("spec/kubelet/config", "flags:spec/kubelet/flags"),
    sets=_EVICTION,
    unknown=_EKS,
    source=_EKS_SOURCE,
)
_AKS: Final = {
    "kubeReserved.cpu": ("140m", "1400m"),
    "kubeReserved.memory": ("2250Mi", "750Mi"),
    f"evictionHard.{_AVAILABLE}": ("100Mi", "750Mi"),
    "maxPods": ("110", "30"),
}
_AKS_NAMES: Final = {
    "imageGcHighThreshold": "imageGCHighThresholdPercent",
    "imageGcLowThreshold": "imageGCLowThresholdPercent",
    "podMaxPids": "podPidsLimit",
    "containerLogMaxSizeMB": None,
    "containerLogMaxSizeMb": None,
}
_AKS_SOURCE: Final = (
    "learn.microsoft.com/azure/aks/node-resource-reservations and custom-node-configuration"
)
_AKS_POOL: Final = {"agentPoolProfiles", "vmSize", "linuxOsConfig", "linuxOSConfig"}
_GKE_NAMES: Final = {
    "memoryManager.policy": "memoryManagerPolicy",
    "topologyManager.policy": "topologyManagerPolicy",
    "topologyManager.scope": "topologyManagerScope",
    "insecureKubeletReadonlyPortEnabled": None,
    "evictionMinimumReclaim": None,
}
_GARDENER_NAMES: Final = {
    f"{field}.{name}": f"{field}.{signal}"
    for field in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod")
    for name, signal in {
        "memoryAvailable": _AVAILABLE,
        "imageFSAvailable": "imagefs.available",
        "imageFSInodesFree": "imagefs.inodesFree",
        "nodeFSAvailable": "nodefs.available",
        "nodeFSInodesFree": "nodefs.inodesFree",
    }.items()
} | {"evictionMinimumReclaim": None}
_KOPS_CLUSTER: Final = VendorFormat(
    name="Cluster of kops",
    system="kops",
    group="kops.k8s.io/",
    kinds=("Cluster",),
    settings=at(
        "spec/kubelet", names={"evictionHard": "evictionHard<", "evictionSoft": "evictionSoft<"}
    ),
    replaces_maps=True,
    sets={
        "evictionHard": {
            _AVAILABLE: "100Mi",
            "nodefs.available": "10%",
            "nodefs.inodesFree": "5%",
            "imagefs.available": "10%",
            "imagefs.inodesFree": "5%",
        }
    },
    source="kubernetes/kops, pkg/model/components/kubelet.go",
)
_NODE: Final = "nodeRegistration/kubeletExtraArgs"
_KUBEADM: Final = "kubeadm's ConfigMap kubelet-config"
_KUBEADM_COMMAND: Final = "kubectl -n kube-system get configmap kubelet-config -o yaml"
_NODE_POOL: Final = ("spec/template/spec/kubelet", "spec/kubeletConfiguration")

FORMATS: Final = (
    VendorFormat(
        name="KubeletConfig or MachineConfig of OpenShift",
        system="OpenShift",
        group="machineconfiguration.openshift.io/",
        kinds=("KubeletConfig", "MachineConfig"),
        is_pool=True,
        settings=at("spec/kubeletConfig", "file:spec/config/storage/files[]"),
        sets={"maxPods": 250},
        unknown={"systemReserved.cpu": ("500m", "2"), "systemReserved.memory": ("1Gi", "3Gi")},
        command=_OC,
        source="openshift/machine-config-operator, pkg/controller/kubelet-config/helpers.go:"
        " --system-reserved is 500m and 1Gi, or computed on the node (autoSizingReserved)",
    ),
    VendorFormat(
        name="PerformanceProfile of OpenShift",
        system="OpenShift",
        group="performance.openshift.io/",
        kinds=("PerformanceProfile",),
        is_pool=True,
        settings=(
            *at("text:metadata/annotations/kubeletconfig.experimental"),
            *at(
                "spec",
                names={
                    "cpu.reserved": "reservedSystemCPUs",
                    "numa.topologyPolicy": "topologyManagerPolicy",
                },
                only_named=True,
            ),
        ),
        sets={
            "cpuManagerPolicy": "static",
            "topologyManagerPolicy": "best-effort",
            "kubeReserved": {"memory": "500Mi"},
            "systemReserved": {"memory": "500Mi"},
            "evictionHard": {
                _AVAILABLE: "100Mi",
                "nodefs.available": "10%",
                "imagefs.available": "15%",
                "nodefs.inodesFree": "5%",
            },
            "maxPods": 250,
        },
        sets_when=(
            (
                _NUMA_POLICY,
                ("restricted", "single-numa-node"),
                {"memoryManagerPolicy": "Static", "reservedMemory": SUM},
            ),
            (_NUMA_POLICY, ("single-numa-node",), {"cpuManagerPolicyOptions": _WHOLE_CORES}),
        ),
        unknown={"systemReserved.cpu": ("500m", "2")},
        command=_OC,
        source="openshift/cluster-node-tuning-operator, components/kubeletconfig/kubeletconfig.go",
    ),
    VendorFormat(
        name="config.yaml of MicroShift",
        system="MicroShift",
        keys=("kubelet",),
        accepts=lambda value: isinstance(value["kubelet"], Mapping),
        settings=at("kubelet"),
        sets={"maxPods": 250, "failSwapOn": False},
        source="openshift/microshift, pkg/node/kubelet.go",
    ),
    VendorFormat(
        name="machine configuration of Talos",
        system="Talos",
        keys=("machine/kubelet",),
        accepts=lambda value: value.get("version", "v1alpha1") == "v1alpha1",
        settings=at("machine/kubelet/extraConfig", "flags:machine/kubelet/extraArgs"),
        replaces_maps=True,
        sets={"systemReserved": {"cpu": "50m", "memory": "384Mi"}, "failSwapOn": False},
        sets_when=(
            (
                "machine/type",
                ("controlplane", "init"),
                {"systemReserved": {"cpu": "50m", "memory": "512Mi"}},
            ),
        ),
        source="siderolabs/talos 1.10, pkg/machinery/constants/constants.go, kubelet_spec.go",
    ),
    VendorFormat(
        name="settings of Bottlerocket",
        system="Bottlerocket",
        keys=("settings/kubernetes",),
        settings=at("bottlerocket:settings/kubernetes"),
        sets={"failSwapOn": False},
        unknown=_EKS,
        source="bottlerocket-os/bottlerocket-core-kit, packages/kubernetes-1.32/kubelet-config",
    ),
    VendorFormat(
        name="config.yaml of k3s or RKE2",
        system="k3s or RKE2",
        keys=("kubelet-arg", "kubelet-arg+"),
        settings=at("flags:kubelet-arg", "flags:kubelet-arg+"),
        sets={
            "evictionHard": {"imagefs.available": "5%", "nodefs.available": "5%"},
            "failSwapOn": False,
        },
        source="k3s-io/k3s 1.32 to 1.36, pkg/daemons/agent: no threshold of memory",
    ),
    VendorFormat(
        name="Cluster of kind",
        system="kind",
        group="kind.x-k8s.io/",
        kinds=("Cluster",),
        settings=(
            *at("", names={"featureGates": "featureGates"}, only_named=True),
            *at("text:kubeadmConfigPatches[]", "text:nodes[*]/kubeadmConfigPatches[]"),
        ),
        sets={
            "evictionHard": {
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
                "imagefs.available": "0%",
            },
            "failSwapOn": False,
            "cgroupRoot": "/kubelet",
        },
        source="kubernetes-sigs/kind 0.2x, pkg/cluster/internal/kubeadm/config.go",
    ),
    VendorFormat(
        name="InitConfiguration or JoinConfiguration of kubeadm",
        system=_KUBEADM,
        group="kubeadm.k8s.io/",
        kinds=("InitConfiguration", "JoinConfiguration"),
        is_pool=True,
        settings=at(f"flags:{_NODE}"),
        unknown=_UNSET_WITH_EVICTION,
        command=_KUBEADM_COMMAND,
        source="kubeadm v1beta3, v1beta4: the KubeletConfiguration is another document",
    ),
    VendorFormat(
        name="bootstrap configuration of Cluster API",
        system=_KUBEADM,
        kinds=(
            *("KubeadmConfig", "KubeadmConfigTemplate"),
            *("KubeadmControlPlane", "KubeadmControlPlaneTemplate"),
        ),
        is_pool=True,
        settings=at(
            *(
                f"{form}:{around}{inside}/{path}"
                for inside in ("", "/kubeadmConfigSpec")
                for around in ("spec", "spec/template/spec")
                for form, path in (
                    ("file", "files[]"),
                    ("flags", f"initConfiguration/{_NODE}"),
                    ("flags", f"joinConfiguration/{_NODE}"),
                )
            )
        ),
        unknown=_UNSET_WITH_EVICTION,
        command=_KUBEADM_COMMAND,
        source="kubernetes-sigs/cluster-api v1beta1 and v1beta2: kubelet flags and files only",
    ),
    _EKS_NODES,
    VendorFormat(
        name="ClusterConfig of eksctl",
        system="EKS",
        group="eksctl.io/",
        kinds=("ClusterConfig",),
        settings=at(
            "nodeGroups[*]/kubeletExtraConfig",
            "bottlerocket:nodeGroups[*]/bottlerocket/settings/kubernetes",
            "text:nodeGroups[*]/overrideBootstrapCommand",
            "managedNodeGroups[*]/kubeletExtraConfig",
            "bottlerocket:managedNodeGroups[*]/bottlerocket/settings/kubernetes",
            "text:managedNodeGroups[*]/overrideBootstrapCommand",
        ),
        unknown={**_EKS, f"evictionHard.{_AVAILABLE}": ("100Mi", "200Mi")},
        source=f"eksctl-io/eksctl, pkg/nodebootstrap; {_EKS_SOURCE}",
    ),
    replace(
        _EKS_NODES,
        name="EC2NodeClass of Karpenter",
        group="karpenter.k8s.aws/",
        kinds=("EC2NodeClass",),
        is_pool=True,
        settings=at("spec/kubelet", "text:spec/userData"),
        source=f"aws/karpenter-provider-aws 1.x; {_EKS_SOURCE}",
    ),
    replace(
        _EKS_NODES,
        name="NodePool before 1.0 of Karpenter",
        group="karpenter.sh/",
        kinds=("NodePool", "Provisioner"),
        accepts=lambda value: any(next(found(value, path), None) for path in _NODE_POOL),
        is_pool=True,
        settings=at(*_NODE_POOL),
        source=f"kubernetes-sigs/karpenter v1beta1; {_EKS_SOURCE}",
    ),
    VendorFormat(
        name="custom kubelet configuration of AKS",
        system="AKS",
        keys=("cpuCfsQuota", "cpuCfsQuotaPeriod", *_AKS_NAMES),
        settings=at("", names=_AKS_NAMES),
        unknown=_AKS,
        source=_AKS_SOURCE,
    ),
    VendorFormat(
        name="node pool or cluster of AKS",
        system="AKS",
        keys=("agentPoolProfiles", "kubeletConfig"),
        accepts=lambda value: not _AKS_POOL.isdisjoint(value),
        settings=(
            *at("kubeletConfig", names=_AKS_NAMES),
            *at("", names={"maxPods": "maxPods"}, only_named=True),
            *at("agentPoolProfiles[*]/kubeletConfig", names=_AKS_NAMES),
        ),
        unknown=_AKS,
        source=_AKS_SOURCE,
    ),
    VendorFormat(
        name="NodeSystemConfig of GKE",
        system="GKE",
        keys=("kubeletConfig", "config/kubeletConfig"),
        settings=at("kubeletConfig", "config/kubeletConfig", names=_GKE_NAMES),
        sets=_EVICTION,
        unknown={
            "kubeReserved.cpu": ("60m", "1"),
            "kubeReserved.memory": ("1Gi", "10Gi"),
            "maxPods": ("110", "32"),
        },
        source="cloud.google.com/kubernetes-engine/docs/how-to/node-system-config and"
        " concepts/plan-node-sizes (2025)",
    ),
    VendorFormat(
        name="Shoot of Gardener",
        system="Gardener",
        group="core.gardener.cloud/",
        kinds=("Shoot",),
        pool_replaces=True,
        settings=at(
            "spec/kubernetes/kubelet",
            "spec/provider/workers[*]/kubernetes/kubelet",
            names=_GARDENER_NAMES,
        ),
        sets={"kubeReserved": {"cpu": "80m", "memory": "1Gi"}},
        unknown={f"evictionHard.{_AVAILABLE}": ("100Mi", "1Gi")},
        source="gardener/gardener, operatingsystemconfig/original/components/kubelet/config.go:"
        " memoryAvailable depends on the type of machine",
    ),
    _KOPS_CLUSTER,
    replace(
        _KOPS_CLUSTER,
        name="InstanceGroup of kops",
        system="the Cluster of kops",
        kinds=("InstanceGroup",),
        is_pool=True,
        unknown=_UNSET,
        command="kops get cluster -o yaml",
    ),
    VendorFormat(
        name="ClusterConfig of k0s",
        system="k0s",
        group="k0s",
        kinds=("ClusterConfig", "Cluster"),
        settings=at(
            "spec/workerProfiles[*]/values", "spec/k0s/config/spec/workerProfiles[*]/values"
        ),
        sets={"failSwapOn": False},
        source="k0sproject/k0s, pkg/component/controller/workerconfig/reconciler.go",
    ),
    VendorFormat(
        name="KubeletConfiguration without apiVersion or kind",
        system="the rest of the configuration",
        group=API_VERSION,
        kinds=(None, KIND),
        accepts=lambda value: (
            None in (value.get("apiVersion"), value.get("kind"))
            and not HONOURED.keys().isdisjoint(value)
        ),
        settings=at(""),
        unknown=_UNSET_WITH_EVICTION,
        source="a part of a file, or a patch of kubeadm",
    ),
)
"""The first matching format applies."""


SYSTEMS: Final = tuple(
    dict.fromkeys(each.name.rpartition(" of ")[2] for each in FORMATS if " of " in each.name)
)


def of(value: object) -> VendorFormat | None:
    if not isinstance(value, Mapping):
        return None
    return next((each for each in FORMATS if each.matches(value)), None)
