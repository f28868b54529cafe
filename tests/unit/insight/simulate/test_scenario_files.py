"""Scenario files: the three forms, and everything that can be wrong with them."""

from __future__ import annotations

import gzip
import json
import lzma
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.numalet_config import NumaletConfig
from numalet.core.managers.device.inventory import Device
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.machine_info import HugePages
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.insight.maps import machine_description
from numalet.insight.simulate import recording, runner
from numalet.insight.simulate.session import RemoveStep, RestartStep, Scenario
from numalet.insight.usecases import scenario_document, scenario_file
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.text import yaml_source

MACHINE = {
    "numa_nodes": [
        {
            "id": node,
            "memory_bytes": 10 << 30,
            "hugepages": [],
            "distances": [10, 20] if node == 0 else [20, 10],
            "cores": [{"id": 0, "socket": node, "threads": [node], "uncore_cache": None}],
        }
        for node in (0, 1)
    ]
}
CONFIG = {
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "restricted",
    "kubeReserved": {"memory": "1Gi"},
    "evictionHard": {"memory.available": "0"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
}


def pod(uid: str, memory: str = "1Gi") -> dict[str, Any]:
    """A Guaranteed pod."""
    limits = {"cpu": "1", "memory": memory}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": uid, "uid": uid},
        "spec": {"containers": [{"name": "c", "resources": {"limits": limits}}]},
    }


def document(**fields: Any) -> dict[str, Any]:
    """A scenario as plain data."""
    return {"name": "s", "machine": MACHINE, "kubelet_config": CONFIG, "steps": [], **fields}


def decoded(tmp_path: Path, value: Any, name: str = "s.jsonl") -> Scenario:
    """The one scenario of a file with this content."""
    file = tmp_path / name
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    (raw,) = scenario_file.read_scenarios(str(file))
    return raw.decode()


def findings(tmp_path: Path, value: Any, name: str = "s.jsonl") -> list[Finding]:
    """What is wrong with such a file; every finding has its sentence."""
    with pytest.raises(BadInput) as caught:
        decoded(tmp_path, value, name)
    for finding in caught.value.findings:
        assert str(finding)
    return list(caught.value.findings)


def test_all_parts_of_a_scenario_are_read(tmp_path: Path) -> None:
    restart = {
        "order": ["a"],
        "kubelet_config": {},
        "machine": MACHINE,
        "state_files": {"memory_manager_state": ""},
    }
    found = decoded(
        tmp_path,
        document(
            tags=["t"],
            devices=[{"resource": "x.y/z", "devices": [{"id": "d", "numa_nodes": [1]}]}],
            state_files={"cpu_manager_state": "{}"},
            record_raw=True,
            steps=[{"admit": pod("a")}, {"remove": "a"}, {"restart": {}}, {"restart": restart}],
            expect={"steps": []},
        ),
    )
    assert (
        found.name,
        found.tags,
        found.record_raw,
        found.expect,
    ) == ("s", ("t",), True, {"steps": []})
    assert found.devices == {"x.y/z": (Device("d", (1,)),)}
    assert found.state_files == {"cpu_manager_state": "{}"}
    assert found.config.topology_manager_policy == "restricted"
    assert found.machine.node_ids == (0, 1)
    admit, remove, plain, full = found.steps
    assert isinstance(admit, Pod)
    assert admit.uid == "a"
    assert remove == RemoveStep("a")
    assert plain == RestartStep(())
    assert isinstance(full, RestartStep)
    assert full.order == ("a",)
    assert full.config is not None
    assert full.config.topology_manager_policy == "none"
    assert full.machine == found.machine
    assert full.state_files == {"memory_manager_state": ""}


def test_what_is_missing_has_its_default(tmp_path: Path) -> None:
    found = decoded(tmp_path, {"machine": MACHINE})
    assert (found.steps, found.devices, found.expect) == ((), {}, None)
    assert found.config.memory_manager_policy == "None"
    assert found.name == f"{tmp_path}/s.jsonl:1"


def test_lines_are_read_one_by_one_compressed_or_not(tmp_path: Path) -> None:
    lines = "\n\n".join(json.dumps(document(name=name)) for name in ("one", "two"))
    plain, packed, small = (tmp_path / f"s.jsonl{suffix}" for suffix in ("", ".gz", ".xz"))
    plain.write_text(lines)
    packed.write_bytes(gzip.compress(lines.encode()))
    small.write_bytes(lzma.compress(lines.encode()))
    for file in (plain, packed, small):
        raws = list(scenario_file.read_scenarios(str(file)))
        assert [raw.line for raw in raws] == [1, 3]
        assert [raw.decode().name for raw in raws] == ["one", "two"]
        assert [pickle.loads(pickle.dumps(raw)).decode().name for raw in raws] == ["one", "two"]


