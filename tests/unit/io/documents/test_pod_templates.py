"""Pods that a workload would make of its template."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from numalet.core.model.findings import BadInput, Severity
from numalet.core.model.pod import Pod
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.pod_manifest import PodOptions

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}, "name": "ignored", "uid": "ignored"},
    "spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1"}}}]},
}


def workload(kind: str, **spec: Any) -> str:
    """The manifest of a workload."""
    value = {
        "kind": kind,
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": TEMPLATE, **spec},
    }
    return yaml.safe_dump(value)


def pods_of(text: str) -> tuple[Pod, ...]:
    """The pods of a manifest."""
    return pod_manifest.read_pods(text, "f.yaml").pods


def codes_of(text: str) -> list[tuple[str, str]]:
    """Codes and paths of what is wrong."""
    with pytest.raises(BadInput) as caught:
        pods_of(text)
    return [(finding.code, finding.where.path) for finding in caught.value.findings]


@pytest.mark.parametrize(
    ("kind", "spec", "names"),
    [
        ("Deployment", {"replicas": 2}, [r"web-\w{10}-\w{5}"] * 2),
        ("Deployment", {}, [r"web-\w{10}-\w{5}"]),
        ("Deployment", {"replicas": None}, [r"web-\w{10}-\w{5}"]),
        ("Deployment", {"replicas": 0}, []),
        ("ReplicaSet", {"replicas": 3}, [r"web-\w{5}"] * 3),
        ("ReplicationController", {"replicas": 1}, [r"web-\w{5}"]),
        ("StatefulSet", {"replicas": 2}, ["web-0", "web-1"]),
        ("StatefulSet", {"replicas": 2, "ordinals": {"start": 4}}, ["web-4", "web-5"]),
        ("StatefulSet", {"ordinals": {}}, ["web-0"]),
        ("DaemonSet", {}, [r"web-\w{5}"]),
        ("Job", {}, [r"web-\w{5}"]),
        ("Job", {"parallelism": 3, "completions": 2}, [r"web-\w{5}"] * 2),
        ("Job", {"parallelism": 2, "completionMode": "Indexed"}, [r"web-0-\w{5}", r"web-1-\w{5}"]),
        ("Job", {"parallelism": 3, "suspend": True}, []),
    ],
)
def test_a_workload_makes_its_replicas(kind: str, spec: dict[str, Any], names: list[str]) -> None:
    pods = pods_of(workload(kind, **spec))
    assert len(names) == len(pods)
    for pattern, pod in zip(names, pods, strict=True):
        assert re.fullmatch(pattern, pod.name)
        assert (pod.namespace, pod.labels) == ("shop", {"app": "web"})
    assert len({pod.uid for pod in pods}) == len({pod.name for pod in pods}) == len(pods)
    assert pods == pods_of(workload(kind, **spec))


def test_a_cron_job_makes_the_pods_of_one_run() -> None:
    job = {"spec": {"parallelism": 2, "template": TEMPLATE}}
    value = {"kind": "CronJob", "metadata": {"name": "web"}, "spec": {"jobTemplate": job}}
    pods = pods_of(yaml.safe_dump(value))
    assert all(re.fullmatch(r"web-0-\w{5}", pod.name) for pod in pods)
    assert len(pods) == 2
    value["spec"] = {"jobTemplate": job, "suspend": True}
    assert pods_of(yaml.safe_dump(value)) == ()


def test_a_long_name_is_cut_as_kubernetes_does() -> None:
    text = workload("ReplicaSet").replace("name: web", "name: " + "w" * 70)
    assert len(pods_of(text)[0].name) == 63


def test_a_workload_of_another_node_is_passed_over() -> None:
    text = workload("DaemonSet").replace("containers:", "nodeName: there\n      containers:")
    assert pod_manifest.read_pods(text, "f", PodOptions(node_name="here")).pods == ()
    assert len(pod_manifest.read_pods(text, "f", PodOptions(node_name="there")).pods) == 1


def test_findings_in_a_template_name_their_place_once() -> None:
    text = workload("Deployment", replicas=5).replace("cpu: '1'", "cpu: 1x")
    path = "$.spec.template.spec.containers[0].resources.limits.cpu"
    assert [("input/invalid", path)] == codes_of(text)


@pytest.mark.parametrize(
    ("text", "code", "path"),
    [
        (workload("Deployment", replicas=-1), "input/invalid", "$.spec"),
        (workload("Deployment", replicas=10**9), "input/invalid", "$.spec"),
        (workload("Deployment", replicas="two"), "document/type", "$.spec.replicas"),
        (workload("Deployment", template=None), "input/required", "$.spec"),
        (workload("Deployment", template=5), "document/type", "$.spec.template"),
        ("{kind: Job, metadata: {name: a}, spec: 5}", "document/type", "$.spec"),
        ("{kind: Job, metadata: 5, spec: {}}", "document/type", "$.metadata"),
        ("{kind: Job, spec: {template: {}}}", "pods/name-missing", "$.metadata.name"),
        ("{kind: CronJob, metadata: {name: a}, spec: 5}", "document/type", "$.spec"),
        (
            "{kind: CronJob, metadata: {name: a}, spec: {jobTemplate: {spec: 5}}}",
            "document/type",
            "$.spec.jobTemplate.spec",
        ),
        (
            "{kind: Job, metadata: {name: a}, spec: {template: {metadata: 5, spec: "
            "{containers: [{name: a}]}}}}",
            "document/type",
            "$.spec.template.metadata",
        ),
    ],
)
def test_a_broken_workload_is_refused(text: str, code: str, path: str) -> None:
    assert [(code, path)] == codes_of(text)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Deployment", "$"),
        ("Deployment", "$.metadata"),
        ("Deployment", "$.spec"),
        ("Deployment", "$.spec.template"),
        ("Deployment", "$.spec.template.metadata"),
        ("Deployment", "$.spec.template.spec"),
        ("Deployment", "$.spec.strategy"),
        ("StatefulSet", "$.spec.ordinals"),
        ("CronJob", "$.spec.jobTemplate"),
        ("CronJob", "$.spec.jobTemplate.spec"),
    ],
)
def test_a_field_that_there_is_not_is_found_wherever_it_is(kind: str, path: str) -> None:
    value = yaml.safe_load(workload(kind))
    if kind == "CronJob":
        value["spec"] = {"jobTemplate": {"spec": value["spec"]}}
    place = value
    for name in path.split(".")[1:]:
        place = place.setdefault(name, {})
    place["lables"] = {"a": "b"}
    assert codes_of(yaml.safe_dump(value)) == [("document/unknown-field", path)]
    # Of a workload that a server has it may be a field of a newer release.
    value["metadata"]["resourceVersion"] = "7"
    loaded = pod_manifest.read_pods(yaml.safe_dump(value), "f.yaml")
    assert [(each.code, each.severity) for each in loaded.notes] == [
        ("document/unknown-field", Severity.WARNING)
    ]
    assert len(loaded.pods) == 1


def test_a_status_in_a_template_makes_nothing_a_warning() -> None:
    template = {**TEMPLATE, "status": {"phase": "Running"}}
    template["spec"] = {**TEMPLATE["spec"], "lables": {}}
    assert codes_of(workload("Deployment", template=template)) == [
        ("document/unknown-field", "$.spec.template")
    ]


@pytest.mark.parametrize(
    ("kind", "version"), [("Pod", "v2"), ("Deployment", "v1"), ("Job", "apps/v1")]
)
def test_a_version_in_which_there_is_no_such_kind_is_refused(kind: str, version: str) -> None:
    value = yaml.safe_load(workload(kind)) | {"apiVersion": version}
    if kind == "Pod":
        value["spec"] = TEMPLATE["spec"]
    assert codes_of(yaml.safe_dump(value)) == [("input/invalid", "$.apiVersion")]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{kind: List, itemz: []}", ["document/unknown-field", "document/field-missing"]),
        ("{kind: PodList, item: []}", ["document/unknown-field", "document/field-missing"]),
        ("{kind: List}", ["document/field-missing"]),
        ("{kind: List, items: [], itemz: [{kind: Pod}]}", ["document/unknown-field"]),
    ],
)
def test_a_list_whose_items_are_misspelt_is_not_an_empty_one(text: str, found: list[str]) -> None:
    assert [code for code, _ in codes_of(text)] == found


def test_the_place_of_a_pod_is_its_template() -> None:
    job = {"template": TEMPLATE}
    cron = yaml.safe_dump(
        {
            "kind": "CronJob",
            "metadata": {"name": "night"},
            "spec": {"jobTemplate": {"spec": job}},
        }
    )
    listed = {"kind": "List", "items": [yaml.safe_load(workload("Job"))]}
    text = "---\n".join([workload("DaemonSet"), cron, yaml.safe_dump(listed)])
    loaded = pod_manifest.read_pods(text, "f.yaml")
    assert [loaded.places[pod.uid].path for pod in loaded.pods] == [
        "$.spec.template",
        "$.spec.jobTemplate.spec.template",
        "$.items[0].spec.template",
    ]
    first = loaded.places[loaded.pods[0].uid].below(".spec.containers[0]")
    assert (first.document, first.line) == (
        "f.yaml",
        1 + workload("DaemonSet").splitlines().index("      - name: a"),
    )
