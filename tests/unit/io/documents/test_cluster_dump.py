"""The objects of a cluster, read from what kubectl wrote."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from numalet.core.cluster.cluster import (
    ClusterPod,
    Controller,
    Taint,
    TaintEffect,
    Toleration,
)
from numalet.core.cluster.objects import BudgetFacts, LabelSelector, ListedNode
from numalet.core.model.findings import BadInput, Findings, Severity
from numalet.core.model.node_constraints import NodeRequirement
from numalet.core.model.pod import Pod
from numalet.core.model.quantity import Quantity
from numalet.io.documents.cluster import cluster_dump
from numalet.io.documents.cluster.cluster_pods import PodReader
from numalet.io.documents.pods import pod_document
from numalet.io.documents.pods.pod_document import PodIdentity
from numalet.io.documents.text.typed import Place
from values import kube_lists

RESOURCES = {"limits": {"cpu": "2", "memory": "1.5Gi", "x.io/gpu": 1}, "requests": {"cpu": "2000m"}}


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "team", "uid": f"uid-{name}", "resourceVersion": "1"}
    main = {"name": "main", "resources": RESOURCES}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [main], **spec},
        "status": {"phase": "Running"},
    }


def node(name: str = "n", **status: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def read_pod(given: dict[str, Any]) -> ClusterPod:
    findings = Findings()
    read = PodReader().read(msgspec.json.encode(given), Place("x"), findings)
    assert read is not None, findings.all
    return read


def dump(path: Path, objects: list[Any]) -> str:
    path.write_text(kube_lists.kubectl_json(objects))
    return str(path)


class WithoutAliases(yaml.SafeDumper):
    """Writes equal parts out, as Kubernetes does."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def as_yaml(value: Any) -> str:
    text = yaml.dump(value, Dumper=WithoutAliases)
    assert isinstance(text, str)
    return text


def with_(given: dict[str, Any], part: str, **members: Any) -> dict[str, Any]:
    return {**given, part: {**given[part], **members}}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
PODS = {
    "plain": pod(),
    "init containers": pod(
        initContainers=[
            {"name": "setup", "resources": {"requests": {"memory": "5Mi"}}},
            {"name": "proxy", "restartPolicy": "Always", "resources": {"claims": [{"name": "c"}]}},
        ]
    ),
    "of the whole pod": pod(resources={"limits": {"cpu": "4", "memory": "8Gi"}}),
    "overhead, priority": pod(overhead={"cpu": "250m"}, priority=2_000_001_000, nodeName="n"),
    "claims": with_(
        pod(resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}]),
        "status",
        resourceClaimStatuses=[{"name": "c", "resourceClaimName": "made"}],
    ),
    "a choice of nodes": pod(
        nodeSelector={"disk": "ssd"},
        affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [TERM]}}},
        os={"name": "linux"},
        securityContext={"supplementalGroupsPolicy": "Strict"},
    ),
    "host network": pod(
        hostNetwork=True, containers=[{"name": "main", "ports": [{"containerPort": 80}]}]
    ),
    "mirror of a static pod": with_(
        pod(), "metadata", annotations={"kubernetes.io/config.mirror": "abc"}
    ),
    "static": with_(pod(), "metadata", annotations={"kubernetes.io/config.source": "file"}),
    "labels": with_(pod(), "metadata", labels={"app": "web"}, annotations={"x": "y"}),
    "class of its status": with_(pod(), "status", qosClass="Guaranteed"),
    "resized": with_(
        pod(), "status", containerStatuses=[{"name": "main", "allocatedResources": {"cpu": "1"}}]
    ),
    "null everywhere": pod(
        initContainers=None, nodeSelector=None, affinity=None, overhead=None, tolerations=None
    ),
}


@pytest.mark.parametrize("name", PODS)
def test_a_pod_is_read_as_from_its_manifest(name: str) -> None:
    findings = Findings()
    manifest = pod_document.decode_pod(PODS[name], Place("x"), PodIdentity(), findings)
    assert findings.all == ()
    assert read_pod(PODS[name]).pod == manifest


@pytest.mark.parametrize("entry", [{}, {"allocatedResources": None}, {"allocatedResources": {}}])
def test_a_status_without_amounts_does_not_say_that_a_pod_holds_nothing(
    entry: dict[str, Any],
) -> None:
    statuses = [{"name": "main", **entry}]
    given = with_(pod(), "status", containerStatuses=statuses, initContainerStatuses=statuses)
    assert read_pod(given).pod.allocated is None
    guaranteed = with_(given, "status", containerStatuses=statuses, qosClass="Guaranteed")
    assert read_pod(guaranteed).lacks_amounts