def test_json_and_yaml_may_hold_several_scenarios(tmp_path: Path) -> None:
    texts = {
        "s.json": "".join(json.dumps(document(name=name), indent=1) for name in ("one", "two")),
        "s.yaml": "\n---\n".join(
            f"# {name}\n" + json.dumps(document(name=name)) for name in ("one", "two")
        ),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
        (tmp_path / f"{name}.xz").write_bytes(lzma.compress(text.encode()))
        for each in (name, f"{name}.gz", f"{name}.xz"):
            raws = scenario_file.read_scenarios(str(tmp_path / each))
            assert [raw.decode().name for raw in raws] == ["one", "two"]


@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ("{", "input/invalid", ""),
        ("[" * 100_000, "input/invalid", ""),
        ("5", "document/type", "$"),
        ({}, "document/field-missing", "$"),
        (document(name=5), "document/type", "$.name"),
        (document(tags="t"), "document/type", "$.tags"),
        (document(kubeletConfig={}), "document/unknown-field", "$"),
        (document(machine=5), "document/type", "$.machine"),
        (document(machine={"numa_nodes": 5}), "document/type", "$.machine.numa_nodes"),
        (
            document(kubelet_config={"memoryManagerPolicy": 5}),
            "config-file/wrong-type",
            "$.kubelet_config.memoryManagerPolicy",
        ),
        (document(devices=[{}]), "document/type", "$.devices[0].resource"),
        (
            document(devices=[{"resource": "x.y/z", "devices": [{"id": "x", "numa_nodes": 5}]}]),
            "document/type",
            "$.devices[0].devices[0].numa_nodes",
        ),
        (document(state_files={"memory": "{}"}), "input/not-supported", "$.state_files"),
        (
            document(state_files={"cpu_manager_state": 5}),
            "document/type",
            "$.state_files.cpu_manager_state",
        ),
        (document(steps=5), "document/type", "$.steps"),
        (document(steps=[5]), "input/invalid", "$.steps[0]"),
        (document(steps=[{}]), "input/invalid", "$.steps[0]"),
        (document(steps=[{"add": {}}]), "input/invalid", "$.steps[0]"),
        (document(steps=[{"remove": "a", "admit": {}}]), "input/invalid", "$.steps[0]"),
        (document(steps=[{"remove": 5}]), "document/type", "$.steps[0].remove"),
        (document(steps=[{"remove": "a"}]), "input/not-found", "$.steps[0].remove"),
        (document(steps=[{"restart": 5}]), "document/type", "$.steps[0].restart"),
        (
            document(steps=[{"restart": {"order": ["a"]}}]),
            "input/not-found",
            "$.steps[0].restart.order",
        ),
        (
            document(steps=[{"restart": {"pods": []}}]),
            "document/unknown-field",
            "$.steps[0].restart",
        ),
        (document(expect=[]), "document/type", "$.expect"),
        (
            document(machine=MACHINE | {"totals": {"cpus": -1}}),
            "document/type",
            "$.machine.totals.cpus",
        ),
        (
            document(steps=[{"admit": pod("a", "1.5.Gi")}]),
            "input/invalid",
            "$.steps[0].admit.spec.containers[0].resources.limits.memory",
        ),
    ],
)
def test_a_broken_scenario_is_refused(tmp_path: Path, value: Any, code: str, path: str) -> None:
    (finding,) = findings(tmp_path, value)
    assert (code, path, 1) == (finding.code, finding.where.path, finding.where.line)


def test_findings_in_yaml_have_their_line(tmp_path: Path) -> None:
    text = f"name: s\nmachine: {json.dumps(MACHINE)}\nsteps:\n- remove: a\n"
    (finding,) = findings(tmp_path, text, "s.yaml")
    assert (finding.code, finding.where.line) == ("input/not-found", 4)


def test_a_key_that_comes_twice_is_refused(tmp_path: Path) -> None:
    (finding,) = findings(tmp_path, "name: a\nname: b\n", "s.yaml")
    assert finding.code == "document/duplicate-key"


def read_all(path: Path) -> list[str]:
    """Codes of what is wrong with a file as a whole."""
    with pytest.raises(BadInput) as caught:
        list(scenario_file.read_scenarios(str(path)))
    return [finding.code for finding in caught.value.findings]


