"""Every format of a vendor that is read, one row each, with the source of its facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from numalet.io.documents import vendor_facts as vendors
from numalet.io.documents.vendor_facts import KIND
from numalet.io.documents.vendor_format import SUM, VendorForm, VendorFormat, VendorSettings, found

FORMATS: Final = (
    VendorFormat(
        name="KubeletConfig or MachineConfig of OpenShift",
        system="OpenShift",
        group="machineconfiguration.openshift.io/",
        kinds=("KubeletConfig", "MachineConfig"),
        is_pool=True,
        settings=(
            VendorSettings("spec/kubeletConfig"),
            VendorSettings("spec/config/storage/files[]", VendorForm.FILE),
        ),
        sets={"maxPods": 250},
        unknown=vendors.OPENSHIFT,
        command=vendors.OC,
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
            VendorSettings("metadata/annotations/kubeletconfig.experimental", VendorForm.TEXT),
            VendorSettings(
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
                "memory.available": "100Mi",
                "nodefs.available": "10%",
                "imagefs.available": "15%",
                "nodefs.inodesFree": "5%",
            },
            "maxPods": 250,
        },
        sets_when=(
            (
                "spec/numa/topologyPolicy",
                ("restricted", "single-numa-node"),
                {"memoryManagerPolicy": "Static", "reservedMemory": SUM},
            ),
            (
                "spec/numa/topologyPolicy",
                ("single-numa-node",),
                {"cpuManagerPolicyOptions": {"full-pcpus-only": "true"}},
            ),
        ),
        unknown={"systemReserved.cpu": ("500m", "2")},
        command=vendors.OC,
        source="openshift/cluster-node-tuning-operator, components/kubeletconfig/kubeletconfig.go",
    ),
    VendorFormat(
        name="config.yaml of MicroShift",
        system="MicroShift",
        keys=("kubelet",),
        accepts=lambda value: isinstance(value["kubelet"], Mapping),
        settings=(VendorSettings("kubelet"),),
        sets={"maxPods": 250, "failSwapOn": False},
        source="openshift/microshift, pkg/node/kubelet.go",
    ),
    VendorFormat(
        name="machine configuration of Talos",
        system="Talos",
        keys=("machine/kubelet",),
        accepts=lambda value: value.get("version", "v1alpha1") == "v1alpha1",
        settings=(
            VendorSettings("machine/kubelet/extraConfig"),
            VendorSettings("machine/kubelet/extraArgs", VendorForm.FLAGS),
        ),
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
        settings=(VendorSettings("settings/kubernetes", VendorForm.BOTTLEROCKET),),
        sets={"failSwapOn": False},
        unknown=vendors.EKS,
        source="bottlerocket-os/bottlerocket-core-kit, packages/kubernetes-1.32/kubelet-config",
    ),
    VendorFormat(
        name="config.yaml of k3s or RKE2",
        system="k3s or RKE2",
        keys=("kubelet-arg", "kubelet-arg+"),
        settings=(
            VendorSettings("kubelet-arg", VendorForm.FLAGS),
            VendorSettings("kubelet-arg+", VendorForm.FLAGS),
        ),
        sets=vendors.K3S,
        source=vendors.K3S_SOURCE,
    ),
    VendorFormat(
        name="Cluster of kind",
        system="kind",
        group="kind.x-k8s.io/",
        kinds=("Cluster",),
        settings=(
            VendorSettings("", names={"featureGates": "featureGates"}, only_named=True),
            VendorSettings("kubeadmConfigPatches[]", VendorForm.TEXT),
            VendorSettings("nodes[*]/kubeadmConfigPatches[]", VendorForm.TEXT),
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
        system="kubeadm's ConfigMap kubelet-config",
        group="kubeadm.k8s.io/",
        kinds=("InitConfiguration", "JoinConfiguration"),
        is_pool=True,
        settings=(VendorSettings(vendors.NODE, VendorForm.FLAGS),),
        unknown=vendors.UNSET,
        command="kubectl -n kube-system get configmap kubelet-config -o yaml",
        source="kubeadm v1beta3, v1beta4: the KubeletConfiguration is another document",
    ),
    VendorFormat(
        name="bootstrap configuration of Cluster API",
        system="kubeadm's ConfigMap kubelet-config",
        kinds=(
            *("KubeadmConfig", "KubeadmConfigTemplate"),
            *("KubeadmControlPlane", "KubeadmControlPlaneTemplate"),
        ),
        is_pool=True,
        settings=tuple(
            VendorSettings(f"{around}/{path}", form)
            for around in (
                *("spec", "spec/template/spec"),
                *("spec/kubeadmConfigSpec", "spec/template/spec/kubeadmConfigSpec"),
            )
            for path, form in (
                ("files[]", VendorForm.FILE),
                (f"initConfiguration/{vendors.NODE}", VendorForm.FLAGS),
                (f"joinConfiguration/{vendors.NODE}", VendorForm.FLAGS),
            )
        ),
        unknown=vendors.UNSET,
        command="kubectl -n kube-system get configmap kubelet-config -o yaml",
        source="kubernetes-sigs/cluster-api v1beta1 and v1beta2: kubelet flags and files only",
    ),
    VendorFormat(
        name="user data of cloud-init",
        system="the image",
        keys=("write_files",),
        settings=(VendorSettings("write_files[]", VendorForm.FILE),),
        unknown=vendors.UNSET,
        source="cloud-init 24: write_files",
    ),
    VendorFormat(
        name="NodeConfig of EKS",
        system="EKS",
        group="node.eks.aws/",
        kinds=("NodeConfig",),
        settings=(
            VendorSettings("spec/kubelet/config"),
            VendorSettings("spec/kubelet/flags", VendorForm.FLAGS),
        ),
        sets={"evictionHard": vendors.EVICTION},
        unknown=vendors.EKS,
        source=vendors.EKS_SOURCE,
    ),
    VendorFormat(
        name="ClusterConfig of eksctl",
        system="EKS",
        group="eksctl.io/",
        kinds=("ClusterConfig",),
        settings=tuple(
            VendorSettings(f"{groups}[*]/{path}", form)
            for groups in ("nodeGroups", "managedNodeGroups")
            for path, form in (
                ("kubeletExtraConfig", VendorForm.FIELDS),
                ("bottlerocket/settings/kubernetes", VendorForm.BOTTLEROCKET),
                ("overrideBootstrapCommand", VendorForm.TEXT),
            )
        ),
        unknown={**vendors.EKS, "evictionHard.memory.available": ("100Mi", "200Mi")},
        source=f"eksctl-io/eksctl, pkg/nodebootstrap; {vendors.EKS_SOURCE}",
    ),
    VendorFormat(
        name="EC2NodeClass of Karpenter",
        system="EKS",
        group="karpenter.k8s.aws/",
        kinds=("EC2NodeClass",),
        is_pool=True,
        settings=(VendorSettings("spec/kubelet"), VendorSettings("spec/userData", VendorForm.TEXT)),
        sets={"evictionHard": vendors.EVICTION},
        unknown=vendors.EKS,
        source=f"aws/karpenter-provider-aws 1.x; {vendors.EKS_SOURCE}",
    ),
    VendorFormat(
        name="NodePool before 1.0 of Karpenter",
        system="EKS",
        group="karpenter.sh/",
        kinds=("NodePool", "Provisioner"),
        accepts=lambda value: any(
            next(found(value, path), None) for path in (vendors.NODE_POOL, vendors.PROVISIONER)
        ),
        is_pool=True,
        settings=(VendorSettings(vendors.NODE_POOL), VendorSettings(vendors.PROVISIONER)),
        sets={"evictionHard": vendors.EVICTION},
        unknown=vendors.EKS,
        source=f"kubernetes-sigs/karpenter v1beta1; {vendors.EKS_SOURCE}",
    ),
    VendorFormat(
        name="custom kubelet configuration of AKS",
        system="AKS",
        accepts=vendors.is_aks,
        settings=(VendorSettings("", names=vendors.AKS_NAMES),),
        unknown=vendors.AKS,
        source=vendors.AKS_SOURCE,
    ),
    VendorFormat(
        name="node pool or cluster of AKS",
        system="AKS",
        accepts=vendors.is_aks_pool,
        settings=(
            VendorSettings("kubeletConfig", names=vendors.AKS_NAMES),
            VendorSettings("", names={"maxPods": "maxPods"}, only_named=True),
            VendorSettings("agentPoolProfiles[*]/kubeletConfig", names=vendors.AKS_NAMES),
        ),
        unknown=vendors.AKS,
        source=vendors.AKS_SOURCE,
    ),
    VendorFormat(
        name="flags as JSON of AgentBaker",
        system="the program",
        accepts=vendors.is_flags,
        settings=(VendorSettings("", VendorForm.FLAGS),),
        unknown=vendors.UNSET,
        source="Azure/AgentBaker: a mapping from flags to values",
    ),
    VendorFormat(
        name="NodeSystemConfig of GKE",
        system="GKE",
        keys=("kubeletConfig", "config/kubeletConfig"),
        accepts=lambda value: not vendors.is_aks_pool(value),
        settings=(
            VendorSettings("kubeletConfig", names=vendors.GKE_NAMES),
            VendorSettings("config/kubeletConfig", names=vendors.GKE_NAMES),
        ),
        sets={"evictionHard": vendors.EVICTION},
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
        settings=(
            VendorSettings("spec/kubernetes/kubelet", names=vendors.GARDENER_NAMES),
            VendorSettings(
                "spec/provider/workers[*]/kubernetes/kubelet", names=vendors.GARDENER_NAMES
            ),
        ),
        sets={"kubeReserved": {"cpu": "80m", "memory": "1Gi"}},
        unknown={"evictionHard.memory.available": ("100Mi", "1Gi")},
        source="gardener/gardener, operatingsystemconfig/original/components/kubelet/config.go:"
        " memoryAvailable depends on the type of machine",
    ),
    VendorFormat(
        name="Cluster of kops",
        system="kops",
        group="kops.k8s.io/",
        kinds=("Cluster",),
        settings=(VendorSettings("spec/kubelet", names=vendors.KOPS_NAMES),),
        replaces_maps=True,
        sets=vendors.KOPS,
        source=vendors.KOPS_SOURCE,
    ),
    VendorFormat(
        name="InstanceGroup of kops",
        system="the Cluster of kops",
        group="kops.k8s.io/",
        kinds=("InstanceGroup",),
        is_pool=True,
        settings=(VendorSettings("spec/kubelet", names=vendors.KOPS_NAMES),),
        replaces_maps=True,
        sets=vendors.KOPS,
        unknown={
            name: values
            for name, values in vendors.UNSET.items()
            if name != vendors.MEMORY_AVAILABLE
        },
        command="kops get cluster -o yaml",
        source=vendors.KOPS_SOURCE,
    ),
    VendorFormat(
        name="ClusterConfig of k0s",
        system="k0s",
        group="k0s",
        kinds=("ClusterConfig", "Cluster"),
        settings=(
            VendorSettings("spec/workerProfiles[*]/values"),
            VendorSettings("spec/k0s/config/spec/workerProfiles[*]/values"),
        ),
        sets={"failSwapOn": False},
        source="k0sproject/k0s, pkg/component/controller/workerconfig/reconciler.go",
    ),
    VendorFormat(
        name="variables of kubespray",
        system="kubespray",
        accepts=lambda value: not vendors.KUBESPRAY.isdisjoint(value),
        settings=(
            VendorSettings("", names=vendors.KUBESPRAY_NAMES, only_named=True),
            VendorSettings("kubelet_config_extra_args"),
            VendorSettings("kubelet_custom_flags", VendorForm.FLAGS),
        ),
        unknown=vendors.UNSET,
        source="kubernetes-sigs/kubespray 2.2x, docs/ansible/vars.md; roles have more defaults",
    ),
    VendorFormat(
        name="KubeletConfiguration without apiVersion or kind",
        system="the rest of the configuration",
        kinds=(None, KIND),
        accepts=vendors.has_no_head,
        settings=(VendorSettings(""),),
        unknown=vendors.UNSET,
        source="a part of a file, or a patch of kubeadm",
    ),
)
"""Every format; a document is of the first that it matches, and matches no other."""


SYSTEMS: Final = tuple(
    dict.fromkeys(each.name.rpartition(" of ")[2] for each in FORMATS if " of " in each.name)
)
"""Whose documents are read."""


def of(value: object) -> VendorFormat | None:
    """The format of a document, None if there is none."""
    if not isinstance(value, Mapping):
        return None
    return next((each for each in FORMATS if each.matches(value)), None)
