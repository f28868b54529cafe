"""Vendors' documents: one row each recognises them, and reads their settings."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.findings import BadInput, Finding
from numalet.io.documents.kubelet import bottlerocket, kubelet_config, vendor_table
from numalet.io.documents.kubelet.kubelet_config import ConfigSources, LoadedConfig
from numalet.io.documents.text import yaml_source

KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
_PACKED = base64.b64encode(gzip.compress(f"{KUBELET}cpuManagerPolicy: static\n".encode())).decode()
_PLAIN = base64.b64encode(f"{KUBELET}maxPods: 99\n".encode()).decode()

EXAMPLES: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "KubeletConfig or MachineConfig of OpenShift": [
        (
            """apiVersion: machineconfiguration.openshift.io/v1
kind: KubeletConfig
metadata: {name: static}
spec: {kubeletConfig: {cpuManagerPolicy: static}}
""",
            {"cpu_manager_policy": "static", "max_pods": 250},
        ),
        (
            f"""apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: 99-worker}}
spec:
  config:
    storage:
      files:
      - path: /etc/motd
        contents: {{source: "data:,kubelet"}}
      - path: /etc/kubernetes/kubelet.conf
        contents: {{source: "data:text/plain;base64,{_PLAIN}"}}
      - path: /etc/openshift/kubelet.conf.d/10-static.conf
        contents: {{compression: gzip, source: "data:;base64,{_PACKED}"}}
""",
            {"cpu_manager_policy": "static", "max_pods": 99},
        ),
    ],
    "PerformanceProfile of OpenShift": [
        (
            """apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata: {name: ran}
spec:
  cpu: {isolated: 2-7, reserved: 0-1}
  numa: {topologyPolicy: single-numa-node}
""",
            {
                "reserved_system_cpus": "0-1",
                "topology_manager_policy": "single-numa-node",
                "memory_manager_policy": "Static",
                "cpu_manager_policy_options": {"full-pcpus-only": "true"},
                "memory": "1100Mi",
            },
        ),
        (
            """apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata:
  name: ran
  annotations:
    kubeletconfig.experimental: '{"systemReserved": {"memory": "1000Mi"}}'
spec:
  numa: {topologyPolicy: restricted}
""",
            {"memory": "1600Mi", "system_reserved": {"memory": "1000Mi"}},
        ),
        (
            "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfile\n"
            "metadata: {name: a}\nspec: {cpu: {reserved: '0'}}\n",
            {"memory_manager_policy": "None", "topology_manager_policy": "best-effort"},
        ),
    ],
    "config.yaml of MicroShift": [
        (
            "dns: {baseDomain: example.com}\nkubelet:\n  reservedSystemCPUs: 0-1\n",
            {"reserved_system_cpus": "0-1", "max_pods": 250},
        ),
    ],
    "machine configuration of Talos": [
        (
            "machine:\n  type: controlplane\n  kubelet:\n    extraArgs: {max-pods: [9]}\n",
            {"max_pods": 9, "system_reserved": {"cpu": "50m", "memory": "512Mi"}},
        ),
        (
            "machine: {kubelet: {extraConfig: {systemReserved: {cpu: '1'}}}}\n",
            {"system_reserved": {"cpu": "1"}},
        ),
        (
            "machine: {kubelet: {extraArgs: {v: 2}}}\n",
            {"system_reserved": {"cpu": "50m", "memory": "384Mi"}},
        ),
    ],
    "settings of Bottlerocket": [
        (
            '[settings.kubernetes]\ncpu-manager-policy = "static"\nmax-pods = 58\n',
            {"cpu_manager_policy": "static", "kube_reserved": {"memory": "893Mi"}},
        ),
    ],
    "config.yaml of k3s or RKE2": [
        (
            "node-label: [a=b]\nkubelet-arg:\n- cpu-manager-policy=static\n- --max-pods=9\n",
            {
                "cpu_manager_policy": "static",
                "max_pods": 9,
                "eviction_hard": {"imagefs.available": "5%", "nodefs.available": "5%"},
            },
        ),
        (
            "kubelet-arg: eviction-hard=memory.available<1Gi\n",
            {"eviction_hard": {"memory.available": "1Gi"}},
        ),
    ],
    "Cluster of kind": [
        (
            """kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
