"""Decisions on machines with many NUMA nodes: what is shown instead of 2^n hints."""

from __future__ import annotations

from dataclasses import replace

from numalet.core.admission.decision import Alignment
from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints.policies import Merged
from numalet.core.hints.provider import Hint
from numalet.insight.simulate import outcome
from values import builders


def test_hints_of_many_nodes_are_summarised_by_what_matters() -> None:
    rules = builders.rules(
        builders.machine(*[4] * 40), builders.aligned(TopologyPolicy.BEST_EFFORT)
    )
    node = builders.node(rules)
    node, _ = node.admit(builders.simple("first", "3Gi"))
    node, _ = node.admit(builders.simple("second", "6Gi"))
    _, decision = node.admit(builders.simple("third", "2Gi"))
    found = outcome.verdict(decision, "", "")

    assert decision.admitted
    assert {
        "preferred_size": 1,
        "smallest_size": 1,
        "singles": list(range(3, 40)),
        "groups": [[1, 2]],
        "open_nodes": list(range(3, 40)),
    } == found["hints"]["c"]["memory"]["memory"]
    assert found["merged"]["c"] == {"nodes": [3], "preferred": True, "admit": True}


def test_a_search_that_was_stopped_is_reported() -> None:
    rules = builders.rules(builders.machine(4, 4), builders.aligned(TopologyPolicy.BEST_EFFORT))
    _, decision = builders.node(rules).admit(builders.simple("u", "3Gi"))
    merged = Merged(Hint(0b11, False), admit=True, bounded=True)
    stopped = replace(decision, alignments={"c": Alignment({}, merged)})

    assert (outcome.verdict(stopped, "", "")["merged"]["c"]) == {
        "nodes": [0, 1],
        "preferred": False,
        "admit": True,
        "bounded": True,
    }
