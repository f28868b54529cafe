"""Manifests as the agent reads them: programs, ids, defaults, and what is said of the rest."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.model.findings import Finding, Findings, Severity
from numalet.core.model.pod import ContainerKind, QosClass
from numalet.core.workload.spec import RestartPolicy, Workload, WorkloadSource
from numalet.io.documents.pods.workload import (
    LONGEST_GRACE_SECONDS,
    Programs,
    WorkloadOptions,
    decode_workload,
)
from numalet.io.documents.text.typed import Place

PLACE = Place("pod.yaml")
PLAIN = WorkloadOptions()


def manifest(spec: dict[str, Any] | None = None, **container: Any) -> dict[str, Any]:
    """A pod with one container that sleeps."""
    one = {"name": "app", "command": ["sleep", "1"], **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [one], **(spec or {})},
    }


def with_metadata(**metadata: Any) -> dict[str, Any]:
    """The same pod with other metadata."""
    return {**manifest(), "metadata": {"name": "web", **metadata}}


def read(
    value: object, options: WorkloadOptions = PLAIN
) -> tuple[Workload | None, tuple[Finding, ...]]:
    """The workload and everything that was found."""
    findings = Findings()
    workload = decode_workload(value, PLACE, options, findings)
    for finding in findings.all:
        assert finding.located
    return workload, findings.all


def workload_of(value: object, options: WorkloadOptions = PLAIN) -> Workload:
    """The workload of a good manifest."""
    workload, findings = read(value, options)
    assert workload is not None, findings
    return workload


def errors_of(value: object) -> list[tuple[str, str]]:
    """Codes and paths of what refuses the manifest."""
    workload, findings = read(value)
    assert workload is None
    return [(f.code, f.where.path) for f in findings if f.severity is Severity.ERROR]


def test_a_plain_pod_is_read_whole() -> None:
    workload = workload_of(
        manifest(
            {
                "restartPolicy": "OnFailure",
                "terminationGracePeriodSeconds": 5,
                "priorityClassName": "system-node-critical",
                "initContainers": [
                    {"name": "first", "command": ["true"]},
                    {"name": "side", "command": ["cat"], "restartPolicy": "Always"},
                ],
            },
            args=["--now"],
            workingDir="/srv",
            env=[{"name": "A", "value": "1"}, {"name": "B"}],
        )
    )
    first, side, app = workload.containers
    assert [c.kind for c in workload.containers] == [
        ContainerKind.INIT,
        ContainerKind.SIDECAR,
        ContainerKind.APP,
    ]
    assert (first.command, side.command) == (("true",), ("cat",))
    assert (app.command, app.args, app.working_dir) == (("sleep", "1"), ("--now",), "/srv")
    assert app.env == (("A", "1"), ("B", ""))
    assert workload.restart_policy is RestartPolicy.ON_FAILURE
    assert (workload.grace_period_seconds, workload.priority_class) == (5, "system-node-critical")
    assert workload.container("app") is app


def test_what_is_not_said_has_kubernetes_defaults() -> None:
    workload = workload_of(manifest())
    assert workload.restart_policy is RestartPolicy.ALWAYS
    assert workload.grace_period_seconds == 30
    assert workload.source is WorkloadSource.API
    spec = workload.manifest["spec"]
    assert spec["restartPolicy"] == "Always"
    assert spec["terminationGracePeriodSeconds"] == 30
    assert spec["containers"][0]["terminationMessagePolicy"] == "File"
    assert spec["containers"][0]["resources"] == {}
    assert workload.manifest["metadata"] == {
        "name": "web",
        "namespace": "default",
        "uid": workload.uid,
    }


def test_requests_come_from_limits_in_canonical_form() -> None:
    limits = {"cpu": "2000m", "memory": "1024Mi"}
    workload = workload_of(manifest(resources={"limits": limits}))
    shown = workload.manifest["spec"]["containers"][0]["resources"]
    assert shown == {
        "limits": {"cpu": "2", "memory": "1Gi"},
        "requests": {"cpu": "2", "memory": "1Gi"},
    }
    assert workload.pod.qos_class is QosClass.GUARANTEED


def test_what_servers_keep_is_not_believed() -> None:
    value = manifest()
    value["status"] = {"phase": "Running", "qosClass": "Guaranteed"}
    value["metadata"] |= {"resourceVersion": "7", "creationTimestamp": None, "managedFields": []}
    workload = workload_of(value)
    assert workload.pod.qos_class is QosClass.BEST_EFFORT
    assert "status" not in workload.manifest
    assert set(workload.manifest["metadata"]) == {"name", "namespace", "uid"}


def test_the_manifest_that_was_given_stays_as_it_is() -> None:
    value = manifest(image="web")
    before = repr(value)
    workload_of(value, WorkloadOptions(node_name="n1"))
    assert repr(value) == before


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("web", "Always"),
        ("host:5000/web", "Always"),
        ("web:latest", "Always"),
        ("web:1.2", "IfNotPresent"),
        ("web@sha256:00", "IfNotPresent"),
    ],
)
def test_the_pull_policy_shown_is_the_one_of_the_image(image: str, policy: str) -> None:
    workload = workload_of(manifest(image=image))
    assert workload.manifest["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_options_fill_in_who_the_pod_is() -> None:
    options = WorkloadOptions(
        source=WorkloadSource.FILE,
        origin="/etc/p/web.yaml",
        uid="u1",
        namespace="shop",
        node_name="n1",
    )
    workload = workload_of(manifest(), options)
    assert (workload.uid, workload.pod.namespace) == ("u1", "shop")
    assert (workload.source, workload.origin) == (WorkloadSource.FILE, "/etc/p/web.yaml")
    assert workload.manifest["spec"]["nodeName"] == "n1"


def test_what_the_manifest_says_of_itself_wins() -> None:
    options = WorkloadOptions(uid="u1", namespace="shop")
    workload = workload_of(with_metadata(uid="mine", namespace="ops"), options)
    assert (workload.uid, workload.pod.namespace) == ("mine", "ops")


def test_references_to_variables_are_replaced() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)2"}]
    workload = workload_of(manifest(env=env, command=["x", "$(B)"], args=["$(C)", "$$(A)"]))
    app = workload.container("app")
    assert app.env == (("A", "1"), ("B", "12"))
    assert (app.command, app.args) == (("x", "12"), ("$(C)", "$(A)"))


def test_the_container_says_more_than_the_pod_about_ids() -> None:
    pod_says = {"securityContext": {"runAsUser": 1000, "runAsGroup": 2000}}
    app = workload_of(manifest(pod_says, securityContext={"runAsUser": 7})).container("app")
    assert (app.run_as_user, app.run_as_group) == (7, 2000)
    nobody = workload_of(manifest()).container("app")
    assert (nobody.run_as_user, nobody.run_as_group) == (None, None)


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"securityContext": {"runAsUser": -1}}, "$.spec.securityContext.runAsUser"),
        ({"securityContext": {"runAsGroup": 2**31}}, "$.spec.securityContext.runAsGroup"),
    ],
)
def test_an_id_out_of_range_is_found_where_it_stands(spec: dict[str, Any], path: str) -> None:
    assert errors_of(manifest(spec)) == [("input/invalid", path)]


@pytest.mark.parametrize("user", [None, 0])
def test_a_promise_not_to_run_as_root_is_kept(user: int | None) -> None:
    context = {"runAsNonRoot": True, "runAsUser": user}
    path = "$.spec.containers[0].securityContext.runAsNonRoot"
    assert errors_of(manifest(securityContext=context)) == [("input/forbidden", path)]


def test_another_user_keeps_the_promise_too() -> None:
    pod_says = {"securityContext": {"runAsNonRoot": True}}
    app = workload_of(manifest(pod_says, securityContext={"runAsUser": 5})).container("app")
    assert app.run_as_user == 5


@pytest.mark.parametrize(
    ("container", "code", "member"),
    [
        ({"command": None}, "input/required", ""),
        ({"command": ["a\0b"]}, "input/invalid", ".command[0]"),
        ({"args": ["a", "\0"]}, "input/invalid", ".args[1]"),
        ({"workingDir": "srv"}, "input/invalid", ".workingDir"),
        ({"workingDir": "/s\0"}, "input/invalid", ".workingDir"),
        ({"env": [{"name": "1A"}]}, "input/invalid", ".env[0].name"),
        ({"env": [{"name": "A=B"}]}, "input/invalid", ".env[0].name"),
        ({"env": [{"name": "A", "value": "\0"}]}, "input/invalid", ".env[0].value"),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]},
            "input/not-supported",
            ".env[0].valueFrom",
        ),
        ({"envFrom": [{"secretRef": {"name": "s"}}]}, "input/not-supported", ".envFrom"),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            "input/not-supported",
            ".volumeMounts",
        ),
        (
            {"volumeDevices": [{"name": "v", "devicePath": "/v"}]},
            "input/not-supported",
            ".volumeDevices",
        ),
        ({"lifecycle": {"preStop": {}}}, "input/not-supported", ".lifecycle"),
        ({"restartPolicy": "Never"}, "input/not-supported", ".restartPolicy"),
        (
            {"restartPolicyRules": [{"action": "Restart"}]},
            "input/not-supported",
            ".restartPolicyRules",
        ),
        (
            {"resources": {"claims": [{"name": "c"}]}},
            "input/not-supported",
            ".resources.claims",
        ),
        ({"command": "sleep 1"}, "document/type", ".command"),
    ],
)
def test_a_container_that_can_not_be_run_as_meant_is_refused(
    container: dict[str, Any], code: str, member: str
) -> None:
    assert errors_of(manifest(**container)) == [(code, f"$.spec.containers[0]{member}")]


@pytest.mark.parametrize(
    ("spec", "code", "member"),
    [
        ({"activeDeadlineSeconds": 5}, "input/not-supported", "activeDeadlineSeconds"),
        (
            {"ephemeralContainers": [{"name": "e"}]},
            "input/not-supported",
            "ephemeralContainers",
        ),
        ({"resourceClaims": [{"name": "c"}]}, "input/not-supported", "resourceClaims"),
        ({"schedulingGates": [{"name": "g"}]}, "input/not-supported", "schedulingGates"),
        ({"os": {"name": "windows"}}, "input/not-supported", "os.name"),
        ({"restartPolicy": "Sometimes"}, "input/invalid", "restartPolicy"),
        (
            {"terminationGracePeriodSeconds": -1},
            "input/invalid",
            "terminationGracePeriodSeconds",
        ),
        (
            {"terminationGracePeriodSeconds": LONGEST_GRACE_SECONDS + 1},
            "input/invalid",
            "terminationGracePeriodSeconds",
        ),
        ({"terminationGracePeriodSeconds": "30"}, "document/type", "terminationGracePeriodSeconds"),
    ],
)
def test_a_pod_that_can_not_be_run_as_meant_is_refused(
    spec: dict[str, Any], code: str, member: str
) -> None:
    assert errors_of(manifest(spec)) == [(code, f"$.spec.{member}")]


@pytest.mark.parametrize(
    "uid", ["a_b", "a/b", "..", "a..b", ".a", "-a", "a\n", "u" * 254, "u" * 10_000, "ü"]
)
def test_a_uid_that_may_not_become_a_path_is_refused(uid: str) -> None:
    assert errors_of(with_metadata(uid=uid)) == [("input/invalid", "$.metadata.uid")]


@pytest.mark.parametrize("uid", ["686565e5-e21f-4614-ada7-8a3089bec100", "u" * 253, "a.b", "A"])
def test_an_ordinary_uid_is_taken(uid: str) -> None:
    assert workload_of(with_metadata(uid=uid)).uid == uid


@pytest.mark.parametrize(
    "name", ["", "a b", "-a", "a-", "ü", "a/b/c", "/a", "a/", "UPPER/a", "a" * 64, f"{'a' * 254}/b"]
)
def test_a_label_that_no_cluster_takes_is_refused(name: str) -> None:
    for member in ("labels", "annotations"):
        if member == "labels" or name != "UPPER/a":
            [(code, _)] = errors_of(with_metadata(**{member: {name: "x"}}))
            assert code == "input/invalid"


@pytest.mark.parametrize("value", ["a b", "-a", "a/b", "ü", "a" * 64])
def test_the_value_of_a_label_is_a_word(value: str) -> None:
    assert errors_of(with_metadata(labels={"a": value})) == [
        ("input/invalid", "$.metadata.labels.a")
    ]


def test_ordinary_labels_and_annotations_are_taken() -> None:
    names = {"app": "web", "example.com/tier_1": "", "a" * 63: "A.b-c_1"}
    assert workload_of(with_metadata(labels=names)).pod.labels == names
    notes = {"Example.com/Note": "any text\nat all", "b": "x" * (256 * 1024 - 100)}
    assert (
        workload_of(with_metadata(annotations=notes)).manifest["metadata"]["annotations"] == notes
    )
    [(code, path)] = errors_of(with_metadata(annotations={"b": "x" * (256 * 1024)}))
    assert (code, path) == ("input/too-large", "$.metadata.annotations")


@pytest.mark.parametrize("name", ["../etc", "a/b", "n" * 10_000, "A", ""])
def test_a_name_that_may_not_become_a_path_is_refused(name: str) -> None:
    value = {**manifest(), "metadata": {"name": name}}
    [(_, path)] = errors_of(value)
    assert path == "$.metadata.name"
    [(_, path)] = errors_of(manifest(name=name))
    assert path.startswith("$.spec.containers[0]")


def test_other_kinds_are_refused() -> None:
    assert errors_of({**manifest(), "kind": "Service", "apiVersion": "v2"}) == [
        ("input/not-supported", "$.kind"),
        ("input/not-supported", "$.apiVersion"),
    ]
    assert errors_of([]) == [("document/type", "$")]


def test_annotations_are_texts() -> None:
    value = with_metadata(annotations={"a": 1})
    assert [code for code, _ in errors_of(value)] == ["document/type"]
    shown = workload_of(with_metadata(annotations={"a": "1"})).manifest
    assert shown["metadata"]["annotations"] == {"a": "1"}


def test_everything_ignored_is_named_once_for_the_pod() -> None:
    containers = [
        {"name": name, "image": "i", "command": ["x"], "ports": [{"containerPort": 1}]}
        for name in ("a", "b")
    ]
    spec = {"containers": containers, "volumes": [{"name": "v"}], "hostNetwork": True}
    _, findings = read(manifest(spec))
    [note] = findings
    assert (note.code, note.severity) == ("input/ignored", Severity.NOTE)
    assert str(note).endswith(": image, volumes")


def _named(finding: Finding) -> str:
    """The fields that a warning names: first for a probe, else behind the colon."""
    not_enforced = (
        "not enforced, because the program runs on the host without a container around it"
    )
    return str(finding).partition(" is not run; ")[0].removeprefix(f"{not_enforced}: ")


def test_health_and_protection_that_are_missing_are_warned_of() -> None:
    context = {"runAsUser": 5, "readOnlyRootFilesystem": True, "capabilities": {}}
    value = manifest(
        {"hostUsers": False, "securityContext": {"fsGroup": 5}},
        securityContext=context,
        readinessProbe={"exec": {"command": ["true"]}},
    )
    _, findings = read(value)
    assert {f.severity for f in findings} == {Severity.WARNING}
    assert [(f.code, _named(f)) for f in findings] == [
        ("input/ignored", "fsGroup"),
        ("input/ignored", "hostUsers: false"),
        ("input/ignored", "readinessProbe"),
        ("input/ignored", "readOnlyRootFilesystem"),
    ]


def test_a_pod_for_linux_is_nothing_to_speak_of() -> None:
    assert read(manifest({"os": {"name": "linux"}}))[1] == ()


def test_a_runtime_with_programs_of_its_own_needs_no_command() -> None:
    value = manifest(command=None, image="i")
    options = WorkloadOptions(programs=Programs.RUNTIME)
    workload, findings = read(value, options)
    assert workload is not None
    assert findings == ()
    assert workload.container("app").image == "i"


def test_args_alone_are_a_program() -> None:
    app = workload_of(manifest(command=None, args=["sleep", "1"])).container("app")
    assert (app.command, app.args) == ((), ("sleep", "1"))


def test_a_spec_of_the_wrong_shape_is_one_finding() -> None:
    assert errors_of(manifest({"securityContext": []})) == [
        ("document/type", "$.spec.securityContext")
    ]


@pytest.mark.parametrize("value", [2**64, float("inf"), "\ud800", object()])
def test_a_value_that_no_file_can_keep_is_found(value: object) -> None:
    context = {"x": [value]}
    assert errors_of(manifest({"affinity": context})) == [
        ("input/not-supported", "$.spec.affinity.x[0]")
    ]


def test_a_name_that_no_file_can_keep_is_found() -> None:
    assert errors_of(manifest({"affinity": {1: "x"}})) == [
        ("input/not-supported", "$.spec.affinity.1")
    ]


def test_values_that_a_file_can_keep_are_kept() -> None:
    value = with_metadata(annotations={"a": "ü"})
    value["spec"]["tolerations"] = [{"key": None, "tolerationSeconds": -(2**63)}]
    made = workload_of(value).manifest
    assert made["spec"]["tolerations"] == value["spec"]["tolerations"]
    assert made["metadata"]["annotations"] == {"a": "ü"}
