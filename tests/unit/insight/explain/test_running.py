"""Cases about a node that runs: its pods stay where they are when a change is tried."""

from __future__ import annotations

from dataclasses import replace

import numalet
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.insight.explain import cases, change, search, story
from numalet.insight.explain.change import NoTopology, OtherTopology
from numalet.insight.explain.explanation_types import Category
from numalet.insight.simulate.session import Session
from numalet.io.documents.pods import pod_manifest

_CONFIG = KubeletConfig(
    cpu_manager_policy="static",
    topology_manager_policy="single-numa-node",
    reserved_system_cpus="0",
)
_DEVICES = {"example.org/gpu": (Device("a", (0,)), Device("b", (1,)))}


def _pod(name: str, cpus: int) -> Pod:
    text = f"""
apiVersion: v1
kind: Pod
metadata: {{name: {name}, uid: uid-{name}}}
spec:
  containers:
  - name: main
    image: image
    resources: {{limits: {{cpu: {cpus}, memory: 1Gi}}}}
"""
    return pod_manifest.read_pods(text, "pods").pods[0]


def _node(config: KubeletConfig = _CONFIG) -> Node:
    node = numalet.start_node(
        config, numalet.open_machine("2n4c2t", memory_per_node="8Gi"), devices=_DEVICES
    )
    assert isinstance(node, Node)
    return node


def _with(node: Node, *pods: Pod) -> Node:
    for pod in pods:
        node, decision = node.admit(pod)
        assert decision.admitted
        node = node.pod_started(pod.uid)
    return node


def test_another_policy_is_tried_with_the_pods_that_run() -> None:
    beginning = cases.running_session(_with(_node(), _pod("a", 5), _pod("b", 5)), _CONFIG, {})
    case = cases.running_case(beginning, (), _pod("c", 5))
    traced = story.trace(case)
    tallies = {each.category: each for each in search.search(case, traced, lambda: True)}
    # Three CPUs are left on either node: only policies that accept both nodes admit it.
    assert [each.change for each in tallies[Category.POLICY_OR_SCOPE].offers] == [
        OtherTopology("best-effort", "container"),
        OtherTopology("best-effort", "pod"),
        NoTopology(),
    ]


def test_a_pod_that_is_not_admitted_again_is_named() -> None:
    config = replace(_CONFIG, topology_manager_policy="none")
    spread, small = _pod("spread", 10), _pod("small", 1)
    beginning = cases.running_session(_with(_node(config), spread), config, {})
    strict = cases.restart_running(beginning, _CONFIG)
    assert isinstance(strict, Session)
    assert dict(strict.node.snapshot.pods) == {}
    case = cases.running_case(beginning, (), small)
    assert change.outcome(case, OtherTopology("single-numa-node", "pod")).lost == ("uid-spread",)


def test_devices_are_there_after_the_restart() -> None:
    beginning = cases.running_session(_node(), _CONFIG, {})
    after = cases.restart_running(beginning, replace(_CONFIG, topology_manager_scope="pod"))
    assert isinstance(after, Session)
    assert after.node.snapshot.device.inventory == beginning.node.snapshot.device.inventory
    stopped = cases.running_session(_node().plugin_stopped("example.org/gpu"), _CONFIG, {})
    assert {each.health.value for each in stopped.devices["example.org/gpu"]} == {"Unhealthy"}


def test_a_pod_that_runs_asks_as_if_it_came_now() -> None:
    beginning = cases.running_session(_with(_node(), _pod("a", 5)), _CONFIG, {})
    case = cases.running_case(beginning, (), _pod("a", 5))
    assert dict(case.node.snapshot.pods) == {}
    assert case.node.leftovers() == ()


def test_a_configuration_with_which_the_kubelet_does_not_start() -> None:
    beginning = cases.running_session(_with(_node(), _pod("a", 5)), _CONFIG, {})
    bad = replace(_CONFIG, topology_manager_policy="no-such-policy")
    assert isinstance(cases.restart_running(beginning, bad), StartRefused)
