"""Kubelet flags: how their values are read, and how they win over the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from numalet.core.config import command_flags
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model.findings import BadInput
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


def load(*flags: tuple[str, str], file: Path | None = None, **sources: Any) -> KubeletConfig:
    return kubelet_config.load(ConfigSources(config_file=file, flags=flags, **sources)).config


def sentences(*flags: tuple[str, str]) -> list[str]:
    with pytest.raises(BadInput) as caught:
        load(*flags)
    return [str(finding) for finding in caught.value.findings]


@pytest.mark.parametrize(
    ("flag", "value", "attribute", "expected"),
    [
        ("--cpu-manager-policy", "static", "cpu_manager_policy", "static"),
        ("--cpu-manager-policy", "", "cpu_manager_policy", ""),
        (
            "--cpu-manager-policy-options",
            "full-pcpus-only=true,x=y",
            "cpu_manager_policy_options",
            {"full-pcpus-only": "true,x=y"},
        ),
        ("--memory-manager-policy", "Static", "memory_manager_policy", "Static"),
        ("--topology-manager-policy", "restricted", "topology_manager_policy", "restricted"),
        ("--topology-manager-scope", "pod", "topology_manager_scope", "pod"),
        (
            "--topology-manager-policy-options",
            " a = 1 ,b=2,,",
            "topology_manager_policy_options",
            {"a": "1", "b": "2"},
        ),
        ("--kube-reserved", "cpu=1,memory=1Gi", "kube_reserved", {"cpu": "1", "memory": "1Gi"}),
        ("--kube-reserved", "", "kube_reserved", {}),
        ("--system-reserved", "pid=1=2", "system_reserved", {"pid": "1=2"}),
        ("--reserved-cpus", "0-1", "reserved_system_cpus", "0-1"),
        ("--kube-reserved-cgroup", "/k", "kube_reserved_cgroup", "/k"),
        ("--system-reserved-cgroup", "/s", "system_reserved_cgroup", "/s"),
        ("--enforce-node-allocatable", "pods,none", "enforce_node_allocatable", ("pods", "none")),
        ("--enforce-node-allocatable", "", "enforce_node_allocatable", ()),
        ("--cgroups-per-qos", "F", "cgroups_per_qos", False),
        ("--max-pods", "+25", "max_pods", 25),
        ("--pods-per-core", "-3", "pods_per_core", -3),
        ("--pod-max-pids", "5000000000", "pod_pids_limit", 5_000_000_000),
        ("--cpu-cfs-quota", "false", "cpu_cfs_quota", False),
        ("--cpu-cfs-quota-period", "5ms", "cpu_cfs_quota_period_ns", 5_000_000),
        (
            "--eviction-hard",
            "memory.available<500Mi, nodefs.available<10%",
            "eviction_hard",
            {"memory.available": "500Mi", "nodefs.available": "10%"},
        ),
        ("--feature-gates", "A=t,B=false", "feature_gates", {"A": True, "B": False}),
        ("--experimental-allocatable-ignore-eviction", "true", "ignore_hard_eviction", True),
        ("max-pods", "25", "max_pods", 25),
    ],
)
def test_a_flag_sets_its_field(flag: str, value: str, attribute: str, expected: object) -> None:
    assert expected == getattr(load((flag, value)), attribute)


@pytest.mark.parametrize(
    "values", [["0:memory=1Gi;1:memory=2Gi"], ["0:memory=1Gi", "1:memory=2Gi"]]
)
def test_reserved_memory_comes_in_one_flag_or_in_several(values: list[str]) -> None:
    config = load(*(("--reserved-memory", value) for value in values))

    assert [(entry.numa_node, str(entry.limits["memory"])) for entry in config.reserved_memory] == [
        (0, "1Gi"),
        (1, "2Gi"),
    ]


def test_an_empty_reserved_memory_flag_leaves_the_files_list_alone(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    file.write_text(HEAD + "reservedMemory: [{numaNode: 5, limits: {memory: 1Gi}}]\n")

    config = load(("--reserved-memory", ""), file=file)

    assert [entry.numa_node for entry in config.reserved_memory] == [5]
    assert load(("--reserved-memory", "")).reserved_memory == ()


def test_maps_of_several_occurrences_add_up_and_texts_do_not() -> None:
    config = load(
        ("--kube-reserved", "cpu=1"),
        ("--kube-reserved", "memory=1Gi,cpu=2"),
        ("--memory-manager-policy", "x"),
        ("--memory-manager-policy", "Static"),
    )

    assert config.kube_reserved == {"cpu": "2", "memory": "1Gi"}
    assert config.memory_manager_policy == "Static"


def test_flags_win_over_the_file_and_replace_its_maps(tmp_path: Path) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(
        HEAD
        + "kubeReserved: {cpu: '1', memory: 1Gi}\nfeatureGates: {NodeSwap: false, AllBeta: true}\n"
        + "reservedMemory: [{numaNode: 5, limits: {memory: 1Gi}}]\nmaxPods: 7\n",
        encoding="utf-8",
    )
    config = load(
        ("--kube-reserved", "cpu=2"),
        ("--feature-gates", "NodeSwap=true"),
        ("--reserved-memory", "0:memory=1Gi"),
        file=path,
    )

    assert config.kube_reserved == {"cpu": "2"}
    assert config.feature_gates == {"NodeSwap": True, "AllBeta": True}
    assert [entry.numa_node for entry in config.reserved_memory] == [0]
    assert config.max_pods == 7
    documents = {
        place: config.where(place).document
        for place in (
            "kubeReserved.cpu",
            "featureGates.NodeSwap",
            "featureGates.AllBeta",
            "reservedMemory[0].limits.memory",
            "maxPods",
        )
    }
    assert documents == {
        "kubeReserved.cpu": "--kube-reserved",
        "featureGates.NodeSwap": "--feature-gates",
        "featureGates.AllBeta": str(path),
        "reservedMemory[0].limits.memory": "--reserved-memory",
        "maxPods": str(path),
    }


def test_thresholds_of_the_flag_replace_the_default_ones() -> None:
    config = load(("--eviction-hard", "pid.available<10"))

    assert (config.eviction_hard, config.uses_default_eviction) == ({"pid.available": "10"}, False)


def test_a_kubelet_with_flags_only_has_no_thresholds() -> None:
    config = load(("--max-pods", "5"), base=Base.FLAGS_ONLY)

    assert (config.eviction_hard, config.uses_default_eviction) == ({}, False)


@pytest.mark.parametrize(
    ("flag", "value", "problem"),
    [
        ("--kube-reserved", "cpu", "malformed pair, expect string=string"),
        ("--cpu-manager-policy-options", "x", "malformed pair, expect string=string"),
        ("--eviction-hard", "memory.available=1", "malformed pair, expect string<string"),
        ("--feature-gates", "A", "malformed pair, expect string=bool"),
        (
            "--feature-gates",
            "A=yes",
            'invalid value of A: yes, err: strconv.ParseBool: parsing "yes": invalid syntax',
        ),
        ("--max-pods", "x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("--max-pods", "2147483648", 'strconv.ParseInt: parsing "2147483648": value out of range'),
        ("--pod-max-pids", "", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("--cpu-cfs-quota-period", "5", 'time: missing unit in duration "5"'),
        ("--cgroups-per-qos", "x", 'strconv.ParseBool: parsing "x": invalid syntax'),
        (
            "--reserved-memory",
            "0:cpu=1",
            'memory type conversion error, unknown type: "cpu"',
        ),
    ],
)
def test_a_value_that_a_flag_does_not_take_is_refused_with_the_kubelets_text(
    flag: str, value: str, problem: str
) -> None:
    assert sentences((flag, value)) == [
        f'failed to parse kubelet flag: invalid argument "{value}" for "{flag}" flag: {problem}'
    ]


def test_an_empty_reserved_memory_breaks_the_next_one() -> None:
    (sentence,) = sentences(("--reserved-memory", ""), ("--reserved-memory", "0:memory=1Gi"))

    assert sentence.endswith("no target (nil pointer to *[]MemoryReservation)")


def test_unknown_flags_are_all_named() -> None:
    config = load(("--eviction-threshold", "1"), ("nope", ""), ("--max-pod", "9"))

    assert [str(each) for each in command_flags.problems(config.flags, table.DEFAULT)] == [
        "failed to parse kubelet flag: unknown flag: --eviction-threshold",
        "failed to parse kubelet flag: unknown flag: --nope",
        "failed to parse kubelet flag: unknown flag: --max-pod; did you mean --max-pods?",
    ]


def test_ports_and_soft_thresholds_may_be_flags() -> None:
    flags = [("--port", "1"), ("eviction-soft", "memory.available<1Gi")]
    config = kubelet_config.load(ConfigSources(flags=flags)).config
    assert config.port == 1
    assert config.eviction_soft == {"memory.available": "1Gi"}
