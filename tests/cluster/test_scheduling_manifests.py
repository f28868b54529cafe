"""The manifests of extender, second scheduler and breaker: what they may, run and are told.

What a real API server and a real scheduler say to them is in ``test_scheduling_parts``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import jsonpatch
import pytest
import typer.main
import yaml

import numalet
from cluster import manifests, static_pods
from cluster.manifests import Permission
from numalet.cli import main
from numalet.cluster import programs

CONFIGURATIONS: Final = manifests.configurations()
PAGE: Final = manifests.FOLDER.parents[1] / "docs" / "reference" / "breaker.md"
LARGEST_SUM_OF_PLUGINS: Final = 1200
"""Of kube-scheduler's default plugins: 100 points each, times weights whose sum is 12."""
# As kube-scheduler decodes them, strictly: of v1, and of all versions before.
EXTENDER_FIELDS: Final = {
    *("urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb", "weight"),
    *("enableHTTPS", "tlsConfig", "httpTimeout", "nodeCacheCapable", "managedResources"),
    "ignorable",
}
TLS_FIELDS: Final = {"insecure", "serverName", "certFile", "keyFile", "caFile"}
FIELDS: Final = {
    *("apiVersion", "kind", "parallelism", "leaderElection", "clientConnection", "profiles"),
    *("percentageOfNodesToScore", "podInitialBackoffSeconds", "podMaxBackoffSeconds"),
    "extenders",
}


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    """The pods of the extender, the second scheduler and the breaker by name."""
    for name, each in manifests.of_kind("Deployment").items():
        yield name, each["spec"]["template"]["spec"]
    yield "kube-scheduler", static_pods.patched()["spec"]


def containers() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Name, pod, container."""
    for name, pod in pods():
        for each in pod["containers"]:
            if (name, each["name"]) != ("kube-scheduler", "kube-scheduler"):
                yield f"{name} {each['name']}", pod, each


def ours() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Pod and container of what runs numalet, by name."""
    return {
        name: (pod, each)
        for name, pod, each in containers()
        if each["image"].partition(":")[0] == "numalet"
    }


@pytest.mark.parametrize(
    ("name", "pod", "container"), [pytest.param(*each, id=each[0]) for each in containers()]
)
def test_no_container_may_more_than_it_needs(
    name: str, pod: dict[str, Any], container: dict[str, Any]
) -> None:
    own = container["securityContext"]
    assert own["allowPrivilegeEscalation"] is False
    assert own["readOnlyRootFilesystem"] is True
    assert own["capabilities"] == {"drop": ["ALL"]}
    merged = pod.get("securityContext", {}) | own
    assert merged["seccompProfile"] == {"type": "RuntimeDefault"}
    # The scheduler's credentials of a control-plane node are root's.
    is_root = name.startswith("kube-scheduler ")
    assert (merged["runAsUser"] == 0) is is_root
    assert merged.get("runAsNonRoot", False) is not is_root
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert "memory" in container["resources"]["limits"]
    assert "livenessProbe" in container


@pytest.mark.parametrize("name", ours())
def test_what_they_are_told_are_options_that_there_are(name: str) -> None:
    _, container = ours()[name]
    command: Any = typer.main.get_command(main.app())
    first, *rest = container["args"]
    # It raises where an option is unknown, or its value of another kind.
    told = command.commands[first].make_context(first, rest).params
    assert told
    readiness = container["readinessProbe"]["httpGet"]
    assert readiness["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"


@pytest.mark.parametrize("folder", CONFIGURATIONS)
def test_configurations_say_what_schedulers_are_asked_to(folder: str) -> None:
    given = CONFIGURATIONS[folder]
    assert given["apiVersion"] == "kubescheduler.config.k8s.io/v1"
    assert given.keys() <= FIELDS
    assert given["percentageOfNodesToScore"] == 100
    assert given["podMaxBackoffSeconds"] == 2
    (extender,) = given["extenders"]
    assert extender.keys() <= EXTENDER_FIELDS
    assert extender.get("tlsConfig", {}).keys() <= TLS_FIELDS
    assert ("caFile" in extender.get("tlsConfig", {})) == extender.get("enableHTTPS", False)
    assert extender["nodeCacheCapable"] is True
    # One point of ours is more than all that they say together.
    assert extender["weight"] * 10 > LARGEST_SUM_OF_PLUGINS


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("scheduler-sidecar", "kube-scheduler numalet-extender"),
        ("second-scheduler", "numalet-scheduler extender"),
    ],
)
def test_scheduler_and_extender_beside_it_are_told_the_same(folder: str, name: str) -> None:
    (extender,) = CONFIGURATIONS[folder]["extenders"]
    words = dict(each.split("=", 1) for each in ours()[name][1]["args"][1:])
    assert extender["urlPrefix"] == f"http://{words['--listen']}"
    # Nobody else on the machine finds it.
    assert words["--listen"].startswith("127.0.0.1:")
    waits = programs.duration_seconds("httpTimeout", extender["httpTimeout"])
    assert programs.duration_seconds("--timeout", words["--timeout"]) == waits


