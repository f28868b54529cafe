"""Events and the node in Kubernetes' form, and the kubelet's words in them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.moments import microseconds
from numalet.core.model.quantity import Quantity
from numalet.core.workload.records import EventKind, NodeEvent
from numalet.shared.kubernetes.event_object import event_object
from numalet.shared.kubernetes.node_object import NodeFacts, Unready, node_object
from numalet.wording import kubelet
from values.builders import machine, node, rules
from values.pod_runs import START, at, workload

EVENT = NodeEvent(
    kind=EventKind.NORMAL,
    reason="Started",
    message="Started container s1",
    at=at(9),
    resource_version=5,
    pod_uid="uid-1",
    pod_name="web",
    namespace="shop",
    container="s1",
    first_at=at(1),
    count=3,
)


def test_an_event_says_what_happened_to_whom() -> None:
    found = event_object(EVENT, node_name="n1", workload=workload(("s1", "a")))
    assert found["involvedObject"] == {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": "shop",
        "name": "web",
        "uid": "uid-1",
        "fieldPath": "spec.initContainers{s1}",
    }
    assert (found["type"], found["reason"], found["count"]) == ("Normal", "Started", 3)
    assert found["message"] == "Started container s1"
    assert found["firstTimestamp"] == "2030-01-01T00:00:01Z"
    assert found["lastTimestamp"] == "2030-01-01T00:00:09Z"
    assert found["metadata"]["resourceVersion"] == "5"
    assert found["source"] == {"component": "numalet", "host": "n1"}


def test_a_container_of_a_forgotten_pod_counts_as_an_app_container() -> None:
    found = event_object(replace(EVENT, container="a"), node_name="n1")
    assert found["involvedObject"]["fieldPath"] == "spec.containers{a}"
    whole = event_object(replace(EVENT, container=""), node_name="n1")
    assert "fieldPath" not in whole["involvedObject"]


def test_an_event_of_the_node_is_about_the_node() -> None:
    event = replace(EVENT, pod_uid="", pod_name="", namespace="", container="", first_at=None)
    found = event_object(event, node_name="n1")
    assert found["involvedObject"]["kind"] == "Node"
    assert found["metadata"]["namespace"] == "default"
    assert found["firstTimestamp"] == found["lastTimestamp"]


def test_the_name_of_an_event_stays_and_differs_from_others() -> None:
    def name(event: NodeEvent) -> str:
        return str(event_object(event, node_name="n1")["metadata"]["name"])

    assert name(replace(EVENT, count=9, at=at(99))) == name(EVENT)
    others = [
        replace(EVENT, first_at=at(1.000001)),
        replace(EVENT, reason="Killing"),
        replace(EVENT, container="a"),
    ]
    assert len({name(EVENT), *map(name, others)}) == 4
    long = name(replace(EVENT, pod_name="n" * 179 + "-" + "x" * 73))
    assert len(long) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", long)


@pytest.mark.parametrize(
    ("pause_seconds", "shown"), [(10, "10s"), (80, "1m20s"), (300, "5m0s"), (0.5, "500ms")]
)
def test_a_pause_is_written_as_the_kubelet_does(pause_seconds: float, shown: str) -> None:
    text = kubelet.waiting_to_restart(pause_seconds, "c", "web", "shop", "u")
    assert text == f"back-off {shown} restarting failed container=c pod=web_shop(u)"


def test_microseconds_are_written_in_full() -> None:
    assert microseconds(START) == "2030-01-01T00:00:00.000000Z"


FACTS = NodeFacts(
    name="n1", created_at=START, started_at=START, version="0.1.0", architecture="amd64"
)


def test_allocatable_lacks_the_reservation_and_memory_the_huge_pages() -> None:
    reservation = {"cpu": Quantity.parse("500m"), "memory": Quantity.parse("1Gi")}
    of = replace(rules(machine(8, 8, hugepages={2048: 512})), reservation=reservation)
    status = node_object(node(of), FACTS)["status"]
    assert status["capacity"] == {
        "cpu": "4",
        "hugepages-2Mi": "2Gi",
        "memory": "16Gi",
        "pods": "110",
    }
    assert status["allocatable"] == {
        "cpu": "3500m",
        "hugepages-2Mi": "2Gi",
        "memory": "13Gi",
        "pods": "110",
    }


def test_allocatable_is_never_negative() -> None:
    of = replace(rules(machine(1)), reservation={"memory": Quantity.parse("2Gi")})
    assert node_object(node(of), FACTS)["status"]["allocatable"]["memory"] == "0"


def test_healthy_devices_are_allocatable() -> None:
    devices = [Device("d0", (0,)), Device("d1", (0,), Health.UNHEALTHY)]
    of = node(rules(machine(8))).devices_reported({"example.com/gpu": devices})
    status = node_object(of, FACTS)["status"]
    assert status["capacity"]["example.com/gpu"] == "2"
    assert status["allocatable"]["example.com/gpu"] == "1"


def test_the_node_says_what_it_is_and_whether_it_takes_pods() -> None:
    found = node_object(node(rules(machine(8))), FACTS)
    assert found["metadata"]["labels"] == {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "n1",
        "kubernetes.io/os": "linux",
    }
    assert found["status"]["nodeInfo"]["kubeletVersion"] == "v1.32.0+numalet.0.1.0"
    ready = found["status"]["conditions"][-1]
    assert (ready["type"], ready["status"]) == ("Ready", "True")
    observing = node_object(node(rules(machine(8))), replace(FACTS, unready=Unready.OBSERVING))
    ready = observing["status"]["conditions"][-1]
    assert (ready["status"], ready["reason"]) == ("False", "AgentObserves")


@pytest.mark.parametrize("why", Unready)
def test_the_node_says_why_it_takes_no_pods(why: Unready) -> None:
    found = node_object(node(rules(machine(8))), replace(FACTS, unready=why))
    ready = found["status"]["conditions"][-1]
    assert (ready["status"], ready["reason"]) == ("False", why.value)
    assert ready["message"]
