"""``numalet doctor cluster`` on a real API server: what is missing, and that its fixes fix it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from cluster import manifests, static_pods
from numalet.core.cluster import classes, published
from numalet.core.config.releases.versions import MinorVersion, minor_version
from numalet.core.node.node import Node
from numalet.io.documents.cluster import numa_node, numa_node_class
from running.control_plane import ControlPlane
from values import gpu_fleet

CLASSES = "/apis/numalet.dev/v1alpha1/numanodeclasses"
NUMA_NODES = "/apis/numalet.dev/v1alpha1/numanodes"
ROOT = Path(__file__).parents[2]
LONG_AGO = "2020-01-01T00:00:00.000000Z"
TRAP = {"key": "numalet.dev/trap", "value": "20200101T000000Z.abc", "effect": "NoSchedule"}
WAITING = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "waiting"},
    "spec": {
        "containers": [{"name": "main", "image": "any"}],
        "automountServiceAccountToken": False,
    },
}


def a_class() -> dict[str, Any]:
    node = gpu_fleet.empty()
    return numa_node_class.class_object(classes.spec_of(node, gpu_fleet.kubelet_config()))


def doctor(plane: ControlPlane, *more: str, kubeconfig: Path | None = None) -> tuple[int, str]:
    given = str(kubeconfig or plane.kubeconfig)
    command = [sys.executable, "-m", "numalet", "doctor", "cluster", "--kubeconfig", given, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def findings(plane: ControlPlane, kubeconfig: Path | None = None) -> dict[str, dict[str, Any]]:
    document = json.loads(doctor(plane, "-o", "json", kubeconfig=kubeconfig)[1])
    assert document["schema"] == "numalet.doctor/2"
    return {each["code"]: each for each in document["findings"]}


def make_node(plane: ControlPlane, name: str, version: str = "v1.34.2") -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    plane.create("/api/v1/nodes", node)
    status = {
        "nodeInfo": {"kubeletVersion": version},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    headers = {"Content-Type": "application/merge-patch+json"}
    path = f"/api/v1/nodes/{name}/status"
    assert plane.request("PATCH", path, {"status": status}, headers=headers).is_success


def publish(
    plane: ControlPlane, name: str, class_name: str, at: datetime, *, node: Node | None = None
) -> None:
    spec: dict[str, Any] = {"class": class_name, "published": at.strftime("%Y-%m-%dT%H:%M:%SZ")}
    if node is not None:
        spec["state"] = msgspec.to_builtins(numa_node.document(published.of_node(node)))
    body = {
        "apiVersion": "numalet.dev/v1alpha1",
        "kind": "NumaNode",
        "metadata": {"name": name},
        "spec": spec,
    }
    headers = {"Content-Type": "application/apply-patch+yaml"}
    path = f"{NUMA_NODES}/{name}?fieldManager=numalet"
    answer = plane.request("PATCH", path, body, headers=headers)
    assert answer.is_success, answer.text


def test_an_empty_cluster_is_mended_by_the_commands_that_are_printed(
    own_plane: Any,
) -> None:
    plane: ControlPlane = own_plane()
    code, said = doctor(plane)
    assert code == 1
    assert "the cluster does not know the resource numanodes.numalet.dev" in said
    while fixes := {
        each["fix"] for each in findings(plane).values() if each["severity"] == "error"
    }:
        for fix in fixes:
            program, *arguments = shlex.split(fix)
            assert (program, arguments[:2]) == ("kubectl", ["apply", "-k"])
            plane.kubectl("apply", "-k", str(ROOT / arguments[2]))
    assert doctor(plane, "--strict")[0] == 0


def test_nodes_versions_classes_and_clocks_are_examined(defined: ControlPlane) -> None:
    plane = defined
    of_class = plane.create(CLASSES, a_class())["metadata"]["name"]
    now = datetime.now(UTC)
    for name in ("a", "b", "c"):
        make_node(plane, name)
    make_node(plane, "old", "v1.29.0")
    publish(plane, "a", of_class, now)
    publish(plane, "b", "no-such-class", now)
    publish(plane, "c", of_class, now + timedelta(hours=1))
    publish(plane, "gone", of_class, now)
    codes = {code: each["message"] for code, each in findings(plane).items()}
    assert codes.keys() == {
        "cluster/kubelet-unknown", "cluster/not-published", "cluster/published-of-no-node",
        "cluster/no-class", "cluster/node-clock",
    }  # fmt: skip
    assert codes["cluster/not-published"].startswith("1 node without a NumaNode: old;")
    assert "no-such-class" in codes["cluster/no-class"]
    assert codes["cluster/node-clock"].endswith(": c")
    _, said = doctor(plane)
    assert "kubectl delete numanodes.numalet.dev gone" in said
    plane.request("DELETE", CLASSES)


def test_a_node_that_holds_something_for_a_pod_that_waits_is_named(defined: ControlPlane) -> None:
    plane = defined
    of_class = plane.create(CLASSES, a_class())["metadata"]["name"]
    make_node(plane, "a")
    pods = f"/api/v1/namespaces/{plane.namespace()}/pods"
    waiting = plane.create(pods, WAITING)["metadata"]
    node, decision = gpu_fleet.empty().admit(gpu_fleet.pod(waiting["uid"], 2))
    assert decision.admitted
    publish(plane, "a", of_class, datetime.now(UTC), node=node)
    (finding,) = findings(plane).values()
    assert finding["code"] == "cluster/contradicted"
    assert finding["message"].startswith("1 node whose NumaNode contradicts the pods")
    assert f"{waiting['name']}, which waits for a node" in finding["message"]
    publish(plane, "a", of_class, datetime.now(UTC), node=gpu_fleet.empty())
    assert findings(plane) == {}
    plane.request("DELETE", CLASSES)


def test_a_topology_of_another_manager_is_named(defined: ControlPlane) -> None:
    topologies = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
    body = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "a"},
        "zones": [{"name": "node-0", "type": "Node"}],
    }
    headers = {"Content-Type": "application/apply-patch+yaml"}
    path = f"{topologies}/a?fieldManager=another"
    assert defined.request("PATCH", path, body, headers=headers).is_success
    (finding,) = findings(defined).values()
    assert finding["code"] == "cluster/topology-owner"
    assert finding["message"].endswith("zones of another manager, another: a")


def test_an_account_without_a_role_is_told_what_it_may_not(defined: ControlPlane) -> None:
    token = defined.service_account_token(defined.namespace(), "default")
    shown = findings(defined, defined.kubeconfig_of(token, "nothing"))
    assert shown.keys() == {"cluster/forbidden", "cluster/accounts-unknown"}
    reader = defined.service_account_token("numalet", "numalet-reader")
    shown = findings(defined, defined.kubeconfig_of(reader, "reader"))
    assert shown.keys() == {"cluster/accounts-unknown"}


def test_a_cluster_that_can_not_be_asked_is_unusable_input(plane: ControlPlane) -> None:
    code, said = doctor(plane, kubeconfig=plane.kubeconfig_of("unknown", "unknown"))
    assert (code, "Traceback" in said) == (2, False)
    assert "401" in said
    plane.api_server.kill()
    code, said = doctor(plane)
    assert (code, "Traceback" in said) == (2, False)
    assert "does not answer" in said


def test_schedulers_extenders_and_the_breaker_are_examined(
    defined: ControlPlane, tmp_path: Path
) -> None:
    plane = defined
    own = manifests.configurations()["second-scheduler"]
    document = {**own, "extenders": [{**own["extenders"][0], "nodeCacheCapable": False}]}
    data = {"scheduler.yaml": json.dumps(document), "other": "KubeSchedulerConfiguration: ["}
    maps = "/api/v1/namespaces/numalet/configmaps"
    plane.create(maps, {"metadata": {"name": "scheduler"}, "data": data})
    template = manifests.of_kind("Deployment")["numalet-scheduler"]["spec"]["template"]
    template = json.loads(json.dumps(template))
    template["spec"]["schedulerName"] = "numalet-scheduler"
    template["spec"]["containers"][1]["args"] += ["--timeout", "7s"]
    wrong = {
        **manifests.of_kind("Deployment")["numalet-scheduler"],
        "metadata": {"name": "wrong", "namespace": "numalet"},
    }
    wrong["spec"] = {**wrong["spec"], "template": template}
    deployments = "/apis/apps/v1/namespaces/numalet/deployments"
    plane.create(deployments, wrong)
    node = {"metadata": {"name": "a"}, "spec": {"taints": [TRAP]}}
    # The API server adds a taint of its own.
    assert plane.request("POST", "/api/v1/nodes", node).is_success
    leases = "/apis/coordination.k8s.io/v1/namespaces/numalet/leases"
    spec = {"holderIdentity": "h", "leaseDurationSeconds": 15, "renewTime": LONG_AGO}
    plane.create(leases, {"metadata": {"name": "numalet-test"}, "spec": spec})
    try:
        shown = findings(plane)
        server = minor_version(plane.get("/version")["gitVersion"])
        assert server is not None
        # A release before 1.35 does not batch, and one before 1.25 does not read this version.
        of_release = set[str]()
        if server >= MinorVersion(1, 35):
            of_release = {"cluster/scheduler-batching"}
        elif server < MinorVersion(1, 25):
            of_release = {"cluster/scheduler-api-version"}
        assert shown.keys() - {"cluster/kubelet-unknown", "cluster/not-published"} - of_release == {
            "cluster/scheduler-whole-nodes", "cluster/extender-asks-itself",
            "cluster/scheduler-time-out", "cluster/breaker-taint-past",
            "cluster/lease-not-renewed",
        }  # fmt: skip
        assert of_release <= shown.keys()
        source = "ConfigMap numalet/scheduler (scheduler.yaml)"
        assert source in shown["cluster/scheduler-whole-nodes"]["message"]
        assert "Deployment numalet/wrong" in shown["cluster/extender-asks-itself"]["message"]
        assert shown["cluster/breaker-taint-past"]["fix"] == "numalet breaker undo"
    finally:
        plane.request("DELETE", f"{maps}/scheduler")
        plane.request("DELETE", f"{deployments}/wrong")
        plane.request("DELETE", f"{leases}/numalet-test")
    file = tmp_path / "scheduler.yaml"
    file.write_text(json.dumps({**document, "podMaxBackoffSeconds": 9}))
    _, said = doctor(plane, "--scheduler-config", str(file))
    assert f"{file} has podMaxBackoffSeconds 9" in " ".join(said.split())
    file.write_text("kind: Pod")
    code, said = doctor(plane, "--scheduler-config", str(file))
    assert (code, "no KubeSchedulerConfiguration" in " ".join(said.split())) == (2, True)


def test_a_scheduler_beside_an_extender_is_to_have_a_configuration(defined: ControlPlane) -> None:
    pod = static_pods.patched()
    del pod["spec"]["containers"][0]["command"][-1]
    del pod["status"]
    defined.create("/api/v1/nodes", {"metadata": {"name": "cp"}})
    pod["spec"] |= {"automountServiceAccountToken": False, "nodeName": "cp"}
    account = "/api/v1/namespaces/kube-system/serviceaccounts"
    defined.request("POST", account, {"metadata": {"name": "default"}})
    pods = "/api/v1/namespaces/kube-system/pods"
    answer = defined.request("POST", pods, pod)
    assert answer.is_success, answer.text
    message = findings(defined)["cluster/scheduler-without-configuration"]["message"]
    assert message.startswith("pod kube-system/kube-scheduler has an extender next to")