def test_what_only_the_cluster_knows_of_a_pod() -> None:
    given = pod(
        schedulerName="other",
        tolerations=[
            {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"operator": "Exists"},
            {"key": "team", "value": "red"},
        ],
    )
    given["metadata"] |= {
        "creationTimestamp": "2026-11-01T10:00:00Z",
        "deletionTimestamp": "2026-11-01T11:00:00Z",
        "ownerReferences": [
            {"kind": "Other", "name": "o", "uid": "1"},
            {"kind": "Job", "name": "train", "uid": "2", "controller": True},
        ],
    }
    given["status"] = {"startTime": "2026-11-01T12:00:01+02:00", "reason": "TopologyAffinityError"}
    read = read_pod(given)
    assert read.tolerations == (
        Toleration("gpu", exists=True, effect=TaintEffect.NO_SCHEDULE),
        Toleration(exists=True),
        Toleration("team", "red"),
    )
    assert read.controller == Controller("Job", "train", "2")
    assert (read.scheduler_name, read.reason) == ("other", "TopologyAffinityError")
    assert read.is_being_deleted
    assert read.started_at_seconds == (read.created_at_seconds or 0.0) + 1


REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


@pytest.mark.parametrize(
    ("conditions", "node_name", "was_refused"),
    [
        ([{"type": "Other"}, REFUSED], "", True),
        ([REFUSED], "node-1", False),
        ([{**REFUSED, "reason": "SchedulingGated"}], "", False),
        ([], "", False),
        (None, "", False),
        ("no list", "", False),
        ([5], "", False),
    ],
)
def test_a_waiting_pod_shows_that_a_scheduler_has_found_no_node(
    conditions: object, node_name: str, was_refused: bool
) -> None:
    given = pod(nodeName=node_name)
    given["status"] = {"conditions": conditions}
    assert read_pod(given).was_refused is was_refused


def test_pods_share_what_they_have_in_common() -> None:
    reader = PodReader()
    texts = [
        msgspec.json.encode(with_(pod(f"p{at}"), "metadata", labels={"a": "b"})) for at in "ab"
    ]
    first, second = (reader.read(text, Place("x"), Findings()) for text in texts)
    assert first is not None
    assert second is not None
    assert first.pod.app_containers is second.pod.app_containers
    assert first.pod.labels is second.pod.labels
    assert first.pod.constraints is second.pod.constraints


def test_a_node_is_read_with_what_decides(tmp_path: Path) -> None:
    given = node(
        conditions=[{"type": "Ready", "status": "True"}],
        nodeInfo={"kubeletVersion": "v1.34.1-eks"},
        allocatable={"cpu": "63500m", "pods": "110"},
        capacity={"cpu": "64"},
    )
    given["metadata"] |= {"uid": "u", "labels": {"pool": "gpu"}}
    given["spec"] = {"unschedulable": True, "taints": [{"key": "gpu", "effect": "NoExecute"}]}
    read = cluster_dump.load([dump(tmp_path / "d.json", [given])])
    assert read.nodes == {
        "n": ListedNode(
            name="n",
            uid="u",
            labels={"pool": "gpu"},
            taints=(Taint("gpu", "", TaintEffect.NO_EXECUTE),),
            is_cordoned=True,
            is_ready=True,
            kubelet_version="v1.34.1-eks",
            allocatable={"cpu": Quantity.parse("63.5"), "pods": Quantity.from_int(110)},
            capacity={"cpu": Quantity.from_int(64)},
        )
    }


@pytest.mark.parametrize(
    ("conditions", "is_ready"),
    [(None, False), ([{"type": "Ready", "status": "Unknown"}], False), ([{"type": "X"}], False)],
)
def test_a_node_is_ready_only_if_it_says_so(
    tmp_path: Path, conditions: Any, is_ready: bool
) -> None:
    read = cluster_dump.load([dump(tmp_path / "d.json", [node(conditions=conditions)])])
    assert read.nodes["n"].is_ready is is_ready


