"""Large values and bad input as texts: short, and without what only a reader of the code needs."""

from __future__ import annotations

import numalet
from numalet.core.model.findings import BadInput, Location
from values.made_up import First

CONFIG = {
    "cpuManagerPolicy": "static",
    "topologyManagerPolicy": "restricted",
    "reservedSystemCPUs": "0",
}


def _node() -> numalet.Node:
    loaded = numalet.open_machine("2n4c2t", memory_per_node="64Gi")
    node = numalet.start_node(numalet.decode_config(CONFIG, "example"), loaded)
    assert isinstance(node, numalet.Node)
    return node


def test_large_values_are_a_line_that_says_which_they_are() -> None:
    node = _node()
    machine = numalet.open_machine("2n4c2t", memory_per_node="64Gi").machine
    (pod,) = numalet.read_pods(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: one}\nspec:\n  containers: [{name: a}]", "x"
    ).pods
    _, decision = node.admit(pod)
    large = (node, node.snapshot, node.rules, node.rules.machine, node.roster, machine, decision)
    texts = [repr(each) for each in large]

    assert all(len(text) < 200 and "\n" not in text for text in texts)
    assert "2 NUMA nodes" in texts[0]
    assert "restricted" in texts[2]
    assert "16 CPUs" in texts[3]
    assert "cpu" in texts[4]
    assert "16 CPUs" in texts[5]
    assert "admitted" in texts[6]


def test_a_configuration_shows_what_differs_from_the_defaults() -> None:
    assert repr(numalet.KubeletConfig()) == "KubeletConfig()"
    shown = repr(numalet.decode_config(CONFIG, "example"))
    assert "cpu_manager_policy='static'" in shown
    assert "memory_manager_policy" not in shown


def test_a_finding_is_its_sentence_and_bad_input_a_line_for_each() -> None:
    placed = First(value=1, where=Location("file.yaml"))
    assert str(placed) == "the first has 1"
    assert placed.located == "file.yaml: the first has 1"
    assert str(BadInput([placed, First()])) == "file.yaml: the first has 1\nthe first has 0"
