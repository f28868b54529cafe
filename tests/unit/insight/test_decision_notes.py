"""Notes about decisions, and lines about pods that a replay refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.admission.reasons import NotAsked, NothingToPreempt, OutOfResource, Unknown
from numalet.insight import decision_notes
from numalet.wording import explanations, kubelet
from values import builders


def test_who_is_evicted_for_a_critical_pod_is_named() -> None:
    node, _ = builders.node(builders.rules(builders.machine(10))).admit(builders.simple("u", "1Gi"))
    _, decision = node.admit(builders.simple("v", "1Gi"))
    (note,) = [
        each
        for each in decision_notes.notes(
            decision_notes.collect([replace(decision, evicted=("u",))])
        )
        if each.code == "decision/evicted"
    ]
    assert note.fields == {"pod": "default/v", "evicted": "default/u"}


def test_a_few_refused_pods_are_named_and_the_rest_counted() -> None:
    few = explanations.replay_refused([("a", "OutOfcpu")], 1, explanations.BEFORE_IT)
    assert few[0].startswith("! 1 of 1 pod before it was rejected in this replay")
    assert "!   a: OutOfcpu" in few
    many = [(str(number), "OutOfcpu") for number in range(50)]
    assert len(explanations.replay_refused(many, 60, explanations.THAT_RUN)) < 50


def test_the_notes_of_an_explanation_are_those_of_its_decision() -> None:
    node, _ = builders.node(builders.rules(builders.machine(10))).admit(builders.simple("u", "1Gi"))
    _, decision = node.admit(builders.simple("v", "1Gi"))
    unknown = NotAsked("NodeAffinity", Unknown.NODE_LABELS), NotAsked("x", Unknown.NOT_MEASURED)
    decision = replace(decision, evicted=("u",), not_asked=unknown, passed_over=("example.com/g",))
    document = {
        "pod": {"namespace": "default", "name": "v"},
        "queue": [{"uid": "u", "name": "default/u"}],
        "evicted": ["u"],
        "not_asked": [{"predicate": each.predicate, "why": each.why.value} for each in unknown],
        "passed_over": ["example.com/g"],
    }
    notes = decision_notes.notes(decision_notes.collect([decision]))
    assert len(notes) == 4
    assert decision_notes.of_document(document) == notes


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        (OutOfResource("memory", 700 << 30, 0, 64 << 30), "700Gi requested, 0 of 64Gi in use"),
        (OutOfResource("cpu", 100_000, 1500, 8000), "100 requested, 1.5 of 8 in use"),
        (OutOfResource("hugepages-1Gi", 2 << 30, 0, 1 << 30), "2Gi requested, 0 of 1Gi in use"),
        (OutOfResource("pods", 1, 110, 110), "1 requested, 110 of 110 in use"),
        (NothingToPreempt((("memory", 1 << 30), ("cpu", 500))), "1Gi of memory, 0.5 of cpu"),
    ],
)
def test_sums_are_in_units_for_people(reason: OutOfResource | NothingToPreempt, said: str) -> None:
    assert said in explanations.of_reason(reason)
    # The text of the kubelet stays as it is.
    assert "Gi" not in kubelet.message(reason).replace("hugepages-1Gi", "")
