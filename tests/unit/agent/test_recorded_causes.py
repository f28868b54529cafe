"""Causes of ends that were recorded as a code and values, and the sentences made of them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from numalet.agent.controller import decisions, steps, transitions, unpromised
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import Began
from numalet.agent.host.runtime.port import NotStarted
from numalet.core.model.findings import Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.workload import rejections
from numalet.core.workload.run import Cause
from numalet.io.documents.pods import pod_record
from numalet.io.findings.files import RecordTextOnly
from numalet.shared.findings import runtime
from numalet.shared.findings.runtime import RuntimeNotExecutable, RuntimeProgramNotFound
from numalet.wording import kubelet
from running import agents

NOW = datetime(2030, 1, 1, tzinfo=UTC)

CLASSES = [
    each
    for each in vars(runtime).values()
    if isinstance(each, type) and issubclass(each, Finding) and each is not Finding
]


def example(of: type[Finding]) -> Finding:
    """One of them, with values that a sentence has to quote."""
    kinds = {each.name: each.type for each in msgspec.structs.fields(of)}
    values: dict[str, Any] = {
        name: 7 if kind is int else f"it's {{{name}}}"
        for name, kind in kinds.items()
        if name not in ("where", "severity")
    }
    return of(**values)


@pytest.mark.parametrize("of", CLASSES, ids=lambda of: of.code)
def test_a_recorded_cause_says_what_its_finding_said(of: type[Finding]) -> None:
    finding = example(of)
    cause = Cause.of(finding)
    assert runtime.sentence(cause.code, cause.fields) == str(finding)


def test_a_failed_start_is_recorded_as_a_code_and_told_as_a_sentence(tmp_path: Path) -> None:
    premises = agents.settings(tmp_path).premises
    node = nodes.start(premises.config, premises.machine, behaviour=premises.behaviour)
    assert isinstance(node, Node)
    pod = agents.pod("one")
    state = decisions.create(NodeState(node=node), pod, NOW, lambda: 0.0).state
    state = steps.advance(state, pod.uid, NOW).state
    why = RuntimeProgramNotFound(program="mine")
    key = ContainerKey(pod.uid, "main")
    state = transitions.after_fact(state, Began(key, 1, NotStarted(why)), NOW)
    exit_ = state.records[pod.uid].run.of("main").last_exit
    assert exit_ is not None
    assert exit_.cause == Cause("runtime/program-not-found", {"program": "mine"})
    assert str(why).encode() not in pod_record.encode(state.records[pod.uid])
    assert f"Error: {why}" in [each.message for each in state.events]


@pytest.mark.parametrize("is_of_before", [False, True])
def test_a_lost_promise_is_recorded_as_codes_and_announced_once(
    is_of_before: bool, tmp_path: Path
) -> None:
    premises = agents.settings(tmp_path).premises
    node = nodes.start(premises.config, premises.machine, behaviour=premises.behaviour)
    assert isinstance(node, Node)
    other, pod = agents.pod("other", memory="20Gi"), agents.pod("one", memory="13Gi")
    state = decisions.create(NodeState(node=node), pod, NOW, lambda: 0.0).state
    record = steps.advance(state, pod.uid, NOW).state.records[pod.uid]
    # It runs, and another pod has what it was promised.
    state = decisions.create(NodeState(node=node), other, NOW, lambda: 0.0).state
    before = state.with_record(record)
    decided = decisions.readmit(before, record, NOW, lambda: 0.0)
    rejection = decided.traces[0].decision.rejection
    assert rejection is not None

    if is_of_before:
        cause = Cause.of(RecordTextOnly(text=kubelet.message(rejection)))
        record = replace(record, run=replace(record.run, causes=(cause,)))
    after = unpromised.kept(before, decided, record, NOW)
    causes = after.records[pod.uid].run.causes
    assert causes == rejections.causes(rejection)
    announced = [each.message for each in after.events if each.reason == "Unpromised"]
    assert len(announced) == (0 if is_of_before else 1)
    assert all(kubelet.message(rejection) in each for each in announced)
    again = unpromised.kept(after, decided, after.records[pod.uid], NOW)
    assert again.records[pod.uid] == after.records[pod.uid]
    assert again.events == after.events


def test_a_cause_of_another_release_is_shown_as_it_is() -> None:
    assert runtime.sentence("runtime/later", {}) == "runtime/later"
    assert runtime.sentence("runtime/later", {"a": "1", "b": "x y"}) == (
        "runtime/later: a '1', b 'x y'"
    )


def test_unknown_values_are_passed_over_and_missing_ones_not_made_up() -> None:
    fields = Cause.of(RuntimeNotExecutable(program="p", error="no")).fields
    whole = str(RuntimeNotExecutable(program="p", error="no"))
    assert runtime.sentence("runtime/not-executable", {**fields, "later": "1"}) == whole
    assert runtime.sentence("runtime/not-executable", {"program": "p"}) == (
        "runtime/not-executable: program 'p'"
    )
