"""Whatever is written in a manifest: pods or findings, and never anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model import pod_demand
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import Container, ContainerKind, Pod
from numalet.core.model.quantity import Quantity
from numalet.insight.simulate import recording
from numalet.io.documents.pods import pod_manifest
from numalet.io.documents.pods.pod_manifest import LoadedPods, PodOptions

pytestmark = pytest.mark.property

NAMES = st.sampled_from(["a", "b", "web", "A", "", "a" * 64, "x.y"])
TEXTS = st.sampled_from(
    ["1", "0", "100m", "1.5Gi", "1.5.Gi", "-1Gi", "1e400", "1e3", "4Gi", "2Mi", "0.0001", "", "x"]
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | TEXTS
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
RESOURCE_NAMES = st.sampled_from(
    ["cpu", "memory", "hugepages-2Mi", "hugepages-1Gi", "hugepages-x", "example.com/gpu", "memroy"]
)


def mostly(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The strategy, with anything at all now and then."""
    return st.one_of(strategy, strategy, strategy, ANYTHING)


RESOURCE_LIST = mostly(st.dictionaries(RESOURCE_NAMES, mostly(TEXTS), max_size=4))
RESOURCES = mostly(
    st.fixed_dictionaries({}, optional={"limits": RESOURCE_LIST, "requests": RESOURCE_LIST})
)
CONTAINER = mostly(
    st.fixed_dictionaries(
        {"name": mostly(NAMES)},
        optional={"resources": RESOURCES, "restartPolicy": mostly(st.just("Always"))},
    )
)
SPEC = mostly(
    st.fixed_dictionaries(
        {"containers": mostly(st.lists(CONTAINER, max_size=3))},
        optional={
            "initContainers": mostly(st.lists(CONTAINER, max_size=2)),
            "overhead": RESOURCE_LIST,
            "nodeName": mostly(NAMES),
        },
    )
)
METADATA = mostly(
    st.fixed_dictionaries(
        {"name": mostly(NAMES)},
        optional={"namespace": mostly(NAMES), "uid": mostly(NAMES), "labels": ANYTHING},
    )
)
STATUS = mostly(
    st.fixed_dictionaries(
        {},
        optional={
            "phase": st.sampled_from(["Running", "Failed", "Odd"]),
            "qosClass": mostly(st.sampled_from(["Guaranteed", "Burstable", "BestEffort"])),
        },
    )
)
POD = st.fixed_dictionaries(
    {"kind": st.just("Pod"), "metadata": METADATA, "spec": SPEC}, optional={"status": STATUS}
)
WORKLOAD = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(
            ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicaSet"]
        ),
        "metadata": METADATA,
        "spec": mostly(
            st.fixed_dictionaries(
                {"template": mostly(st.fixed_dictionaries({"spec": SPEC, "metadata": METADATA}))},
                optional={
                    "replicas": mostly(st.integers(-1, 3)),
                    "parallelism": mostly(st.integers(-1, 3)),
                    "completions": mostly(st.integers(-1, 3)),
                    "ordinals": ANYTHING,
                },
            )
        ),
    }
)
LIST = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["List", "PodList", "DeploymentList"]),
        "items": mostly(st.lists(POD | WORKLOAD, max_size=3)),
    }
)
OPTIONS = st.sampled_from([PodOptions(), PodOptions(node_name="a")])


def loaded(text: str, options: PodOptions) -> LoadedPods | None:
    """The pods, or None after checking that every finding has its sentence."""
    found: LoadedPods | None = None
    findings: tuple[Finding, ...] = ()
    try:
        found = pod_manifest.read_pods(text, "f", options)
    except BadInput as bad:
        findings = bad.findings
    assert (found is None) == bool(findings)
    for finding in findings:
        assert str(finding)
    return found


@given(value=st.one_of(POD, WORKLOAD, LIST, ANYTHING), options=OPTIONS)
def test_any_document_gives_pods_or_findings(value: Any, options: PodOptions) -> None:
    found = loaded(json.dumps(value), options)
    if found is not None:
        check_laws(found)


@given(text=st.text(max_size=60), options=OPTIONS)
def test_any_text_gives_pods_or_findings(text: str, options: PodOptions) -> None:
    loaded(text, options)
    loaded("kind: Pod\nmetadata: {name: a}\nspec: " + text, options)


def check_laws(found: LoadedPods) -> None:
    """What is true of all pods that were read."""
    assert len(found.pods) == len({pod.uid for pod in found.pods})
    for pod in found.pods:
        names = [container.name for container in pod.containers()]
        assert len(names) == len(set(names))
        for container in pod.containers():
            assert container.limits.keys() <= container.requests.keys()
            for name, request in container.requests.items():
                assert request.sign >= 0
                assert request <= container.limits.get(name, request)
                assert request.canonical() == request
        # A server's pod that was cut short may lack containers and names, and is read all the same.
        if pod.app_containers and all(each.name for each in pod.containers()):
            check_written_form(pod)


def check_written_form(pod: Pod) -> None:
    """A pod that is written down and read again is the same pod."""
    text = json.dumps(recording.pod_document(pod))
    if pod.phase not in ("Succeeded", "Failed"):
        assert (pod,) == pod_manifest.read_pods(text, "f").pods


def amounts() -> st.SearchStrategy[dict[str, Quantity]]:
    """Requests of a container."""
    sizes = st.integers(0, 5).map(Quantity.from_int)
    return st.dictionaries(st.sampled_from(["cpu", "memory"]), sizes)


@given(st.lists(st.tuples(amounts(), amounts()), min_size=1, max_size=4))
def test_a_pod_asks_for_no_less_than_any_of_its_containers(
    asked: list[tuple[dict[str, Quantity], dict[str, Quantity]]],
) -> None:
    kinds = [ContainerKind.INIT, ContainerKind.SIDECAR]
    init = tuple(
        Container(f"i{n}", kinds[n % 2], first, first) for n, (first, _) in enumerate(asked)
    )
    apps = tuple(Container(f"c{n}", requests=second) for n, (_, second) in enumerate(asked))
    total = pod_demand.effective_requests(Pod("u", "p", "n", init, apps))
    for container in (*init, *apps):
        for name, request in container.requests.items():
            assert request <= total[name]
    assert pod_demand.qos_class((*init, *apps)) is pod_demand.qos_class((*apps, *init))
