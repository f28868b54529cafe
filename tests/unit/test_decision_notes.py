"""Notes about decisions, and lines about pods that a replay refuses."""

from __future__ import annotations

from dataclasses import replace

import builders
from numalet.reports import decision_notes
from numalet.wording import explanations


def test_who_is_evicted_for_a_critical_pod_is_named() -> None:
    node, _ = builders.node(builders.rules(builders.machine(10))).admit(builders.simple("u", "1Gi"))
    _, decision = node.admit(builders.simple("v", "1Gi"))
    (note,) = [
        each
        for each in decision_notes.notes([replace(decision, evicted=("u",))])
        if each.code == "decision/evicted"
    ]
    assert {"pod": "default/v", "evicted": "default/u"} == note.fields


def test_a_few_refused_pods_are_named_and_the_rest_counted() -> None:
    few = explanations.replay_refused([("a", "OutOfcpu")], 1, explanations.BEFORE_IT)
    assert few[0].startswith("! 1 of 1 pod before it was refused in this replay")
    assert "!   a: OutOfcpu" in few
    many = [(str(number), "OutOfcpu") for number in range(50)]
    assert len(explanations.replay_refused(many, 60, explanations.THAT_RUN)) < 50
