"""KubeletConfiguration from files and drop-ins: types, defaults, warnings, places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.core.config.behaviour import EXACT, NATIVE, Mode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.table import DEFAULT
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.machine_queries import NodeClass
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources, LoadedConfig

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
OWN = "apiVersion: numalet.dev/v1alpha1\nkind: NumaletConfiguration\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


Write = Callable[[str, str], Path]


def load(**sources: Any) -> LoadedConfig:
    return kubelet_config.load(ConfigSources(**sources))


def decode(**fields: Any) -> KubeletConfig:
    return kubelet_config.decode(fields, "config")


def findings(action: Callable[[], object]) -> tuple[Finding, ...]:
    with pytest.raises(BadInput) as caught:
        action()
    for finding in caught.value.findings:
        assert str(finding), "every finding has a sentence"
    return caught.value.findings


def plain(config: KubeletConfig) -> dict[int, dict[str, str]]:
    return {
        entry.numa_node: {name: str(amount) for name, amount in entry.limits.items()}
        for entry in config.reserved_memory
    }


def test_an_empty_mapping_gives_the_defaults() -> None:
    config = decode()

    assert (config.cpu_manager_policy, config.memory_manager_policy) == ("none", "None")
    assert (config.topology_manager_policy, config.topology_manager_scope) == ("none", "container")
    assert config.cpu_manager_policy_options is None
    assert config.enforce_node_allocatable == ("pods",)
    assert (config.max_pods, config.pods_per_core, config.cgroups_per_qos) == (110, 0, True)
    assert config.uses_default_eviction
    assert config.eviction_hard["memory.available"] == "100Mi"


def test_every_honoured_field_is_read() -> None:
    config = decode(
        cpuManagerPolicy="static",
        cpuManagerPolicyOptions={"full-pcpus-only": "true"},
        memoryManagerPolicy="Static",
        reservedMemory=[
            {"numaNode": 0, "limits": {"memory": "1Gi", "hugepages-2Mi": 2097152}},
            {"numaNode": 1, "limits": {"memory": 0.5}},
            {"limits": None},
            {"numaNode": 3, "limits": {"memory": None}},
        ],
        topologyManagerPolicy="restricted",
        topologyManagerScope="pod",
        topologyManagerPolicyOptions={},
        kubeReserved={"cpu": "1"},
        systemReserved={"memory": None},
        reservedSystemCPUs="0-1",
        kubeReservedCgroup="/k",
        systemReservedCgroup="/s",
        enforceNodeAllocatable=[],
        cgroupsPerQOS=False,
        evictionHard={},
        featureGates={"NodeSwap": False, "AllBeta": None},
        maxPods=250,
        podsPerCore=10,
        port=1,
        healthzPort=0,
        readOnlyPort=2,
        memorySwap={"swapBehavior": "NoSwap"},
        memoryThrottlingFactor=1,
        cpuCFSQuota=False,
        cpuCFSQuotaPeriod="1.5s",
        podPidsLimit=1 << 40,
        singleProcessOOMKill=True,
    )

    assert config.cpu_manager_policy == "static"
    assert config.cpu_manager_policy_options == {"full-pcpus-only": "true"}
    assert config.memory_manager_policy == "Static"
    assert [(entry.numa_node, dict(entry.limits)) for entry in config.reserved_memory][2] == (0, {})
    assert plain(config) == {
        0: {},
        1: {"memory": "500m"},
        3: {"memory": "0"},
    }
    assert config.topology_manager_policy == "restricted"
    assert config.topology_manager_scope == "pod"
    assert config.topology_manager_policy_options == {}
    assert config.kube_reserved == {"cpu": "1"}
    assert config.system_reserved == {"memory": ""}
    assert config.reserved_system_cpus == "0-1"
    assert (config.kube_reserved_cgroup, config.system_reserved_cgroup) == ("/k", "/s")
    assert config.enforce_node_allocatable == ()
    assert config.cgroups_per_qos is False
    assert config.eviction_hard == {}
    assert not config.uses_default_eviction
    assert config.feature_gates == {"NodeSwap": False, "AllBeta": False}
    assert (config.max_pods, config.pods_per_core) == (250, 10)
    assert (config.port, config.healthz_port, config.read_only_port) == (1, 0, 2)
    assert (config.swap_behavior, config.memory_throttling_factor) == ("NoSwap", 1)
    assert (config.cpu_cfs_quota, config.cpu_cfs_quota_period_ns) == (False, 1_500_000_000)
    assert (config.pod_pids_limit, config.single_process_oom_kill) == (1 << 40, True)


def test_an_empty_text_and_a_zero_mean_the_default() -> None:
    config = decode(
        cpuManagerPolicy="",
        memoryManagerPolicy="",
        topologyManagerPolicy="",
        topologyManagerScope=None,
        maxPods=0,
        port=0,
        memorySwap={"swapBehavior": None},
    )

    assert (config.cpu_manager_policy, config.memory_manager_policy) == ("none", "None")
    assert (config.topology_manager_policy, config.max_pods) == ("none", 110)
    assert (config.port, config.swap_behavior) == (10250, "")


@pytest.mark.parametrize(
    ("fields", "place", "found"),
    [
        ({"cpuManagerPolicy": 1}, "cpuManagerPolicy", "number"),
        ({"cpuManagerPolicy": False}, "cpuManagerPolicy", "bool"),
        ({"kubeReserved": {"cpu": 1}}, "kubeReserved.cpu", "number"),
        ({"kubeReserved": "cpu=1"}, "kubeReserved", "string"),
        ({"featureGates": {"NodeSwap": "true"}}, "featureGates.NodeSwap", "string"),
        ({"enforceNodeAllocatable": "pods"}, "enforceNodeAllocatable", "string"),
        ({"cgroupsPerQOS": "yes"}, "cgroupsPerQOS", "string"),
        ({"maxPods": 1.5}, "maxPods", "number"),
        ({"maxPods": []}, "maxPods", "array"),
        ({"cpuCFSQuotaPeriod": 1}, "cpuCFSQuotaPeriod", "number"),
        ({"memorySwap": "NoSwap"}, "memorySwap", "string"),
        ({"memorySwap": {"swapBehavior": 1}}, "memorySwap.swapBehavior", "number"),
        ({"memoryThrottlingFactor": "1"}, "memoryThrottlingFactor", "string"),
        ({"memoryThrottlingFactor": True}, "memoryThrottlingFactor", "bool"),
        ({"reservedMemory": {}}, "reservedMemory", "object"),
        ({"reservedMemory": [1]}, "reservedMemory[0]", "number"),
        ({"reservedMemory": [{"numaNode": "0"}]}, "reservedMemory[0].numaNode", "string"),
        ({"reservedMemory": [{"limits": []}]}, "reservedMemory[0].limits", "array"),
    ],
)
def test_a_wrong_type_is_found_with_its_place(
    fields: dict[str, Any], place: str, found: str
) -> None:
    (finding,) = findings(lambda: decode(**fields))

    assert finding.code == "config-file/wrong-type"
    assert (finding.where.document, finding.where.path) == ("config", f"$.{place}")
    assert finding.fields["found"] == found


@pytest.mark.parametrize("value", [True, ["1Gi"], {"memory": 1}, "x"])
def test_a_quantity_reads_itself_from_whatever_stands_there(value: object) -> None:
    (finding,) = findings(lambda: decode(reservedMemory=[{"limits": {"memory": value}}]))

    assert finding.code == "input/invalid"
    assert finding.where.path == "$.reservedMemory[0].limits.memory"
    assert ": quantities must match the regular expression" in str(finding)


def test_what_is_no_duration_is_found_with_gos_words() -> None:
    (finding,) = findings(lambda: decode(cpuCFSQuotaPeriod="5"))

    assert finding.code == "input/invalid"
    assert finding.where.path == "$.cpuCFSQuotaPeriod"
    assert 'time: missing unit in duration "5";' in str(finding)


def test_a_long_number_has_64_bits() -> None:
    (finding,) = findings(lambda: decode(podPidsLimit=1 << 63))

    assert finding.code == "config-file/out-of-range"
    assert (finding.fields["lowest"], finding.fields["highest"]) == (-(1 << 63), (1 << 63) - 1)


def test_all_wrong_fields_are_found_at_once() -> None:
    found = findings(
        lambda: decode(
            maxPods=2**31,
            podsPerCore="x" * 100,
            reservedMemory=[{"limits": {"memory": "1.5.Gi"}}],
        )
    )

    assert [finding.code for finding in found] == [
        "input/invalid",
        "config-file/out-of-range",
        "config-file/wrong-type",
    ]


@pytest.mark.parametrize("value", [None, [], "x", 3])
def test_a_configuration_is_a_mapping(value: object) -> None:
    (finding,) = findings(lambda: kubelet_config.decode(value, "config"))

    assert finding.code == "config-file/not-a-mapping"


def test_a_file_is_read_with_its_lines(write: Write) -> None:
    path = write(
        "kubelet.yaml", HEAD + "kubeReserved:\n  cpu: '1'\nreservedMemory:\n- numaNode: 1\n"
    )
    config = load(config_file=path).config

    where = config.where("reservedMemory[0].limits.memory")
    assert (where.document, where.line) == (str(path), 6)
    assert config.where("kubeReserved.cpu").line == 4
    assert config.where("maxPods").path == "$.maxPods"


def test_json_is_read_too(write: Write) -> None:
    path = write(
        "kubelet.json",
        '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",'
        ' "maxPods": 7}',
    )

    assert load(config_file=str(path)).config.max_pods == 7


def test_unknown_and_repeated_fields_are_warnings_only(write: Write) -> None:
    path = write(
        "kubelet.yaml",
        HEAD
        + "memoryManagerPolicyy: Static\nmaxPods: 1\nmaxPods: 2\nsyncFrequency: 1m\n"
        + "reservedMemory:\n- {numa: 1, limits: {}}\n",
    )
    loaded = load(config_file=path)

    assert loaded.config.max_pods == 2
    assert {warning.severity for warning in loaded.warnings} == {Severity.WARNING}
    assert [
        (warning.code, warning.where.path, warning.where.line) for warning in loaded.warnings
    ] == [
        ("document/duplicate-key", "$.maxPods", 5),
        ("config-file/unknown-field", "$.memoryManagerPolicyy", 3),
        ("config-file/unknown-field", "$.reservedMemory[0].numa", 8),
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "input/required"),
        ("# nothing\n", "input/required"),
        (HEAD + "---\n" + HEAD, "config-file/several-documents"),
        (HEAD + "---\n" + OWN + "---\n" + OWN, "config-file/several-documents"),
        (HEAD + "---\n" + OWN + "mode: exactly\n", "input/not-supported"),
        (HEAD + "---\n" + OWN + "memoryNodeClasses: [cpu]\n", "input/conflict"),
        (HEAD + "---\n" + OWN + "mode: native\nmemoryNodeClasses: cpu\n", "document/type"),
        (
            HEAD + "---\n" + OWN + "mode: native\nmemoryNodeClasses: [hbm]\n",
            "input/not-supported",
        ),
        (HEAD + "---\n" + OWN + "generalPredicates: asked\n", "document/type"),
        (HEAD + "---\n" + OWN + "mood: native\n", "document/unknown-field"),
        (HEAD + "---\n" + OWN + "mode: [native]\n", "document/type"),
        (HEAD + "---\n" + OWN + "mode: native\nmode: exact\n", "document/duplicate-key"),
        (HEAD + "---\nkind: NumaletConfiguration\napiVersion: v1", "input/not-supported"),
        (HEAD + "---\nkind: Numalet\napiVersion: numalet.dev/v1", "input/not-supported"),
        ("- 1", "config-file/not-a-mapping"),
        ("kind: KubeletConfiguration", "config-file/kind"),
        ("apiVersion: v1\nkind: Pod", "config-file/kind"),
        (HEAD + "a: [", "document/syntax"),
        (HEAD + "maxPods: many", "config-file/wrong-type"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(write: Write, text: str, code: str) -> None:
    path = write("kubelet.yaml", text)
    finding = findings(lambda: load(config_file=path))[0]

    assert (finding.code, finding.where.document) == (code, str(path))


def test_our_own_settings_stand_behind_the_kubelets(write: Write) -> None:
    path = write("kubelet.yaml", HEAD + "maxPods: 9\n---\n" + OWN + "mode: native\n")

    loaded = load(config_file=path)
    native, exact = (replace(each, release=DEFAULT) for each in (NATIVE, EXACT))

    assert (loaded.config.max_pods, loaded.behaviour) == (9, native)
    assert load(config_file=path, mode=Mode.EXACT).behaviour == exact
    both = load(config_file=path, memory_node_classes=("memory", "cpu", "cpu")).behaviour
    assert both.memory_node_classes == (NodeClass.MEMORY, NodeClass.CPU)
    assert load(mode=Mode.NATIVE).behaviour == native
    assert load().behaviour == exact
    assert load().named_release is None


def test_exact_mode_leaves_what_is_not_about_native_mode(write: Write) -> None:
    own = OWN + "mode: native\nmemoryNodeClasses: [memory]\ngeneralPredicates: false\n"
    path = write("kubelet.yaml", HEAD + "---\n" + own)

    loaded = load(config_file=path, mode=Mode.EXACT)

    assert replace(EXACT, predicates_are_asked=False, release=DEFAULT) == loaded.behaviour


def test_our_own_settings_have_their_lines(write: Write) -> None:
    path = write("kubelet.yaml", HEAD + "---\n" + OWN + "mode: exactly\n")

    (finding,) = findings(lambda: load(config_file=path))

    assert (finding.where.line, finding.where.path) == (6, "$.mode")
    assert "unknown value 'exactly'; expected one of: exact, native" in finding.located


def test_classes_by_flag_have_their_place(write: Write) -> None:
    (unknown,) = findings(lambda: load(mode=Mode.NATIVE, memory_node_classes=["cpu", "hbm"]))
    (useless,) = findings(lambda: load(memory_node_classes=["cpu"]))

    assert (unknown.where.document, unknown.where.path) == ("--memory-node-classes", "[1]")
    assert "add --native" in useless.located


def test_a_drop_in_has_no_settings_of_ours(write: Write, tmp_path: Path) -> None:
    write("drop/1.conf", HEAD + "---\n" + OWN + "mode: native\n")

    (finding,) = findings(lambda: load(config_dir=tmp_path / "drop"))

    assert finding.code == "config-file/several-documents"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    (finding,) = findings(lambda: load(config_file=tmp_path / "none.yaml"))

    assert finding.code == "document/unreadable"


# When default thresholds apply


def eviction(**sources: Any) -> dict[str, str]:
    config = load(**sources).config
    return {
        k: v for k, v in config.eviction_hard.items() if k in ("memory.available", "pid.available")
    }


def test_default_thresholds_apply_to_a_file_that_says_nothing(write: Write) -> None:
    path = write("a.yaml", HEAD)

    assert eviction(config_file=path) == {"memory.available": "100Mi"}
    assert eviction() == {"memory.available": "100Mi"}
    assert eviction(base=Base.FLAGS_ONLY) == {}


@pytest.mark.parametrize("text", ["{}", "{pid.available: '10'}"])
def test_thresholds_of_a_file_are_not_merged_with_the_defaults(write: Write, text: str) -> None:
    path = write("a.yaml", HEAD + f"evictionHard: {text}\n")

    assert "memory.available" not in eviction(config_file=path)


def test_thresholds_of_a_drop_in_are_merged_with_the_defaults_of_a_file(
    write: Write, tmp_path: Path
) -> None:
    path = write("a.yaml", HEAD)
    write("d/1.conf", HEAD + "evictionHard: {pid.available: '10'}\n")

    assert eviction(config_file=path, config_dir=tmp_path / "d") == {
        "memory.available": "100Mi",
        "pid.available": "10",
    }


def test_a_directory_alone_has_no_default_thresholds(write: Write, tmp_path: Path) -> None:
    write("d/1.conf", HEAD + "evictionHard: {pid.available: '10'}\n")
    write("e/1.conf", HEAD)

    assert eviction(config_dir=tmp_path / "d") == {"pid.available": "10"}
    assert eviction(config_dir=tmp_path / "e") == {}


# Drop-ins


def test_drop_ins_are_merged_in_the_order_of_their_paths(write: Write, tmp_path: Path) -> None:
    path = write(
        "a.yaml",
        HEAD
        + "maxPods: 1\nkubeReserved: {cpu: '1', memory: 1Gi}\n"
        + "reservedMemory:\n- numaNode: 0\n  limits: {memory: 1Gi}\n- numaNode: 1\n",
    )
    write("d/10-b.conf", HEAD + "maxPods: 2\nkubeReserved: {cpu: null, memory: 2Gi}\n")
    write("d/10-b/z.conf", HEAD + "maxPods: 3\nsystemReserved: {cpu: '2'}\n")
    write("d/20.conf", HEAD + "reservedMemory:\n- numaNode: 7\n")
    write("d/9.yaml", "this is not read: [")
    config = load(config_file=path, config_dir=tmp_path / "d").config

    assert config.kube_reserved == {"memory": "2Gi"}
    assert config.system_reserved == {"cpu": "2"}
    assert [entry.numa_node for entry in config.reserved_memory] == [7]
    assert config.max_pods == 2, "'10-b' is walked before '10-b.conf'"
    assert config.where("kubeReserved.memory").document == str(tmp_path / "d/10-b.conf")
    assert config.where("reservedMemory[0].numaNode").document == str(tmp_path / "d/20.conf")


def test_a_null_gives_the_default_back(write: Write, tmp_path: Path) -> None:
    path = write("a.yaml", HEAD + "maxPods: 1\nkubeReserved: x\n")
    write("d/1.conf", HEAD + "maxPods: null\nkubeReserved: {cpu: '1'}\n")
    config = load(config_file=path, config_dir=str(tmp_path / "d")).config

    assert (config.max_pods, config.kube_reserved) == (110, {"cpu": "1"})


@pytest.mark.parametrize("text", ["maxPods: 3", "apiVersion: v1\nkind: Pod", ""])
def test_a_drop_in_needs_its_kind_too(write: Write, tmp_path: Path, text: str) -> None:
    path = write("d/1.conf", text)
    (finding,) = findings(lambda: load(config_dir=tmp_path / "d"))

    assert finding.where.document == str(path)


def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    (finding,) = findings(lambda: load(config_dir=tmp_path / "none"))

    assert finding.code == "input/unreadable"


def test_a_wrong_type_in_a_drop_in_names_the_drop_in(write: Write, tmp_path: Path) -> None:
    path = write("d/1.conf", HEAD + "kubeReserved:\n  cpu: 1\n")
    (finding,) = findings(lambda: load(config_dir=tmp_path / "d"))

    assert (finding.where.document, finding.where.line) == (str(path), 4)
    assert "number" in str(finding)
