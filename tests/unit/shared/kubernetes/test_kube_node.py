"""The Node object: what a cordon and a kubelet beside the agent add to it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from numalet.agent.telemetry import metrics
from numalet.core.model import moments
from numalet.shared.kubernetes import node_object as kube_node
from numalet.shared.kubernetes.node_object import KubeletCondition, NodeFacts
from values import builders
from values.pod_runs import START

NODE = builders.node(builders.rules(builders.machine(1), reserved_bytes={0: 1 << 30}))
LATER = START + timedelta(minutes=1)


def _object(*, unschedulable: bool = False, kubelet: KubeletCondition | None = None) -> Any:
    facts = NodeFacts(
        name="n1",
        created_at=START,
        started_at=START,
        unschedulable=unschedulable,
        kubelet=kubelet,
    )
    return kube_node.node_object(NODE, facts)


def test_a_cordoned_node_has_the_taint_that_follows() -> None:
    taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    assert _object(unschedulable=True)["spec"] == {"unschedulable": True, "taints": [taint]}
    assert _object()["spec"] == {}


@pytest.mark.parametrize(
    ("is_running", "status"), [(True, "True"), (False, "False"), (None, "Unknown")]
)
def test_whether_the_kubelet_runs_is_a_condition(*, is_running: bool | None, status: str) -> None:
    conditions = _object(kubelet=KubeletCondition(is_running, LATER))["status"]["conditions"]
    [found] = [each for each in conditions if each["type"] == "KubeletRunning"]
    assert found["status"] == status
    assert found["lastTransitionTime"] == moments.seconds(LATER)


def test_without_a_kubelet_there_is_no_such_condition() -> None:
    types = {each["type"] for each in _object()["status"]["conditions"]}
    assert "Ready" in types
    assert "KubeletRunning" not in types


def test_an_observer_leaves_the_kubelets_metrics_to_the_kubelet() -> None:
    observing = {each.name for each in metrics.shown(NODE.rules, is_observing=True)}
    enforcing = {each.name for each in metrics.shown(NODE.rules, is_observing=False)}
    assert not any(name.startswith("kubelet_") for name in observing)
    assert observing >= metrics.OBSERVERS_ALONE
    assert not enforcing & metrics.OBSERVERS_ALONE
    assert any(name.startswith("kubelet_") for name in enforcing)