featureGates: {CPUManagerPolicyAlphaOptions: true}
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  reservedSystemCPUs: "0"
- |
  kind: InitConfiguration
  nodeRegistration:
    kubeletExtraArgs:
      cpu-manager-policy: static
nodes: [{role: control-plane}]
""",
            {
                "reserved_system_cpus": "0",
                "cpu_manager_policy": "static",
                "feature_gates": {"CPUManagerPolicyAlphaOptions": True},
                "threshold": None,
            },
        ),
    ],
    "InitConfiguration or JoinConfiguration of kubeadm": [
        (
            """apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
nodeRegistration:
  kubeletExtraArgs:
  - {name: cpu-manager-policy, value: static}
  - {name: kube-reserved, value: cpu=1}
""",
            {"cpu_manager_policy": "static", "kube_reserved": {"cpu": "1"}},
        ),
    ],
    "bootstrap configuration of Cluster API": [
        (
            f"""apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfigTemplate
metadata: {{name: md-0}}
spec:
  template:
    spec:
      files:
      - path: /etc/kubernetes/patches/kubeletconfiguration0+merge.yaml
        encoding: base64
        content: {_PLAIN}
      - path: /etc/default/kubelet
        content: KUBELET_EXTRA_ARGS=--topology-manager-policy=restricted
      joinConfiguration:
        nodeRegistration:
          kubeletExtraArgs: {{cpu-manager-policy: static}}
""",
            {
                "cpu_manager_policy": "static",
                "max_pods": 99,
                "topology_manager_policy": "restricted",
            },
        ),
        (
            """apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: cp}
spec:
  kubeadmConfigSpec:
    initConfiguration: {nodeRegistration: {kubeletExtraArgs: [{name: max-pods, value: '9'}]}}
""",
            {"max_pods": 9},
        ),
    ],
    "NodeConfig of EKS": [
        (
            """apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  kubelet:
    config: {cpuManagerPolicy: static, evictionHard: {nodefs.available: 5%}}
    flags: [--node-labels=a=b, --max-pods=9]
""",
            {
                "cpu_manager_policy": "static",
                "max_pods": 9,
                "eviction_hard": {"memory.available": "100Mi", "nodefs.available": "5%"},
            },
        ),
    ],
    "ClusterConfig of eksctl": [
        (
            """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
metadata: {name: c}
managedNodeGroups:
- {name: none}
- name: gpu
  bottlerocket: {settings: {kubernetes: {cpu-manager-policy: static}}}
""",
            {"cpu_manager_policy": "static"},
        ),
    ],
    "EC2NodeClass of Karpenter": [
        (
            """apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: gpu}
spec:
  kubelet: {maxPods: 9}
  userData: |
    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary="//"

    --//
    Content-Type: application/node.eks.aws

    apiVersion: node.eks.aws/v1alpha1
    kind: NodeConfig
    spec: {kubelet: {config: {cpuManagerPolicy: static}}}
    --//
    Content-Type: text/x-shellscript

    #!/bin/sh
    echo kubelet
    --//--
""",
            {"cpu_manager_policy": "static", "max_pods": 9},
        ),
        (
            """apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: rocket}
spec:
  userData: |
    [settings.kubernetes]
    topology-manager-policy = "restricted"
