"""Pods that ask for CPUs and memory as a whole are explained like others."""

from __future__ import annotations

import pytest

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.model.pod import Pod
from numalet.insight.explain.explanation_types import AnswerKind
from numalet.insight.maps import pod_sums
from numalet.wording import explanations
from values import whole_pods
from values.explain_bench import traced
from values.whole_pods import asked, config, pod

TOO_BIG = pod("u", asked("2", "12Gi"), {"c0": asked("1", "1Gi"), "c1": None})
NOTHING_LEFT = pod("u", asked("2", "4Gi"), {"c0": asked("2", "1Gi"), "c1": None})
FITS = pod("u", asked("4", "2Gi"), {"i0": asked("2", "1Gi"), "c0": asked("2", "1Gi"), "c1": None})


@pytest.mark.parametrize("behaviour", [EXACT, NATIVE], ids=["exact", "native"])
@pytest.mark.parametrize("policy", ["none", "best-effort", "restricted", "single-numa-node"])
@pytest.mark.parametrize("scope", ["container", "pod"])
@pytest.mark.parametrize("of", [TOO_BIG, NOTHING_LEFT, FITS], ids=["big", "nothing-left", "fits"])
def test_every_decision_has_a_story(of: Pod, scope: str, policy: str, behaviour: Behaviour) -> None:
    node = whole_pods.node(config(policy, scope), behaviour=behaviour)
    told = traced(node, of)

    rejection = told.decision.rejection
    assert rejection is None or explanations.of_reason(rejection)
    if told.refusal is not None:
        assert told.refusal.reason.text


def test_the_sets_are_those_for_all_that_the_pod_asks_for() -> None:
    node = whole_pods.node(config("single-numa-node"))
    (subject,) = traced(node, TOO_BIG).subjects
    (memory,) = [each for each in subject.answers if each.provider == "memory"]

    assert memory.answer is AnswerKind.SETS
    assert [each.nodes for each in memory.sets if each.offered] == [[0, 1]]


def test_what_a_pod_has_in_all_is_what_it_asked_for() -> None:
    node = whole_pods.node()
    decision = node.admit(FITS)[1]
    assert pod_sums.pod_sums(decision, node.rules.machine).memory_bytes == {"memory": 2 << 30}