def test_budgets_and_topologies_are_read(tmp_path: Path) -> None:
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {
            "selector": {
                "matchLabels": {"app": "web"},
                "matchExpressions": [{"key": "tier", "operator": "Exists"}],
            }
        },
        "status": {"disruptionsAllowed": 2},
    }
    young = {"kind": "PodDisruptionBudget", "metadata": {"name": "young"}}
    sizes = [{"name": "cpu", "capacity": "8", "allocatable": "7", "available": "1"}]
    zones = [
        {"type": "Node", "name": "node-3", "resources": sizes},
        {"type": "Node", "name": "unnumbered"},
        {"type": "Package", "name": "x"},
    ]
    topology = {
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n"},
        "zones": zones,
        "attributes": [{"name": "topologyManagerPolicy", "value": "restricted"}],
    }
    read = cluster_dump.load([dump(tmp_path / "d.json", [budget, young, topology, {"kind": "X"}])])
    selector = LabelSelector({"app": "web"}, (NodeRequirement("tier", "Exists"),))
    assert read.budgets == {
        "team/web": BudgetFacts(namespace="team", name="web", allowed=2, selector=selector),
        "default/young": BudgetFacts(namespace="default", name="young"),
    }
    assert read.topologies["n"].zones == 2
    assert read.topologies["n"].capacity == {3: {"cpu": Quantity.parse("8")}}
    assert read.topologies["n"].attributes == {"topologyManagerPolicy": "restricted"}


BAD_PODS = {
    "$.items[0].spec.containers[0].resources.limits.cpu": pod(
        containers=[{"name": "c", "resources": {"limits": {"cpu": "two"}}}]
    ),
    "$.items[0].spec.priority": pod(priority="high"),
    "$.items[0].spec.containers": pod(containers="none"),
    "$.items[0].spec.containers[0]": pod(containers=[{"image": "x"}]),
    "$.items[0].spec.containers[0].resources": pod(containers=[{"name": "c", "resources": 5}]),
    "$.items[0].spec.resources": pod(resources=[]),
    "$.items[0].spec": pod(containers=[]),
    "$.items[0].spec.tolerations[0].effect": pod(tolerations=[{"effect": "Never"}]),
    "$.items[0].metadata.creationTimestamp": with_(pod(), "metadata", creationTimestamp="today"),
    "$.items[0].metadata.labels.a": with_(pod(), "metadata", labels={"a": 5}),
    "$.items[0].metadata.labels": with_(pod(), "metadata", labels="a=b"),
    "$.items[0].metadata": with_(pod(), "metadata", uid=None),
    "$.items[0].status.qosClass": with_(pod(), "status", qosClass="Best"),
}


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("path", BAD_PODS)
def test_a_bad_pod_is_left_out_and_the_others_are_read(
    tmp_path: Path, path: str, form: str
) -> None:
    objects = [with_(BAD_PODS[path], "spec", nodeName="n"), pod("good"), node()]
    if form == "json":
        name = dump(tmp_path / "d.json", objects)
    else:
        name = str(tmp_path / "d.yaml")
        Path(name).write_text(as_yaml({"items": objects, "kind": "List"}))
    read = cluster_dump.load([name])
    assert set(read.pods) == {"uid-good"}
    assert set(read.nodes) == {"n"}
    assert read.unread_pods == {"n": 1}
    (warning,) = read.notes
    assert warning.code == "input/ignored"
    assert warning.severity is Severity.WARNING
    assert re.match("cannot read Pod (team/p|without a name), so it is left out: ", str(warning))
    assert warning.where.path == path
    last = path.rpartition(".")[2]
    line = Path(name).read_text().splitlines()[(warning.where.line or 0) - 1]
    # The line of an object in YAML is that of its first member.
    assert last in line or last in ("spec", "metadata", "containers[0]"), line


@pytest.mark.parametrize(
    "bad",
    [
        {"kind": "Node", "metadata": {}},
        {
            "kind": "Node",
            "metadata": {"name": "x"},
            "spec": {"taints": [{"key": "a", "effect": ""}]},
        },
        {"kind": "Node", "metadata": {"name": "x"}, "status": {"capacity": {"cpu": "much"}}},
        {"kind": "PodDisruptionBudget", "metadata": {"name": 5}},
        {"kind": "NodeResourceTopology", "metadata": {"name": "n"}, "zones": {}},
        {"kind": "Pod", "metadata": "x", "spec": 5},
        {"kind": "Pod"},
    ],
)
def test_a_bad_object_of_any_kind_is_left_out(tmp_path: Path, bad: Any) -> None:
    read = cluster_dump.load([dump(tmp_path / "d.json", [bad, node()])])
    assert set(read.nodes) == {"n"}
    assert [each.code for each in read.notes] == ["input/ignored"]


def test_what_is_no_object_is_no_trouble(tmp_path: Path) -> None:
    read = cluster_dump.load([dump(tmp_path / "d.json", [None, 5, [], {}, {"kind": 7}, node()])])
    assert set(read.nodes) == {"n"}
    assert read.notes == ()


def test_of_many_bad_objects_the_first_are_named(tmp_path: Path) -> None:
    bad = [pod(f"p{at}", priority="high") for at in range(200)]
    read = cluster_dump.load([dump(tmp_path / "d.json", [*bad, node()])])
    assert len(read.notes) == 51
    assert str(read.notes[-1]).startswith("cannot read 150 more objects")


