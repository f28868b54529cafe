"""A fleet that is described: pools, pods, and what is wrong with a description."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from architecture import tree
from numalet.cluster import following
from numalet.core.cluster.cluster import Origin, Taint, TaintEffect, Toleration
from numalet.core.cluster.objects import ClusterObjects, ListedNode
from numalet.core.model.findings import BadInput
from numalet.insight.usecases import fleets
from numalet.insight.usecases.clusters import ClusterSources, listed_cluster, open_cluster
from values import gpu_fleet, kube_lists

CONFIGURATION = {
    "cpuManagerPolicy": "static",
    "memoryManagerPolicy": "Static",
    "topologyManagerPolicy": "single-numa-node",
    "kubeReserved": {"cpu": "2", "memory": "1Gi"},
    "evictionHard": {"memory.available": "1Gi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "2Gi"}}],
}
POOL = {
    "name": "gpu",
    "count": 12,
    "machine": "profile:dgx-h100",
    "configuration": CONFIGURATION,
    "release": "1.34",
    "labels": {"tier": "gold"},
    "taints": ["nvidia.com/gpu=present:NoSchedule", {"key": "x", "effect": "NoExecute"}],
}


def written(tmp_path: Path, **document: Any) -> str:
    path = tmp_path / "fleet.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return str(path)


def pod(name: str, **spec: Any) -> dict[str, Any]:
    resources = {"limits": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "4"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "main", "resources": resources}], **spec},
    }


def test_a_pool_is_so_many_nodes_of_one_class(tmp_path: Path) -> None:
    cluster = open_cluster(ClusterSources(paths=[written(tmp_path, pools=[POOL])]))
    assert list(cluster.nodes)[0::11] == ["gpu-00", "gpu-11"]
    node = cluster.nodes["gpu-07"]
    assert (node.origin, node.pool) == (Origin.DESCRIBED, "gpu")
    assert node.labels["tier"] == "gold"
    assert node.taints == (
        Taint("nvidia.com/gpu", "present", TaintEffect.NO_SCHEDULE),
        Taint("x", "", TaintEffect.NO_EXECUTE),
    )
    assert node.node.rules.behaviour.release.name == "1.34"
    assert len(node.node.snapshot.device.free("nvidia.com/gpu")) == 8
    assert node.node.roster.slots is cluster.nodes["gpu-00"].node.roster.slots
    assert len({each.class_name for each in cluster.nodes.values()}) == 1


def test_files_are_named_from_the_folder_of_the_description(tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    (folder / "kubelet.yaml").write_text(
        yaml.safe_dump(
            {
                "apiVersion": "kubelet.config.k8s.io/v1beta1",
                "kind": "KubeletConfiguration",
                **CONFIGURATION,
            }
        )
    )
    (folder / "gpus.yaml").write_text("- {resource: x.io/gpu, devices: [g0@0, g1@1]}\n")
    machine = {"machine": "2n8c2t", "memory_per_node": "64Gi", "hugepages_per_node": {"1Gi": 2}}
    pool = {"name": "a", **machine, "configuration": "kubelet.yaml", "devices": "gpus.yaml"}
    (folder / "pods.yaml").write_text(yaml.safe_dump(pod("p")))
    inline = {**pool, "name": "b", "devices": ["x.io/gpu=g0@0"]}
    listed = {**pool, "name": "c", "devices": [{"resource": "x.io/gpu", "devices": ["g0@0"]}]}
    path = written(folder, pools=[pool, inline, listed], pods="pods.yaml")
    cluster = open_cluster(ClusterSources(paths=[path], pool_label="none"))
    counts = {
        name: len(each.node.snapshot.device.free("x.io/gpu"))
        for name, each in cluster.nodes.items()
    }
    assert counts == {"a-0": 2, "b-0": 1, "c-0": 1}
    assert [str(each.pod) for each in cluster.waiting()] == ["default/p"]


def test_pods_that_name_a_node_are_on_it_and_others_wait(tmp_path: Path) -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"parallelism": 2, "template": {"spec": pod("x")["spec"]}},
    }
    tolerant = pod("t", nodeName="gpu-1", tolerations=[{"operator": "Exists"}])
    pods = [pod("p", nodeName="gpu-1"), tolerant, pod("late", nodeName="gpu-1"), job]
    cluster = open_cluster(
        ClusterSources(paths=[written(tmp_path, pools=[{**POOL, "count": 2}], pods=pods)])
    )
    busy = cluster.nodes["gpu-1"]
    assert len(busy.node.snapshot.device.free("nvidia.com/gpu")) == 0
    assert [each.code for each in busy.notes] == ["cluster/pod-refused-now"]
    waiting = list(cluster.waiting())
    assert [each.controller.kind for each in waiting if each.controller] == ["Job", "Job"]
    (mild,) = [each for each in cluster.pods.values() if each.pod.name == "t"]
    assert mild.tolerations == (Toleration(exists=True),)


def test_pools_give_classes_to_the_nodes_of_a_dump(tmp_path: Path) -> None:
    running = gpu_fleet.cluster([gpu_fleet.running("gpu-1", [gpu_fleet.pod("a", 2)])])
    objects = [
        kube_lists.node_object(ListedNode(name=name, kubelet_version="v1.33.0"))
        for name in ("gpu-1", "cpu-1")
    ]
    objects += [kube_lists.pod_object(each) for each in running.pods.values()]
    dump = tmp_path / "dump.json"
    dump.write_text(kube_lists.kubectl_json(objects))
    pool = {**POOL, "match": {"names": ["gpu-*"]}}
    del pool["release"]
    given = written(tmp_path, pools=[pool])
    cluster = open_cluster(ClusterSources(paths=[str(dump)], class_file=given))
    assert cluster.nodes["gpu-1"].origin is Origin.REBUILT
    assert cluster.nodes["gpu-1"].node.rules.behaviour.release.name == "1.33"
    assert set(cluster.undecided) == {"cpu-1"}


def test_without_a_match_the_labels_of_the_pool_count(tmp_path: Path) -> None:
    (rule,) = fleets.load(written(tmp_path, pools=[POOL])).rules()
    assert rule.matches(ListedNode(name="x", labels={"tier": "gold", "other": "y"}))
    assert not rule.matches(ListedNode(name="gpu-1"))


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no pools": ({"pools": []}, "input/required", "$"),
    "two of a name": ({"pools": [POOL, POOL]}, "input/duplicate", "$.pools[1].name"),
    "unknown member": ({"pools": [{**POOL, "size": 3}]}, "document/unknown-field", "$.pools[0]"),
    "unknown part": ({"pools": [POOL], "x": 1}, "document/unknown-field", "$"),
    "no machine": ({"pools": [{"name": "a"}]}, "document/field-missing", "$.pools[0]"),
    "count": ({"pools": [{**POOL, "count": -1}]}, "input/invalid", "$.pools[0].count"),
    "count type": ({"pools": [{**POOL, "count": "many"}]}, "document/type", "$.pools[0].count"),
    "release": (
        {"pools": [{**POOL, "release": "1.99"}]},
        "input/not-supported",
        "$.pools[0].release",
    ),
    "label": ({"pools": [{**POOL, "labels": {"a b": "c"}}]}, "input/invalid", ""),
    "taint": ({"pools": [{**POOL, "taints": ["x"]}]}, "input/invalid", "$.pools[0].taints[0]"),
    "taint type": ({"pools": [{**POOL, "taints": [5]}]}, "input/invalid", ""),
    "taint key": ({"pools": [{**POOL, "taints": [{"key": 5}]}]}, "input/invalid", ""),
    "effect": ({"pools": [{**POOL, "taints": ["a=b:Never"]}]}, "input/not-supported", ""),
    "match": ({"pools": [{**POOL, "match": {"name": "x"}}]}, "document/unknown-field", ""),
    "match type": ({"pools": [{**POOL, "match": {"names": 5}}]}, "document/type", ""),
    "machine": ({"pools": [{**POOL, "machine": "profile:no"}]}, "input/invalid", "$.pools[0]"),
    "config": ({"pools": [{**POOL, "configuration": "no.yaml"}]}, "input/invalid", "$.pools[0]"),
    "start": (
        {"pools": [{**POOL, "configuration": {"cpuManagerPolicy": "static"}}]},
        "input/invalid",
        "$.pools[0]",
    ),
    "pods": ({"pools": [POOL], "pods": [5]}, "document/type", "$.pods[0]"),
    "pods file": ({"pools": [POOL], "pods": ["no.yaml"]}, "document/unreadable", ""),
    "bad pod": ({"pools": [POOL], "pods": [pod("p", priority="x")]}, "document/type", ""),
    "pod elsewhere": (
        {"pools": [POOL], "pods": [pod("p", nodeName="x")]},
        "input/not-found",
        "",
    ),
    "two pods of one uid": (
        {
            "pools": [POOL],
            "pods": [{**pod("p"), "metadata": {"name": n, "uid": "u"}} for n in "ab"],
        },
        "input/duplicate",
        "",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, name: str) -> None:
    document, code, path = BAD[name]
    with pytest.raises(BadInput) as caught:
        open_cluster(ClusterSources(paths=[written(tmp_path, **document)]))
    assert code in [each.code for each in caught.value.findings]
    first = next(each for each in caught.value.findings if each.code == code)
    if path:
        assert first.where.path == path
        assert first.where.line is not None


def test_a_description_stands_alone_and_is_one_document(tmp_path: Path) -> None:
    path = written(tmp_path, pools=[POOL])
    with pytest.raises(BadInput) as caught:
        open_cluster(ClusterSources(paths=[path, path]))
    assert [each.code for each in caught.value.findings] == ["input/conflict"]
    (tmp_path / "two.yaml").write_text("pools: []\n---\npools: []\n")
    with pytest.raises(BadInput) as caught:
        open_cluster(ClusterSources(paths=[str(tmp_path / "two.yaml")]))
    assert [each.code for each in caught.value.findings] == ["input/invalid"]


def test_the_examples_of_the_page_are_fleets(tmp_path: Path) -> None:
    page = tree.ROOT / "docs" / "reference" / "fleet-file.md"
    examples = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    counts = []
    for text in examples:
        (tmp_path / "fleet.yaml").write_text(text)
        counts.append(len(open_cluster(ClusterSources(paths=[str(tmp_path / "fleet.yaml")])).nodes))
    assert counts == [240, 1]


MISSPELT = {
    **{name: value for name, value in CONFIGURATION.items() if name != "topologyManagerPolicy"},
    "topologyManagerPolicie": "single-numa-node",
    "kubeReserved": {"cpu": "2", "memory": "1024"},
}


def test_a_configuration_is_warned_of_as_check_warns(tmp_path: Path) -> None:
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    (tmp_path / "kubelet.yaml").write_text(yaml.safe_dump({**head, "topologyManagerPolicie": "x"}))
    pools = [
        {**POOL, "configuration": {**MISSPELT, **head, "memoryManagerPolicy": "None"}},
        {**POOL, "name": "b", "configuration": "kubelet.yaml"},
        {**POOL, "name": "c", "configuration": "kubelet.yaml"},
    ]
    path = written(tmp_path, pools=pools)
    first, size, other = open_cluster(ClusterSources(paths=[path])).notes

    assert (first.code, first.where.document) == ("config-file/unknown-field", path)
    assert first.where.path == "$.pools[0].configuration.topologyManagerPolicie"
    assert first.where.line is not None
    assert "did you mean 'topologyManagerPolicy'?" in str(first)
    assert size.code == "config/size-without-unit"
    assert (other.code, other.where.document) == (first.code, str(tmp_path / "kubelet.yaml"))

    classes = ClusterSources(paths=["-"], class_file=path)
    listed = listed_cluster(ClusterObjects(nodes={"x": ListedNode(name="x")}, pods={}), classes)
    assert listed.cluster.notes == (first, size, other)
    assert following.classes_of(path, None).notes == (first, size, other)


def test_what_keeps_a_kubelet_of_a_pool_from_starting_comes_with_its_warnings(
    tmp_path: Path,
) -> None:
    with pytest.raises(BadInput) as caught:
        fleets.load(written(tmp_path, pools=[{**POOL, "configuration": MISSPELT}]))

    assert [each.code for each in caught.value.findings] == [
        "input/invalid",
        "config-file/unknown-field",
        "config/size-without-unit",
    ]


def test_what_is_wrong_with_the_file_of_many_pools_is_said_once(tmp_path: Path) -> None:
    pools = [{**POOL, "name": name, "configuration": "none.yaml"} for name in "abc"]
    (tmp_path / "args").write_text("kubelet --topology-manager-polcy=restricted\n")
    pools.append({**POOL, "name": "d", "configuration": "args"})
    path = written(tmp_path, pools=pools)
    with pytest.raises(BadInput) as caught:
        fleets.load(path)

    file, flag = caught.value.findings
    assert (file.code, file.where.document, file.where.path) == (
        "input/invalid",
        path,
        "$.pools[0]",
    )
    assert str(file).startswith(f"pool 'a' and 2 more: {tmp_path / 'none.yaml'}: this file can")
    assert (flag.code, flag.where.path) == ("input/invalid", "$.pools[3]")
    assert "did you mean --topology-manager-policy?" in str(flag)