""",
            {"topology_manager_policy": "restricted"},
        ),
    ],
    "NodePool before 1.0 of Karpenter": [
        (
            "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\n"
            "spec: {template: {spec: {kubelet: {maxPods: 9}}}}\n",
            {"max_pods": 9},
        ),
    ],
    "custom kubelet configuration of AKS": [
        (
            '{"cpuManagerPolicy": "static", "cpuCfsQuota": false, "podMaxPids": 9,'
            ' "containerLogMaxSizeMB": 5}',
            {"cpu_manager_policy": "static", "cpu_cfs_quota": False, "pod_pids_limit": 9},
        ),
    ],
    "node pool or cluster of AKS": [
        (
            '{"vmSize": "a", "maxPods": 9, "kubeletConfig": {"cpuManagerPolicy": "static"}}',
            {"cpu_manager_policy": "static", "max_pods": 9},
        ),
        (
            "agentPoolProfiles:\n- {name: a}\n- {name: b, kubeletConfig: {cpuCfsQuota: false}}\n",
            {"cpu_cfs_quota": False},
        ),
    ],
    "NodeSystemConfig of GKE": [
        (
            "kubeletConfig:\n  cpuManagerPolicy: static\n  memoryManager: {policy: Static}\n"
            "  topologyManager: {policy: restricted, scope: pod}\nlinuxConfig: {}\n",
            {
                "cpu_manager_policy": "static",
                "memory_manager_policy": "Static",
                "topology_manager_policy": "restricted",
                "topology_manager_scope": "pod",
            },
        ),
    ],
    "Shoot of Gardener": [
        (
            """apiVersion: core.gardener.cloud/v1beta1
kind: Shoot
metadata: {name: s}
spec:
  kubernetes: {kubelet: {maxPods: 9}}
  provider:
    workers:
    - name: gpu
      kubernetes:
        kubelet: {podPIDsLimit: 7, evictionHard: {memoryAvailable: 1Gi}}
