"""Rejected pods as a drawing shows them."""

from __future__ import annotations

import numalet
from numalet.core.node.node import Node
from numalet.insight.maps import refusal
from numalet.insight.maps.refusal import Refusal
from values import shown_nodes

_POD = """
{apiVersion: v1, kind: Pod, metadata: {name: two}, spec: {containers: [
  {name: c, resources: {limits: {cpu: "2", memory: 1Gi, example.com/gpu: "2"}}}]}}
"""


def test_rejected_pods_have_a_cause_and_the_devices_that_they_ask_for() -> None:
    config = numalet.decode_config({"topologyManagerPolicy": "single-numa-node"}, "test")
    gpus = [numalet.Device(f"gpu{at}", numa_nodes=(at,)) for at in range(2)]
    machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi")
    node = numalet.start_node(config, machine, devices={"example.com/gpu": gpus})
    assert isinstance(node, Node)
    (pod,) = numalet.read_pods(_POD, "test").pods
    _, decision = node.admit(pod)
    _, admitted = node.admit(shown_nodes.guaranteed("one", 1, shown_nodes.GIB))
    (with_cause,) = refusal.of_decisions([admitted, decision], {id(decision): "no room"})
    assert with_cause == Refusal("default/two", "no room", frozenset({"example.com/gpu"}))
    (other,) = refusal.of_decisions([decision], {})
    assert "single-numa-node" in other.cause
    assert other.words.startswith("default/two is rejected: ")