def test_files_that_can_not_be_read_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_all(tmp_path / "missing.jsonl") == ["document/unreadable"]
    assert read_all(tmp_path / "missing.yaml") == ["document/unreadable"]
    assert read_all(tmp_path / "missing.yaml.gz") == ["document/unreadable"]
    packed = gzip.compress(json.dumps(document()).encode())
    for name, content, code in [
        ("plain.jsonl.gz", b"{}", "document/unreadable"),
        ("plain.json.gz", b"{}", "document/unreadable"),
        ("cut.jsonl.gz", packed[:-20], "document/unreadable"),
        ("plain.jsonl.xz", b"{}", "document/unreadable"),
        ("cut.json.xz", lzma.compress(b"{}")[:-20], "document/unreadable"),
        ("bytes.jsonl", b"\xff\n", "input/invalid"),
        ("bytes.yaml", b"\xff\n", "input/invalid"),
    ]:
        (tmp_path / name).write_bytes(content)
        assert [code] == read_all(tmp_path / name)
    monkeypatch.setattr(yaml_source, "LARGEST_BYTES", 100)
    for name, content in [
        ("large.jsonl", b" " * 101),
        ("large.yaml.gz", gzip.compress(b" " * 101)),
        ("large.jsonl.gz", gzip.compress(b" " * 101)),
        ("large.jsonl.xz", lzma.compress(b" " * 101)),
    ]:
        (tmp_path / name).write_bytes(content)
        assert read_all(tmp_path / name) == ["document/too-large"]


def test_a_scenario_is_told_from_a_manifest() -> None:
    assert scenario_document.resembles_scenario(document())
    assert not scenario_document.resembles_scenario(pod("a"))
    assert not scenario_document.resembles_scenario([])


def test_what_is_recorded_is_read_and_replayed(tmp_path: Path) -> None:
    steps = [
        {"admit": pod("a", "12Gi")},
        {"admit": pod("b")},
        {"restart": {"order": ["a"], "machine": MACHINE, "kubelet_config": CONFIG}},
        {"remove": "a"},
    ]
    first = decoded(tmp_path, document(steps=steps, record_raw=True))
    recorded = recording.document(first, runner.run(first))
    again = decoded(tmp_path, recorded)
    assert again == Scenario(
        name=first.name,
        machine=first.machine,
        config=again.config,
        numalet=NumaletConfig(general_predicates=False),
        steps=again.steps,
        record_raw=True,
        expect=recorded["expect"],
    )
    assert isinstance(runner.check(again), runner.Passed)
    assert recorded == recording.document(again, runner.run(again))


def test_totals_of_a_machine_that_are_no_sums_are_kept(tmp_path: Path) -> None:
    plain = decoded(tmp_path, document()).machine
    assert "totals" not in machine_description.of(plain)
    other = replace(
        plain,
        memory_capacity_bytes=5,
        cpu_count=6,
        socket_count=7,
        hugepages=(HugePages(2048, 8),),
    )
    described = machine_description.of(other)
    assert described["totals"] == {
        "memory_bytes": 5,
        "cpus": 6,
        "sockets": 7,
        "hugepages": [{"page_size_kib": 2048, "count": 8}],
    }
    assert other == decoded(tmp_path, document(machine=described)).machine


@pytest.mark.parametrize(
    "config",
    [
        KubeletConfig(),
        KubeletConfig(
            cpu_manager_policy_options={},
            memory_manager_policy="Static",
            reserved_memory=(ReservedMemory(1, {"memory": Quantity.parse("1.5Gi")}),),
            topology_manager_policy="best-effort",
            topology_manager_scope="pod",
            topology_manager_policy_options={"prefer-closest-numa-nodes": "true"},
            kube_reserved={"memory": "0.5Gi"},
            system_reserved={"cpu": "1"},
            reserved_system_cpus="0-1",
            kube_reserved_cgroup="/a",
            system_reserved_cgroup="/b",
            enforce_node_allocatable=("pods", "kube-reserved"),
            cgroups_per_qos=False,
            eviction_hard={"memory.available": "5%"},
            feature_gates={"MemoryQoS": True},
            max_pods=50,
            pods_per_core=3,
        ),
    ],
)
def test_a_configuration_is_written_and_read_without_loss(config: KubeletConfig) -> None:
    read = kubelet_config.decode(recording.config_document(config), "f")
    assert config == replace(read, origins={})


def test_default_thresholds_stay_defaults(tmp_path: Path) -> None:
    config = decoded(tmp_path, document(kubelet_config={})).config
    assert "evictionHard" not in recording.config_document(config)