def test_no_extender_has_to_be_asked_about_itself() -> None:
    """Its pods name their node, or their scheduler is another one, or they are static."""
    by_scheduler = {
        profile["schedulerName"] for profile in CONFIGURATIONS["second-scheduler"]["profiles"]
    }
    for name, (pod, container) in ours().items():
        if container["args"][0] == "extender" and not name.startswith("kube-scheduler "):
            other = pod.get("schedulerName", "default-scheduler") not in by_scheduler
            assert "nodeName" in pod or ("schedulerName" in pod and other), name


def test_selectors_select() -> None:
    labels = {
        name: each["spec"]["template"]["metadata"]["labels"]
        for name, each in manifests.of_kind("Deployment").items()
    }
    chosen = [
        *(each["spec"]["selector"] for each in manifests.of_kind("Service").values()),
        *(
            each["spec"]["selector"]["matchLabels"]
            for each in manifests.of_kind("PodDisruptionBudget").values()
        ),
        *(
            each["spec"]["podSelector"]["matchLabels"]
            for each in manifests.of_kind("NetworkPolicy").values()
        ),
    ]
    for selector in chosen:
        assert any(selector.items() <= each.items() for each in labels.values()), selector
    assert manifests.of_kind("NetworkPolicy").keys() == {
        "numalet-extender", "numalet-scheduler", "numalet-breaker",
    }  # fmt: skip


def test_no_budget_forbids_for_ever() -> None:
    """One of two extenders is never ready, so a budget for them would never let the other go."""
    for budget in manifests.of_kind("PodDisruptionBudget").values():
        deployment = manifests.of_kind("Deployment")[budget["metadata"]["name"]]
        assert budget["spec"]["minAvailable"] < deployment["spec"]["replicas"]
        args = deployment["spec"]["template"]["spec"]["containers"][-1]["args"]
        assert not (args[0] == "extender" and any(each.startswith("--lease") for each in args))


def test_the_patch_appends_and_replaces_nothing() -> None:
    before, after = static_pods.kubeadm(), static_pods.patched()
    own = after["spec"]["containers"][0]
    assert own["command"][:-1] == before["spec"]["containers"][0]["command"]
    assert own["command"][-1] == "--config=/etc/kubernetes/numalet/scheduler.yaml"
    for each in jsonpatch.make_patch(before, after).patch:
        assert each["op"] == "add"
    mounted = {
        mount["name"] for each in after["spec"]["containers"] for mount in each["volumeMounts"]
    }
    assert mounted == {each["name"] for each in after["spec"]["volumes"]}


def test_the_breaker_may_what_its_page_says() -> None:
    rows = re.findall(
        r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$",
        PAGE.read_text(encoding="utf-8").partition("## Required permissions")[2],
        re.MULTILINE,
    )[1:]
    said = {
        each
        for groups, resources, verbs, _ in rows
        if "your own" not in groups and "in its own namespace" not in resources
        for each in of_row(groups, resources, verbs)
    }
    roles = manifests.of_kind("ClusterRole")
    given = {
        each
        for name, role in roles.items()
        if name.startswith("numalet-breaker") or name == "numalet-reader"
        for each in manifests.permissions(role)
    }
    assert given == said


def of_row(groups: str, resources: str, verbs: str) -> Iterator[Permission]:
    homes = {
        "poddisruptionbudgets": "policy",
        "noderesourcetopologies": "topology.node.k8s.io",
        "numanodes": "numalet.dev",
        "numanodeclasses": "numalet.dev",
        "jobs": "batch",
        "cronjobs": "batch",
        **dict.fromkeys(("replicasets", "deployments", "statefulsets", "daemonsets"), "apps"),
    }
    for resource in resources.split(", "):
        home = homes.get(resource, "")
        assert (home or "core") in groups
        for verb in verbs.split(", "):
            yield home, resource, verb


def test_images_are_those_of_this_version() -> None:
    for path in manifests.FOLDER.glob("*/kustomization.yaml"):
        for image in yaml.safe_load(path.read_text()).get("images", []):
            if image["name"] == "numalet" and path.parent.name != "base":
                assert image["newTag"] == numalet.__version__
    images = {each["image"] for each in static_pods.patched()["spec"]["containers"]}
    assert f"numalet:{numalet.__version__}" in images


def test_a_measure_is_allowed_in_a_file_of_its_own() -> None:
    for path in (manifests.FOLDER / "breaker-measures").glob("*.yaml"):
        if path.name != "kustomization.yaml":
            *_, role, binding = yaml.safe_load_all(path.read_text())
            assert role["metadata"]["name"] == f"numalet-breaker-{path.stem}"
            assert binding["roleRef"]["name"] == role["metadata"]["name"]
