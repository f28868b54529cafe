"""A node taken through steps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.pod import ContainerKey
from numalet.insight.simulate.session import (
    MEMORY_STATE_FILE,
    RemoveStep,
    RestartStep,
    Session,
    decisions,
)
from values import builders
from values.builders import GI, simple
from values.sessions import CONFIG, MACHINE, begun, taken


def reserved(session: Session) -> list[int]:
    ledger = session.node.snapshot.memory
    return [node.tables["memory"].reserved // GI for node in ledger.nodes.values()]


def test_a_pod_that_arrives_is_asked_about_and_known() -> None:
    after, (record,) = taken(begun(), simple("u", "4Gi"))

    (decision,) = decisions([record])
    assert decision.admitted
    assert (list(after.pods), reserved(after)) == (["u"], [4, 0])


def test_containers_of_an_admitted_pod_start_at_once() -> None:
    pod = builders.pod("u", builders.init("i", "7Gi"), builders.container("c", "2Gi"))

    after, _ = taken(begun(), pod)

    assert reserved(after) == [2, 0]


def test_a_refused_pod_is_known_too() -> None:
    after, (record,) = taken(begun(), simple("u", "40Gi"))

    (decision,) = decisions([record])
    assert not decision.admitted
    assert list(after.pods) == ["u"]
    assert list(after.node.snapshot.pods) == []


def test_a_removed_pod_is_not_active() -> None:
    after, records = taken(begun(), simple("u", "4Gi"), RemoveStep("u"))

    assert records[1] == (RemoveStep("u"), ())
    assert after.node.leftovers() == (ContainerKey("u", "c"),)


def test_a_restart_shows_the_pods_in_the_given_order() -> None:
    arrived, _ = taken(begun(), *(simple(uid, size) for uid, size in (("a", "4Gi"), ("b", "8Gi"))))

    after, (record,) = taken(arrived, RestartStep(("b", "a")))

    assert [decision.pod.uid for decision in decisions([record])] == ["b", "a"]
    assert list(after.node.snapshot.pods) == ["b", "a"]
    assert after.node.snapshot.sources_ready
    assert reserved(after) == reserved(arrived)


def test_a_pod_that_is_gone_after_a_restart_loses_its_memory_at_the_next_admission() -> None:
    after, _ = taken(
        begun(),
        simple("a", "4Gi"),
        RestartStep(()),
        simple("b", "1Gi"),
    )

    assert reserved(after) == [1, 0]


def test_a_restart_may_bring_another_configuration_and_no_state() -> None:
    other = replace(CONFIG, topology_manager_policy="best-effort")
    arrived, _ = taken(begun(), simple("a", "4Gi"))

    after, _ = taken(arrived, RestartStep((), config=other, state_files={MEMORY_STATE_FILE: ""}))

    assert (after.config, after.machine, reserved(after)) == (other, MACHINE, [0, 0])


def test_a_restart_on_another_machine_with_its_old_state_fails() -> None:
    arrived, _ = taken(begun(), simple("a", "4Gi"))

    after, (record,) = taken(arrived, RestartStep(("a",), machine=builders.machine(12, 10)))

    _, refused = record
    assert isinstance(refused, StartRefused)
    assert refused.stage is StartStage.MEMORY_MANAGER_START
    assert after == arrived


@pytest.mark.parametrize("uid", ["u", "never-seen"])
def test_removing_twice_or_a_stranger_changes_nothing_more(uid: str) -> None:
    once, _ = taken(begun(), simple("u", "4Gi"), RemoveStep("u"))
    twice, _ = taken(once, RemoveStep(uid))

    assert (twice.node.leftovers(), reserved(twice)) == (once.node.leftovers(), reserved(once))
