"""Manifests of pods: what is read, what is passed over, what is refused and how."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.pod import ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.pod_manifest import Ignored, LoadedPods, PodOptions
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import Place


def pods_of(text: str, options: PodOptions | None = None) -> tuple[Pod, ...]:
    """The pods of a manifest."""
    return pod_manifest.read_pods(textwrap.dedent(text), "pods.yaml", options or PodOptions()).pods


def findings_of(text: str) -> list[Finding]:
    """What is wrong with a manifest."""
    with pytest.raises(BadInput) as caught:
        pods_of(text)
    return list(caught.value.findings)


def pod_with(resources: dict[str, Any], **metadata: Any) -> str:
    """A pod with one container that has these resources."""
    container = {"name": "app", "image": "i", "resources": resources}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "p", **metadata},
            "spec": {"containers": [container]},
        }
    )


def limited(resources: dict[str, str]) -> tuple[Pod, ...]:
    """Pods with these limits."""
    return pods_of(pod_with({"limits": resources}))


SIDECAR_POD = """
    apiVersion: v1
    kind: Pod
    metadata:
      name: web
      namespace: shop
      uid: 11111111-2222-3333-4444-555555555555
      labels: {app: web}
    spec:
      nodeName: node-1
      overhead: {memory: 120Mi}
      initContainers:
      - name: prepare
        image: i
      - name: proxy
        image: i
        restartPolicy: Always
        resources: {requests: {cpu: 100m}}
      containers:
      - name: app
        image: i
        resources: {limits: {cpu: 2, memory: 1.5Gi}}
    status: {phase: Running, qosClass: Burstable}
"""


def test_a_pod_is_read_with_all_that_concerns_it() -> None:
    (pod,) = pods_of(SIDECAR_POD)
    assert (
        pod.uid,
        pod.namespace,
        pod.name,
    ) == ("11111111-2222-3333-4444-555555555555", "shop", "web")
    assert [(c.name, c.kind) for c in pod.init_containers] == [
        ("prepare", ContainerKind.INIT),
        ("proxy", ContainerKind.SIDECAR),
    ]
    assert [(c.name, c.kind) for c in pod.app_containers] == [("app", ContainerKind.APP)]
    assert {"memory": Quantity.parse("120Mi")} == pod.overhead
    assert (pod.phase, pod.node_name, pod.labels) == ("Running", "node-1", {"app": "web"})


def test_missing_requests_are_taken_from_the_limits() -> None:
    (pod,) = pods_of(pod_with({"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}))
    asked = {name: str(quantity) for name, quantity in pod.app_containers[0].requests.items()}
    assert asked == {"cpu": "1", "memory": "1Gi"}


def test_quantities_go_through_the_api_server() -> None:
    (pod,) = limited({"cpu": "0.0001", "memory": "1.5Gi"})
    read = {name: str(quantity) for name, quantity in pod.app_containers[0].limits.items()}
    assert read == {"cpu": "1m", "memory": "1536Mi"}
    assert pod.app_containers[0].limits["memory"].as_int64() == 1536 * 2**20


@pytest.mark.parametrize(("written", "read"), [(2, "2"), (0.5, "500m"), ("1e3", "1e3")])
def test_bare_numbers_are_quantities_too(written: Any, read: str) -> None:
    assert read == str(limited({"cpu": written})[0].app_containers[0].limits["cpu"])


def test_the_qos_class_is_computed_unless_the_status_says_it() -> None:
    assert limited({"cpu": "1", "memory": "1Gi"})[0].qos_class is QosClass.GUARANTEED
    assert pods_of(SIDECAR_POD)[0].qos_class is QosClass.BURSTABLE
    told = SIDECAR_POD.replace("Burstable", "Guaranteed")
    assert pods_of(told)[0].qos_class is QosClass.GUARANTEED


def test_a_pod_without_uid_gets_the_same_one_every_time() -> None:
    first, second = limited({})[0].uid, limited({})[0].uid
    assert first == second
    assert len(first) == 36
    assert first != pods_of(pod_with({}, namespace="other"))[0].uid


def test_two_pods_of_the_same_name_get_different_uids() -> None:
    one, two = pods_of(pod_with({}) + pod_with({}))
    assert one.uid != two.uid


def test_a_generated_name_is_the_same_every_time() -> None:
    text = pod_with({}).replace('"name": "p"', '"generateName": "web-"')
    name = pods_of(text)[0].name
    assert name.startswith("web-")
    assert name == pods_of(text)[0].name


def test_several_documents_and_lists_are_read_in_order() -> None:
    one, two, three = (
        json.loads(pod_with({}, uid=str(number), name=f"p{number}")) for number in range(3)
    )
    bare = {name: value for name, value in two.items() if name not in ("kind", "apiVersion")}
    listed = {"kind": "List", "items": [one]}, {"kind": "PodList", "items": [bare]}, three
    text = "".join(json.dumps(document) for document in listed)
    assert [pod.name for pod in pods_of(text)] == ["p0", "p1", "p2"]


def test_an_empty_list_has_no_pods() -> None:
    assert pods_of("{kind: PodList, items: null}") == ()
    assert pods_of("{kind: List, items: []}") == ()


def test_finished_pods_and_pods_of_other_nodes_are_counted() -> None:
    def one(name: str, node: str, phase: str) -> str:
        return f"""
        kind: Pod
        metadata: {{name: {name}}}
        spec: {{nodeName: {node}, containers: [{{name: a}}]}}
        status: {{phase: {phase}}}
        """

    text = "---".join(
        [
            one("a", "here", "Running"),
            one("b", "there", "Running"),
            one("c", "here", "Succeeded"),
            one("d", "here", "Failed"),
            one("e", '""', "Pending"),
        ]
    )
    loaded = pod_manifest.read_pods(textwrap.dedent(text), "f", PodOptions(node_name="here"))
    assert [pod.name for pod in loaded.pods] == ["a"]
    assert loaded.ignored == {
        Ignored.FINISHED: 2,
        Ignored.OTHER_NODE: 1,
        Ignored.NOT_SCHEDULED: 1,
    }


WAITING = """
    kind: Pod
    metadata: {name: waiting, uid: w}
    spec: {containers: [{name: a}]}
    status: {phase: Pending}