def test_a_broken_object_in_a_list_of_kubectl_is_left_out(tmp_path: Path) -> None:
    text = kube_lists.kubectl_json([pod("a"), pod("b"), node()]).replace('"uid-a"', '"uid-a', 1)
    path = tmp_path / "d.json"
    path.write_text(text)
    read = cluster_dump.load([str(path)])
    assert (set(read.pods), set(read.nodes)) == ({"uid-b"}, {"n"})
    assert [each.where.path for each in read.notes] == ["$.items[0]"]


def test_a_folder_of_must_gather_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "must-gather.local" / "quay-io-sha256"
    nodes = folder / "cluster-scoped-resources" / "core" / "nodes"
    pods = folder / "namespaces" / "team" / "core"
    own = folder / "namespaces" / "team" / "pods" / "a"
    for each in (nodes, pods, own):
        each.mkdir(parents=True)
    (nodes / "n.yaml").write_text("---\n" + as_yaml(node()))
    listed = {"apiVersion": "v1", "items": [pod("a"), pod("b")], "kind": "PodList"}
    (pods / "pods.yaml").write_text("---\n" + as_yaml(listed))
    (pods / "configmaps.yaml").write_text("---\napiVersion: v1\nkind: ConfigMapList\nitems: []\n")
    (pods / "broken.yaml").write_text('{"kind": "PodList", "items": [')
    (own / "a.yaml").write_text("---\n" + as_yaml(pod("a")))
    (own / "logs.log").write_text("kind: Pod\n")
    read = cluster_dump.load([str(tmp_path)])
    assert (set(read.nodes), set(read.pods)) == ({"n"}, {"uid-a", "uid-b"})
    assert [(each.code, each.severity) for each in read.notes] == [
        ("document/syntax", Severity.WARNING)
    ]


def test_a_folder_of_cluster_info_dump_is_read(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    bare = {name: value for name, value in node().items() if name not in ("kind", "apiVersion")}
    nodes = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [bare]}
    (tmp_path / "nodes.json").write_text(json.dumps(nodes, indent=4))
    pods = {"kind": "PodList", "apiVersion": "v1", "items": [{**pod(), "kind": None}]}
    (tmp_path / "team" / "pods.json").write_text(json.dumps(pods, indent=4))
    read = cluster_dump.load([str(tmp_path)])
    assert (set(read.nodes), set(read.pods)) == ({"n"}, {"uid-p"})


def test_several_files_are_one_cluster_and_the_last_word_counts(tmp_path: Path) -> None:
    older = dump(tmp_path / "1.json", [pod("a", nodeName="x"), pod("b")])
    newer = dump(tmp_path / "2.json", [pod("a", nodeName="y"), node()])
    read = cluster_dump.load([older, newer])
    assert read.pods["uid-a"].pod.node_name == "y"
    assert (len(read.pods), len(read.nodes)) == (2, 1)


@pytest.mark.slow
def test_the_standard_input_is_read() -> None:
    program = (
        "from numalet.io.documents.cluster import cluster_dump; r = cluster_dump.load(['-']);"
        "print(sorted(r.nodes), sorted(r.pods))"
    )
    text = kube_lists.kubectl_json([pod("a"), node()])
    run = subprocess.run(
        [sys.executable, "-c", program],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ,
    )
    assert run.stdout == "['n'] ['uid-a']\n"


@pytest.mark.parametrize("name", ["absent.json", "\0"])
def test_a_file_that_can_not_be_read_is_a_finding(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        cluster_dump.load([str(tmp_path / name)])
    assert [each.code for each in caught.value.findings] == ["document/unreadable"]


def test_a_dump_reads_as_what_it_was_written_from(tmp_path: Path) -> None:
    written = ClusterPod(
        pod=read_pod(PODS["init containers"]).pod,
        controller=Controller("Job", "train", "2"),
        tolerations=(Toleration("a", "b", effect=TaintEffect.NO_EXECUTE),),
        created_at_seconds=1_790_000_000.0,
        started_at_seconds=1_790_000_001.0,
    )
    (tmp_path / "d.json").write_text(kube_lists.kubectl_json([kube_lists.pod_object(written)]))
    (read,) = cluster_dump.load([str(tmp_path / "d.json")]).pods.values()
    assert isinstance(read.pod, Pod)
    assert (read.controller, read.tolerations) == (written.controller, written.tolerations)
    assert read.pod.app_containers == written.pod.app_containers
    assert read.started_at_seconds == written.started_at_seconds