""",
            {
                "max_pods": 110,
                "pod_pids_limit": 7,
                "eviction_hard": {"memory.available": "1Gi"},
                "kube_reserved": {"cpu": "80m", "memory": "1Gi"},
            },
        ),
    ],
    "Cluster of kops": [
        (
            "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: c}\n"
            "spec: {kubelet: {evictionHard: 'memory.available<1Gi', maxPods: 9}}\n",
            {"eviction_hard": {"memory.available": "1Gi"}, "max_pods": 9},
        ),
    ],
    "InstanceGroup of kops": [
        (
            "apiVersion: kops.k8s.io/v1alpha2\nkind: InstanceGroup\nmetadata: {name: g}\n"
            "spec: {kubelet: {cpuManagerPolicy: static}}\n",
            {"cpu_manager_policy": "static", "threshold": "100Mi"},
        ),
    ],
    "ClusterConfig of k0s": [
        (
            "apiVersion: k0s.k0sproject.io/v1beta1\nkind: ClusterConfig\n"
            "spec: {workerProfiles: [{name: a, values: {maxPods: 9}}]}\n",
            {"max_pods": 9, "fail_swap_on": False},
        ),
    ],
    "KubeletConfiguration without apiVersion or kind": [
        ("cpuManagerPolicy: static\n", {"cpu_manager_policy": "static"}),
        ("kind: KubeletConfiguration\nmaxPods: 9\n", {"max_pods": 9}),
    ],
}
ALL = [(name, text, expected) for name, each in EXAMPLES.items() for text, expected in each]

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "given"
        path.write_text(text, encoding="utf-8")
        return path

    return written


def load(path: Path | str, **sources: Any) -> LoadedConfig:
    return kubelet_config.load(ConfigSources(config_file=path, **sources))


def refused(path: Path | str) -> Finding:
    with pytest.raises(BadInput) as caught:
        load(path)
    return caught.value.findings[0]


def seen(config: KubeletConfig, name: str) -> object:
    """A field, or an amount of memory that the configuration comes to."""
    match name:
        case "memory":
            (entry,) = config.reserved_memory
            return str(entry.limits["memory"])
        case "threshold":
            return config.eviction_hard.get("memory.available")
        case _:
            return getattr(config, name)


def test_every_row_has_an_example() -> None:
    assert [*EXAMPLES] == [row.name for row in vendor_table.FORMATS]


@pytest.mark.parametrize(("name", "text", "expected"), ALL)
def test_a_document_is_read(write: Write, name: str, text: str, expected: dict[str, Any]) -> None:
    loaded = load(write(text))

    assert {key: seen(loaded.config, key) for key in expected} == expected
    (note,) = [each for each in loaded.warnings if each.code.startswith("config-file/read-")]
    assert f"read from here: {name}" in str(note)
    assert (loaded.config.unknown is not None) == (note.code == "config-file/read-in-part")


@pytest.mark.parametrize(("name", "text"), [each[:2] for each in ALL])
def test_a_document_is_of_its_format(name: str, text: str) -> None:
    is_toml = bottlerocket.is_meant(text, "")
    value: Any = (
        bottlerocket.load(text, "").value
        if is_toml
        else yaml_source.load_documents(text, "")[0].value
    )
    row = vendor_table.of(value)
    assert row is not None
    assert row.name == name


@pytest.mark.parametrize("row", vendor_table.FORMATS, ids=lambda row: row.name)
def test_a_row_says_its_source_and_leaves_open_only_what_it_does_not_set(row: Any) -> None:
    assert row.source
    assert row.system
    for name in row.unknown:
        field, _, key = name.partition(".")
        assert key not in row.sets.get(field, {}) if key else field not in row.sets


def test_what_a_vendor_sets_has_its_name_as_the_place(write: Write) -> None:
    config = load(write("kubelet-arg: [v=2]\n")).config

    assert config.where("evictionHard").document.startswith("set by k3s or RKE2 (k3s-io/k3s")


def test_fields_and_flags_that_are_given_are_known(write: Write) -> None:
    path = write(EXAMPLES["NodeConfig of EKS"][0][0])

    def unknown(**sources: Any) -> list[str]:
        fields = load(path, **sources).config.unknown
        return [] if fields is None else [*fields.fields]

    assert unknown() == ["kubeReserved.cpu", "kubeReserved.memory"]
    assert unknown(flags=[("--kube-reserved", "cpu=1")]) == []


GROUPS = """apiVersion: eksctl.io/v1alpha5
kind: ClusterConfig
nodeGroups:
- {name: a, kubeletExtraConfig: {maxPods: 8}}
- {name: b, kubeletExtraConfig: {maxPods: 9}}
"""


def test_of_several_groups_one_is_chosen_by_name(write: Write) -> None:
    path = write(GROUPS)

    assert [load(f"{path}#{name}").config.max_pods for name in "ab"] == [8, 9]
    for given in (path, f"{path}#c"):
        finding = refused(given)
        assert finding.code == "input/invalid"
        assert str(finding).endswith(f"machines: a, b; choose one, such as {path}#a")


def test_user_data_of_several_parts_may_be_the_file(write: Write) -> None:
    text = EXAMPLES["EC2NodeClass of Karpenter"][0][0].partition("userData: |\n")[2]
    path = write(text.replace("\n    ", "\n").strip(" "))

    assert load(path).config.cpu_manager_policy == "static"


def test_a_list_of_node_pools_has_one_group_each(write: Write) -> None:
    pool = '{"name": "%s", "vmSize": "x", "kubeletConfig": {"podMaxPids": %d}}'
    path = write(f"[{pool % ('a', 8)}, {pool % ('b', 9)}, 5]")

    assert load(f"{path}#b").config.pod_pids_limit == 9
    assert "a, b" in str(refused(path))


def test_groups_with_equal_settings_are_one(write: Write) -> None:
    assert load(write(GROUPS.replace("9", "8"))).config.max_pods == 8


def test_a_group_of_kops_has_the_settings_of_its_cluster_too(write: Write) -> None:
    text = "".join(
        EXAMPLES[f"{kind} of kops"][0][0] + "---\n" for kind in ("Cluster", "InstanceGroup")
    )
    config = load(write(text)).config

    assert (config.cpu_manager_policy, config.max_pods) == ("static", 9)
    assert config.unknown is None


def test_flags_of_kubeadm_win_over_the_configuration_beside_them(write: Write) -> None:
    text = EXAMPLES["InitConfiguration or JoinConfiguration of kubeadm"][0][0]
    loaded = load(write(f"{text}---\n{KUBELET}cpuManagerPolicy: none\nmaxPods: 9\n"))

    assert (loaded.config.cpu_manager_policy, loaded.config.max_pods) == ("static", 9)
    assert loaded.config.unknown is None


def test_a_config_map_of_hypershift(write: Write) -> None:
    inner = EXAMPLES["KubeletConfig or MachineConfig of OpenShift"][0][0].replace("\n", "\n    ")
    loaded = load(write(f"apiVersion: v1\nkind: ConfigMap\ndata:\n  config: |\n    {inner}"))

    assert loaded.config.cpu_manager_policy == "static"
    assert loaded.config.where("cpuManagerPolicy").line == 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("apiVersion: v1\nkind: Pod\n", "this is kind 'Pod' of apiVersion 'v1' without kubelet"),
        ("sysctls: {}\nswapFileSizeMB: 5\n", "this is a document with the keys sysctls, swapFile"),
        ("{a: 1, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1}", "the keys a, b, c, d, e, f, ... without"),
        (
            "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nspec: {}\n",
            "this is the EC2NodeClass of Karpenter, with nothing at spec/kubelet, spec/userData",
        ),
        ("machine: {kubelet: {image: a}}\n", "with nothing at machine/kubelet/extraConfig"),
    ],
)
def test_a_file_without_settings_is_named_with_what_to_give(
    write: Write, text: str, said: str
) -> None:
    finding = refused(write(text))

    assert finding.code == "config-file/kind"
    assert said in str(finding)
    assert "configz" in str(finding)
    assert "k3s or RKE2, kind, kubeadm" in str(finding)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("kubelet-arg:\n- 5\n", "document/type", 2),
        ("kubelet-arg: 5\n", "document/type", 1),
        ('kubelet-arg: "--a=\'"\n', "document/type", 1),
        ("kubelet-arg: --max-pods=9 extra\n", "flag/argument", 1),
        ("kubelet: {maxPods: x}\n", "config-file/wrong-type", 1),
        (GROUPS.replace("{maxPods: 8}", "[]"), "config-file/not-a-mapping", 4),
        (
            "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nkubeadmConfigPatches:\n"
            "- |\n  kind: KubeletConfiguration\n  maxPods: x\n",
            "config-file/wrong-type",
            6,
        ),
        (
            "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nkubeadmConfigPatches:\n"
            "- |\n  kind: KubeletConfiguration\n  maxPods: [\n",
            "document/syntax",
            None,
        ),
    ],
)
def test_what_is_wrong_in_a_document_has_its_line(
    write: Write, text: str, code: str, line: int | None
) -> None:
    finding = refused(write(text))

    assert (finding.code, finding.where.line) == (code, line or finding.where.line)


def test_flags_in_a_document_are_checked_as_any_other(write: Write) -> None:
    flags = load(write("kubelet-arg:\n- max-pods=x\n- cpu_manager-policy=static\n")).config.flags

    assert [each.name for each in flags] == ["max-pods", "cpu-manager-policy"]
    problem = flags[0].problem
    assert problem is not None
    assert (problem.code, problem.where.line) == ("flag/invalid", 2)


def test_flags_in_one_text(write: Write) -> None:
    assert load(write("kubelet-arg: --max-pods=9 --v=2\n")).config.max_pods == 9


def test_a_misspelt_field_names_the_one_that_is_meant(write: Write) -> None:
    warnings = load(write(f"{KUBELET}reservedCpus: 0-4\nzzz: 1\n")).warnings

    assert [str(each) for each in warnings] == [
        "unknown field 'reservedCpus' (did you mean 'reservedSystemCPUs'?); the kubelet ignores it",
        "unknown field 'zzz'; the kubelet ignores it",
    ]


def test_lists_texts_and_files_inside_each_other_have_an_end(write: Write) -> None:
    inner = "maxPods: 9\n"
    for _ in range(6):
        inner = json.dumps(
            {"kind": "KubeadmConfig", "spec": {"files": [{"path": "kubelet", "content": inner}]}}
        )
    assert refused(write(inner)).code == "config-file/kind"
