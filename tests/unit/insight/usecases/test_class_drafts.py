"""A class file that was drafted from a dump, and what it decides on the same dump."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from numalet.core.cluster.building import POOL_LABEL
from numalet.core.cluster.cluster import Cluster
from numalet.core.model.findings import BadInput
from numalet.insight.fleet.class_draft import ClassDraft, KubeletSettings
from numalet.insight.output import class_file
from numalet.insight.usecases import class_drafts
from numalet.insight.usecases.clusters import ClusterSources, open_cluster

GPU = "nvidia.com/gpu"
SETTINGS = KubeletSettings(policy="single-numa-node", memory_policy="Static")


def node(name: str, kind: str, cpus: int, memory: str, **more: str) -> dict[str, Any]:
    capacity = {"cpu": str(cpus), "memory": memory, "pods": "110", **more}
    kept = str(int(memory.removesuffix("Ki")) - (4 << 20)) + "Ki"
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {POOL_LABEL: kind}},
        "status": {
            "capacity": capacity,
            "allocatable": {**capacity, "cpu": str(cpus - 2), "memory": kept},
            "nodeInfo": {"kubeletVersion": "v1.34.1"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def zone(name: str, **capacity: str) -> dict[str, Any]:
    held = [
        {"name": key, "capacity": each, "allocatable": each, "available": each}
        for key, each in capacity.items()
    ]
    return {"name": name, "type": "Node", "resources": held}


TOPOLOGY = {
    "apiVersion": "topology.node.k8s.io/v1alpha2",
    "kind": "NodeResourceTopology",
    "metadata": {"name": "z1"},
    "attributes": [
        {"name": "topologyManagerPolicy", "value": "restricted"},
        {"name": "topologyManagerScope", "value": "pod"},
    ],
    "zones": [
        zone("node-0", cpu="8", memory="64Gi", **{GPU: "1"}),
        zone("node-1", cpu="8", memory="64Gi", **{GPU: "1"}),
        {"name": "other", "type": "Node"},
    ],
}
DUMP = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        node("p5-a", "p5.48xlarge", 192, "2113929216Ki", **{GPU: "8"}),
        node("p5-b", "p5.48xlarge", 192, "2113929216Ki", **{GPU: "8"}),
        node("mig", "p5.48xlarge", 192, "2113929216Ki", **{"nvidia.com/mig-1g.10gb": "56"}),
        node("z1", "no", 16, "134217728Ki", **{GPU: "2"}),
        node("odd", "what\nis: this", 12, "33554432Ki"),
        TOPOLOGY,
    ],
}


def drafted(tmp_path: Path, settings: KubeletSettings = SETTINGS) -> tuple[str, Path]:
    """The text of the drafted file, and the dump."""
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps(DUMP))
    given = class_drafts.dumped([str(dump)])
    draft = class_drafts.drafted(given, POOL_LABEL, settings)
    return class_file.text(draft, "dump.json"), dump


def decided(tmp_path: Path, text: str, dump: Path) -> Cluster:
    path = tmp_path / "classes.yaml"
    path.write_text(text)
    return open_cluster(ClusterSources(paths=[str(dump)], class_file=str(path)))


def test_what_is_known_is_decided_at_once_and_the_rest_is_named(tmp_path: Path) -> None:
    text, dump = drafted(tmp_path)
    cluster = decided(tmp_path, text, dump)
    assert sorted(cluster.nodes) == ["p5-a", "p5-b", "z1"]
    topology = cluster.nodes["z1"].node.rules.topology
    assert (topology.policy.value, topology.scope.value) == ("restricted", "pod")
    assert len(cluster.nodes["p5-a"].node.snapshot.device.free(GPU)) == 8
    assert {name: str(each.why) for name, each in cluster.undecided.items()} == {
        "mig": "its pool 'p5.48xlarge-2' of the class file has no devices",
        "odd": "its pool 'what-is-this' of the class file has no machine",
    }


def test_without_settings_nothing_is_decided_and_every_pool_is_named(tmp_path: Path) -> None:
    text, dump = drafted(tmp_path, KubeletSettings())
    cluster = decided(tmp_path, text, dump)
    assert not cluster.nodes
    assert "its pool 'p5.48xlarge' of the class file has no configuration" in {
        str(each.why) for each in cluster.undecided.values()
    }
    assert "Pools with blanks: no, " in " ".join(text.replace("\n#  ", "").split())


def test_the_reasons_are_comments_above_the_fields(tmp_path: Path) -> None:
    text, _ = drafted(tmp_path)
    lines = text.splitlines()
    at = lines.index(
        "# 2 nodes, such as p5-a: 192 cpu, 2016Gi memory, 8 nvidia.com/gpu; kubelet 1.34"
    )
    assert lines[at + 1 : at + 5] == [
        "- name: p5.48xlarge",
        "  match: {labels: {node.kubernetes.io/instance-type: p5.48xlarge}}",
        "  # the instance type p5.48xlarge names it; 192 CPUs and 1.97Ti agree",
        '  machine: "profile:aws-p5"',
    ]
    # A label cannot end a comment, and words that YAML reads otherwise are quoted.
    assert [each["name"] for each in yaml.safe_load(text)["pools"]] == [
        *("no", "p5.48xlarge-2", "p5.48xlarge", "what-is-this"),
    ]
    assert yaml.safe_load(text)["pools"][3]["match"]["labels"] == {POOL_LABEL: "what\nis: this"}
    assert yaml.safe_load(text)["pools"][0]["devices"] == [f"{GPU}=gpu0@0,gpu1@1"]


def test_a_configuration_file_is_entered_as_it_is_given(tmp_path: Path) -> None:
    text, dump = drafted(tmp_path, KubeletSettings(file="kubelet.yaml"))
    (tmp_path / "kubelet.yaml").write_text(
        '{"kubeletconfig": {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}}'
    )
    cluster = decided(tmp_path, text, dump)
    assert sorted(cluster.nodes) == ["p5-a", "p5-b", "z1"]
    rules = cluster.nodes["z1"].node.rules
    assert (rules.cpu.policy.value, rules.topology.policy.value) == ("static", "none")


def test_a_dump_without_nodes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text('{"kind": "List", "items": []}')
    with pytest.raises(BadInput, match="no nodes in"):
        class_drafts.dumped([str(path)])


def test_a_blank_field_of_a_described_fleet_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text("pools:\n- name: a\n  machine:\n  devices:\n")
    with pytest.raises(BadInput, match="pool 'a' has no machine and no devices"):
        open_cluster(ClusterSources(paths=[str(path)]))


def test_an_empty_list_of_devices_leaves_out_those_of_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text("pools:\n- name: a\n  machine: profile:dgx-h100\n  devices: []\n")
    cluster = open_cluster(ClusterSources(paths=[str(path)]))
    assert not cluster.nodes["a-0"].node.snapshot.device.inventory.known


def test_published_nodes_and_an_empty_draft_are_said() -> None:
    text = class_file.text(ClassDraft((), ("a", "b")), "the cluster")
    assert "0 nodes in 0 pools" in text
    assert "2 nodes publish their machine and configuration themselves." in text
    assert yaml.safe_load(text) == {"pools": []}


def test_devices_of_profiles_are_as_in_a_device_file() -> None:
    known = {each.name: each for each in class_drafts.known_machines()}
    assert known["dgx-a100"].devices[GPU][:2] == ("gpu0@3", "gpu1@3")
    assert known["gb200-34n"].cpu_nodes == 2
