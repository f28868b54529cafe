"""What a manifest says of the node of its pod, and what is no such thing."""

from __future__ import annotations

from typing import Any

import pytest

from numalet.core.admission import node_affinity
from numalet.core.model.node_constraints import UNCONSTRAINED, HostPort, NodeIdentity
from numalet.io.documents.pods import pod_constraints

NODE = NodeIdentity(name="n1", labels={"kubernetes.io/os": "linux"}, has_all_labels=True)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _required(*terms: Any) -> dict[str, Any]:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


@pytest.mark.parametrize("spec", [None, 7, {}, {"containers": [{}]}, {"containers": 3}])
def test_a_pod_that_says_nothing_may_run_anywhere(spec: object) -> None:
    assert UNCONSTRAINED is pod_constraints.of_spec(spec)


@pytest.mark.parametrize(
    ("spec", "matches"),
    [
        ({"nodeSelector": {"kubernetes.io/os": "linux"}}, True),
        ({"nodeSelector": {"disk": "ssd"}}, False),
        # An object of a server may have any shape: what is none of the types of Kubernetes matches
        # nothing, and breaks nothing.
        (_required(1, {"matchFields": 2}, {"matchExpressions": [3, {"key": 4}]}), False),
        (_required({"matchExpressions": [{"key": "a", "operator": "In", "values": [5]}]}), False),
        ({"affinity": {"nodeAffinity": {REQUIRED: 6}}}, False),
        ({"affinity": 7, "nodeSelector": 8}, True),
    ],
)
def test_selector_and_affinity_are_read(spec: dict[str, Any], matches: bool) -> None:
    assert matches is node_affinity.matches(pod_constraints.of_spec(spec), NODE)


@pytest.mark.parametrize(
    ("port", "ports"),
    [
        ({"hostPort": 80}, (HostPort(80),)),
        ({"hostPort": "80"}, ()),
        ("80", ()),
        ({"hostPort": 80, "protocol": "UDP", "hostIP": "::1"}, (HostPort(80, "UDP", "::1"),)),
    ],
)
def test_ports_of_the_host_are_read(port: object, ports: tuple[HostPort, ...]) -> None:
    spec = {"containers": [{"ports": [port]}]}
    assert ports == pod_constraints.of_spec(spec).ports


def test_in_the_network_of_the_host_every_port_is_one_of_the_host() -> None:
    spec = {"hostNetwork": True, "containers": [{"ports": [{"containerPort": 80}]}]}
    assert (HostPort(80),) == pod_constraints.of_spec(spec).ports
    assert pod_constraints.of_spec({"os": {"name": "windows"}}).os_name == "windows"