"""
SEEN = """
    kind: Pod
    metadata: {name: seen}
    spec: {nodeName: here, containers: [{name: a}]}
    status: {phase: Pending}
"""


def listed(*pods: str) -> str:
    """A list of these pods, which are YAML."""
    items = [yaml.safe_load(textwrap.dedent(pod)) for pod in pods]
    return json.dumps({"kind": "List", "items": items})


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        (WAITING, ["waiting"]),
        (f"{WAITING}---{SEEN}", ["seen"]),
        (listed(WAITING), []),
        (listed(WAITING, SEEN), ["seen"]),
        (pod_with({}) + "\n---" + textwrap.dedent(WAITING), ["p", "waiting"]),
    ],
)
def test_a_pod_that_waits_for_a_node_is_read_if_it_is_what_is_asked_about(
    text: str, asked: list[str]
) -> None:
    loaded = pod_manifest.read_pods(textwrap.dedent(text), "f")
    assert [pod.name for pod in loaded.pods] == asked
    assert loaded.waiting == ({"w"} if "waiting" in asked else set())


def test_of_an_input_that_is_asked_about_waiting_pods_are_read() -> None:
    loaded = pod_manifest.read_pods(listed(WAITING, SEEN), "f", PodOptions(about=0))
    assert [pod.name for pod in loaded.pods] == ["waiting", "seen"]


def test_a_rejected_pod_is_asked_about_on_its_own_node_only() -> None:
    rejected = listed(SEEN.replace("Pending", "Failed, reason: TopologyAffinityError"))
    here, there = (
        pod_manifest.read_pods(rejected, "f", PodOptions(about=0, node_name=name))
        for name in ("here", "there")
    )
    assert [pod.name for pod in here.pods] == ["seen"]
    assert there.ignored == {Ignored.OTHER_NODE: 1}


@pytest.mark.parametrize("kind", ["KubeletConfiguration", "KubeletConfig", "JoinConfiguration"])
def test_a_configuration_is_not_a_manifest(kind: str) -> None:
    (finding,) = findings_of(f"{{kind: {kind}}}")
    assert str(finding) == (f"a {kind} configures kubelets and has no pods; pass the file with -c")


def test_objects_without_pods_are_counted() -> None:
    text = "{kind: Service, metadata: {name: s}}\n---\n{kind: ConfigMap}\n---\n" + pod_with({})
    loaded = pod_manifest.read_pods(text, "f")
    assert len(loaded.pods) == 1
    assert loaded.ignored == {Ignored.WITHOUT_PODS: 2}


def test_a_workload_whose_pods_are_there_is_not_expanded() -> None:
    kind = "apiVersion: apps/v1, uid: u, controller: true, kind"
    owner = f"ownerReferences: [{{{kind}: ReplicaSet, name: web-1}}]"
    text = f"""
        kind: List
        items:
        - kind: Pod
          metadata: {{name: web-1-x, {owner}}}
          spec: {{containers: [{{name: a}}]}}
        - kind: Deployment
          metadata: {{name: web}}
          spec: {{template: {{spec: {{containers: [{{name: a}}]}}}}}}
        - kind: ReplicaSet
          metadata:
            name: web-1
            ownerReferences: [{{kind: Deployment, name: web, controller: true}}, 5]
          spec: {{template: {{spec: {{containers: [{{name: a}}]}}}}}}
    """
    loaded = pod_manifest.read_pods(textwrap.dedent(text), "f")
    assert [pod.name for pod in loaded.pods] == ["web-1-x"]
    assert loaded.ignored == {Ignored.HAS_ITS_OWN_PODS: 2}


def test_pods_of_several_nodes_are_refused_without_a_node_name() -> None:
    one = pod_with({}).replace('"containers"', '"nodeName": "n1", "containers"')
    findings = findings_of(one + one.replace("n1", "n2"))
    assert [(f.code, str(f)) for f in findings] == [
        (
            "input/conflict",
            "the pods are on several nodes (n1, n2); choose one with --node-name",
        )
    ]


def test_two_pods_with_one_uid_are_refused() -> None:
    one = pod_with({}, uid="u")
    assert [f.code for f in findings_of(one + one)] == ["input/duplicate"]


@pytest.mark.parametrize(
    ("resources", "code", "path"),
    [
        ({"limits": {"memory": "1.5.Gi"}}, "input/invalid", "limits.memory"),
        ({"limits": {"memory": "1e400"}}, "input/invalid", "limits.memory"),
        ({"limits": {"memory": ""}}, "input/invalid", "limits.memory"),
        ({"limits": {"memory": "-1Gi"}}, "input/invalid", "limits.memory"),
        ({"limits": {"memory": None}}, "document/type", "limits.memory"),
        ({"limits": {"memory": True}}, "document/type", "limits.memory"),
        ({"limits": {"memory": [1]}}, "document/type", "limits.memory"),
        ({"limits": {"memory": 10**300}}, "input/invalid", "limits.memory"),
        ({"limits": {"memroy": "1Gi"}}, "input/not-supported", "limits.memroy"),
        ({"limits": {"hugepages-2Mx": "2Mi"}}, "input/invalid", "limits.hugepages-2Mx"),
        ({"limits": {"hugepages-0": "2Mi"}}, "input/invalid", "limits.hugepages-0"),
        (
            {"limits": {"hugepages-2Mi": "3Mi"}},
            "input/invalid",
            "limits.hugepages-2Mi",
        ),
        ({"limits": {"a.b/c": "500m"}}, "input/invalid", "limits.a.b/c"),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, "input/required", ""),
        ({"requests": {"a.b/c": "1"}}, "input/required", "requests.a.b/c"),
        (
            {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
            "input/invalid",
            "requests.cpu",
        ),
        (
            {"requests": {"a.b/c": "1"}, "limits": {"a.b/c": "2"}},
            "input/invalid",
            "requests.a.b/c",
        ),
        ({"limit": {"cpu": "1"}}, "document/unknown-field", ""),
        ({"limits": ["cpu"]}, "document/type", "limits"),
    ],
)
def test_resources_that_the_api_server_refuses_are_findings(
    resources: dict[str, Any], code: str, path: str
) -> None:
    (finding,) = findings_of(pod_with(resources))
    assert code == finding.code
    place = f"$.spec.containers[0].resources.{path}".rstrip(".")
    assert ("pods.yaml", place) == (finding.where.document, finding.where.path)


def test_findings_of_all_containers_come_at_once_with_their_lines() -> None:
    findings = findings_of("""\
        kind: Pod
        metadata: {name: p}
        spec:
          containers:
          - name: a
            resources:
              limits:
                memory: 1Gb
          - name: b
            resources:
              limits:
                cpu: -1
        """)
    assert [(f.code, f.where.line) for f in findings] == [
        ("input/invalid", 8),
        ("input/invalid", 12),
    ]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", ["input/required"]),
        ("--- \n...\n", ["input/required"]),
        ("5", ["document/type"]),
        ("{kind: Podd}", ["input/not-supported"]),
        ("{metadata: {name: x}}", ["input/not-supported"]),
        ("{kind: PodList, items: 5}", ["document/type"]),
        ("{kind: List, items: [{kind: List, items: []}]}", ["input/not-supported"]),
        ("{kind: List, items: [5]}", ["document/type"]),
        ("{kind: Pod, metadata: {name: p}}", ["pods/no-containers"]),
        ("{kind: Pod, spec: {containers: [{name: a}]}}", ["pods/name-missing"]),
        ("{kind: Pod, metadata: {name: P_1}, spec: {containers: [{name: a}]}}", ["input/invalid"]),
        (
            "{kind: Pod, metadata: {name: p, namespace: a.b}, spec: {containers: [{name: a}]}}",
            ["input/invalid"],
        ),
        ("{kind: Pod, metadata: {name: p}, spec: {containers: [{}]}}", ["pods/name-missing"]),
        ("{kind: Pod, metadata: {name: p}, spec: {containers: [{name: A}]}}", ["input/invalid"]),
        ("{kind: Pod, metadata: {name: p}, spec: {containers: [5]}}", ["document/type"]),
        ("{kind: Pod, metadata: {name: 5}, spec: {containers: [{name: a}]}}", ["document/type"]),
        ("{kind: Pod, metadata: 5, spec: {containers: [{name: a}]}}", ["document/type"]),
        (
            "{kind: Pod, metadata: {name: p, labels: {a: 1}}, spec: {containers: [{name: a}]}}",
            ["document/type"],
        ),
        (
            "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}, {name: a}]}}",
            ["input/duplicate"],
        ),
        (
            "{kind: Pod, metadata: {name: p}, spec: {initContainers: "
            "[{name: i, restartPolicy: Never}], containers: [{name: a}]}}",
            ["input/not-supported"],
        ),
        (
            "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}, "
            "status: {phase: Asleep, qosClass: Best}}",
            ["input/not-supported", "input/not-supported"],
        ),
        (
            "{kind: Pod, metadata: {name: p}, spec: {contaners: [], containers: [{name: a}]}}",
            ["document/unknown-field"],
        ),
        (
            "{kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, resource: {}}]}}",
            ["document/unknown-field"],
        ),
        ("{kind: Pod, spek: {}, metadata: {name: p}, spec: {containers: [{name: a}]}}",
         ["document/unknown-field"]),
        (
            "{kind: Pod, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a}]}}",
            ["document/duplicate-key"],
        ),
        ("{kind: Pod, spec: [", ["document/syntax"]),
    ],
)  # fmt: skip
def test_a_broken_manifest_is_refused(text: str, codes: list[str]) -> None:
    assert codes == [finding.code for finding in findings_of(text)]


def test_a_pod_from_a_server_may_have_members_of_a_newer_release() -> None:
    text = pod_with({}, resourceVersion="5").replace('"spec": {', '"spec": {"new": 1, ')
    loaded = pod_manifest.read_pods(text, "f")
    assert [(note.code, note.severity) for note in loaded.notes] == [
        ("document/unknown-field", Severity.WARNING)
    ]


def test_resources_of_the_whole_pod_do_not_change_its_class_yet() -> None:
    text = pod_with({}).replace('"spec": {', '"spec": {"resources": {"limits": {"cpu": "1"}}, ')
    (pod,) = pod_manifest.read_pods(text, "f").pods
    assert pod.qos_class is QosClass.BEST_EFFORT
    assert pod.pod_level is not None
    assert (pod.pod_level.qos_class, pod.pod_level.count) == (QosClass.BURSTABLE, False)


def test_what_the_api_server_fills_in_for_a_whole_pod_is_filled_in() -> None:
    container = {
        "requests": {"cpu": "1", "hugepages-2Mi": "4Mi"},
        "limits": {"hugepages-2Mi": "4Mi"},
    }
    whole = '"spec": {"resources": {"limits": {"cpu": "4", "memory": "1Gi"}}, '
    text = pod_with(container).replace('"spec": {', whole)
    (pod,) = pod_manifest.read_pods(text, "f").pods

    assert pod.pod_level is not None
    requests = {name: str(amount) for name, amount in pod.pod_level.requests.items()}
    assert requests == {"cpu": "1", "hugepages-2Mi": "4Mi", "memory": "1Gi"}
    assert str(pod.pod_level.limits["hugepages-2Mi"]) == "4Mi"


@pytest.mark.parametrize(
    ("resources", "codes"),
    [
        ('{"limits": {"example.com/gpu": "1"}}', ["input/not-supported"]),
        ('{"limits": {"cpu": "x"}}', ["input/invalid"]),
        ('{"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}', ["input/invalid"]),
        ('{"requests": {"memory": -1}}', ["input/invalid"]),
    ],
)
def test_bad_resources_of_a_whole_pod_are_refused(resources: str, codes: list[str]) -> None:
    text = pod_with({}).replace('"spec": {', f'"spec": {{"resources": {resources}, ')
    assert [finding.code for finding in findings_of(text)] == codes


def test_what_a_status_says_was_allocated_is_read() -> None:
    entry = {"name": "a", "image": "x", "imageID": "x"}
    status = {"containerStatuses": [{**entry, "allocatedResources": {"cpu": "1"}}, "b", entry]}
    text = json.dumps({**json.loads(pod_with({}, resourceVersion="5")), "status": status})

    assert [finding.code for finding in findings_of(text)] == ["document/type"]
    status["containerStatuses"].remove("b")
    text = json.dumps({**json.loads(pod_with({}, resourceVersion="5")), "status": status})
    (pod,) = pod_manifest.read_pods(text, "f").pods
    assert pod.allocated is not None
    assert {name: str(amount) for name, amount in pod.allocated.containers["a"].items()} == {
        "cpu": "1"
    }


def test_files_are_read_in_order_and_all_their_findings_come_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(pod_with({}, uid="a"))
    (tmp_path / "b.json").write_text(pod_with({}, uid="b"))
    paths = [str(tmp_path / "b.json"), str(tmp_path / "a.yaml")]
    assert [pod.uid for pod in pod_manifest.load_pods(paths).pods] == ["b", "a"]
    (tmp_path / "a.yaml").write_text("{kind: Podd}")
    with pytest.raises(BadInput) as caught:
        pod_manifest.load_pods([str(tmp_path / "missing"), *paths])
    assert [f.code for f in caught.value.findings] == ["document/unreadable", "input/not-supported"]


def test_a_single_file_needs_no_list(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(pod_with({}, uid="a"))
    for given in (str(path), path, [path]):
        assert [pod.uid for pod in pod_manifest.load_pods(given).pods] == ["a"]


def test_a_pod_of_a_scenario_is_decoded_alone() -> None:
    place = Place("s.jsonl", "$.steps[0].admit")
    pod = pod_manifest.decode_pod(json.loads(pod_with({}, uid="x")), place)
    assert pod.uid == "x"
    with pytest.raises(BadInput) as caught:
        pod_manifest.decode_pod({"spec": 5}, place)
    assert [f.where.path for f in caught.value.findings] == ["$.steps[0].admit.spec"]


def test_every_finding_has_a_sentence_that_shows_its_fields() -> None:
    texts = [
        pod_with({"limits": {"memory": "1.5.Gi", "memroy": "1", "a.b/c": "0.5"}}),
        "{kind: Podd}",
        "{kind: Pod, spec: 5, extra: 1}",
    ]
    for text in texts:
        for finding in findings_of(text):
            sentence = str(finding)
            assert sentence
            shown = finding.fields.get("value") or finding.fields.get("name")
            assert shown is None or str(shown) in sentence


def test_values_that_no_document_holds_are_findings_too() -> None:
    def paths(value: object) -> list[tuple[str, str]]:
        with pytest.raises(BadInput) as caught:
            pod_manifest.decode_pod(value, Place("s"))
        return [(f.where.path, f.fields["got"]) for f in caught.value.findings]

    container = {"name": "a", "resources": {"limits": {5: "1"}}}
    metadata = {"name": "p"}
    assert paths(5) == [("$", "5")]
    assert paths({"metadata": metadata, "spec": {"containers": [container]}}) == [
        ("$.spec.containers[0].resources.limits", "5")
    ]
    assert paths(
        {"metadata": metadata, "spec": {"containers": [{"name": "a"}], "overhead": {5: 1}}}
    ) == [("$.spec.overhead", "5")]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        (2**200, "a number of 201 bits"),
        ("x" * 70, "'" + "x" * 56 + "..."),
        ({}, "an object"),
        ([], "a list"),
        ({1}, "a set"),
    ],
)
def test_any_value_can_be_described(value: object, text: str) -> None:
    assert typed.described(value) == text


@pytest.mark.parametrize("name", ["a..b", "a.-b", "a-.b", ".a", "a.", "a.b\n"])
def test_every_part_of_a_name_begins_and_ends_with_a_letter_or_digit(name: str) -> None:
    assert [f.code for f in findings_of(pod_with({}, name=name))] == ["input/invalid"]


def test_a_name_may_have_parts() -> None:
    assert pods_of(pod_with({}, name="a-1.b.c"))[0].name == "a-1.b.c"


def _listed(name: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "uid": name, "namespace": "default", **more.pop("metadata", {})}
    spec = {"containers": [{"name": "c", "image": "x"}], "nodeName": "n", **more.pop("spec", {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, **more}


def _run(*pods: dict[str, Any]) -> LoadedPods:
    """The pods that a kubelet sees again, of two inputs."""
    inputs = [
        (
            name,
            yaml_source.load_documents(
                json.dumps({"apiVersion": "v1", "kind": "List", "items": each}), name
            ),
        )
        for name, each in (("one", pods[:1]), ("two", pods[1:]))
    ]
    return pod_manifest.pods_of(inputs, PodOptions(run=True))


def test_pods_that_are_seen_again_come_in_the_order_of_their_creation() -> None:
    first, second, third = (
        {"metadata": {"creationTimestamp": f"2026-01-0{day}T00:00:00Z"}} for day in (1, 2, 3)
    )
    late = {"status": {"phase": "Running", "startTime": "2026-01-09T00:00:00Z"}}
    read = _run(
        _listed("c", **third), _listed("x"), _listed("a", **first, **late), _listed("b", **second)
    )

    assert [pod.name for pod in read.pods] == ["a", "x", "b", "c"]


def test_pods_that_no_kubelet_sees_again_are_passed_over() -> None:
    rejected = {"status": {"phase": "Failed", "reason": "TopologyAffinityError"}}
    pending = {"status": {"phase": "Pending"}}
    read = _run(
        _listed("rejected", **rejected),
        _listed("unscheduled", spec={"nodeName": ""}, **pending),
        _listed("starting", **pending),
    )

    assert [pod.name for pod in read.pods] == ["starting"]
    assert read.ignored == {Ignored.FINISHED: 1, Ignored.NOT_SCHEDULED: 1}


def test_a_mirror_pod_that_is_seen_again_is_its_static_pod() -> None:
    mirror = {"annotations": {"kubernetes.io/config.mirror": "0123"}}
    read = _run(_listed("static", metadata=mirror), _listed("other"))

    assert [pod.uid for pod in read.pods] == ["0123", "other"]
    assert [pod.is_static for pod in read.pods] == [True, False]


def test_the_status_says_which_containers_run() -> None:
    said = [
        {"name": "a", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}},
        {"name": "b", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
        {"name": "c", "state": {}},
        {"name": "d"},
        {"state": {"running": {}}},
    ]
    init = [{"name": "i", "state": {"terminated": {"exitCode": 0}}}]
    status = {"phase": "Running", "containerStatuses": said, "initContainerStatuses": init}
    (pod,) = _run(_listed("p", status=status)).pods

    assert pod.allocated is not None
    assert pod.allocated.running == {"i": False, "a": True, "b": False, "c": False}
