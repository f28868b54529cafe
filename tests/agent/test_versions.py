"""Resource versions: what clients are sent of every change, and that no version comes twice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.agent.controller import changes, store_files
from numalet.agent.controller.changes import History
from numalet.agent.controller.journal import FILE_NAME as JOURNAL
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.wiring import Hooks
from numalet.agent.servers.door import ChangeKind, PodChange, RequestRefusal, RequestRefused
from numalet.core.workload.records import EventKind, NodeEvent, PodRecord
from numalet.core.workload.run import PodRun
from running.agents import pod, running, settings
from servers import views

NOW = datetime(2026, 1, 2, tzinfo=UTC)
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
NODE = views.started("2n2c1t")


def record(name: str, uid: str, note: int = 0) -> PodRecord:
    workload = replace(pod(name), pod=replace(pod(name).pod, uid=uid))
    return PodRecord(workload, PodRun(accepted_at=NOW), note)


def applied(expected: dict[str, PodRecord], found: list[PodChange]) -> dict[str, PodRecord]:
    """What a client knows after these changes."""
    known = dict(expected)
    for change in found:
        name = change.record.workload.pod.name
        if change.kind is ChangeKind.DELETED:
            del known[name]
        else:
            assert (name in known) is (change.kind is ChangeKind.MODIFIED)
            assert known.get(name) is change.before
            known[name] = change.record
    return known


def known(state: NodeState) -> dict[str, PodRecord]:
    return {each.workload.pod.name: each for each in state.records.values()}


STEPS = st.tuples(st.sampled_from(["set", "go", "again"]), st.sampled_from("abc"))


@pytest.mark.property
@given(st.lists(st.lists(STEPS, max_size=6), min_size=1, max_size=4))
def test_changes_lead_from_any_version_to_the_latest(batches: list[list[tuple[str, str]]]) -> None:
    state, uids = NodeState(node=NODE, resource_version=5), iter(range(1000))
    history: list[PodChange] = []
    lives = {5: known(state)}
    for batch in batches:
        before = state
        for what, name in batch:
            there = state.named("default", name)
            if there is not None and what != "set":
                state = state.without(there.uid)
            if what != "go":
                uid = there.uid if there is not None and what == "set" else f"u{next(uids)}"
                state = state.with_record(record(name, uid))
        found = changes.of_pods(before, state)
        versions = [each.resource_version for each in found]
        assert versions == sorted(set(versions)), "each change has a version of its own"
        assert all(before.resource_version < each <= state.resource_version for each in versions)
        history += found
        state = replace(state, gone={})
        lives[state.resource_version] = known(state)
    for version, expected in lives.items():
        later = [each for each in history if each.resource_version > version]
        assert applied(expected, later) == known(state)


def test_two_pods_that_go_at_once_go_at_versions_of_their_own() -> None:
    state = NodeState(node=NODE).with_record(record("a", "1")).with_record(record("b", "2"))
    found = changes.of_pods(state, state.without("1").without("2"))
    assert [(each.kind, each.resource_version) for each in found] == [
        (ChangeKind.DELETED, 3),
        (ChangeKind.DELETED, 4),
    ]


def event(reason: str, count: int = 1) -> NodeEvent:
    return NodeEvent(
        kind=EventKind.NORMAL,
        reason=reason,
        message="m",
        at=NOW,
        resource_version=0,
        pod_uid="u",
        count=count,
    )


def test_an_event_that_makes_room_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numalet.agent.controller.node_state.EVENTS_KEPT", 2)
    before = NodeState(node=NODE).with_event(event("a")).with_event(event("b"))
    after = before.with_event(event("a")).with_event(event("c"))
    found = changes.of_events(before, after)
    assert [(each.kind.value, each.event.reason, each.resource_version) for each in found] == [
        ("MODIFIED", "a", 3),
        ("ADDED", "c", 4),
        ("DELETED", "b", 4),
    ]
    assert found[0].before is before.events[0]


def test_what_is_forgotten_is_refused_for_lists_too() -> None:
    history: History[PodChange] = History(lambda: views.view(NODE, resource_version=5), 3, kept=1)
    for state in (NodeState(node=NODE, resource_version=3),):
        first = state.with_record(record("a", "1"))
        second = first.with_record(record("b", "2"))
        history.publish(changes.of_pods(state, first))
        history.publish(changes.of_pods(first, second))
    assert history.past(5) == []
    found = history.past(3)
    assert isinstance(found, RequestRefused)
    assert found.why is RequestRefusal.TOO_OLD


def at(moment: datetime) -> Hooks:
    return Hooks(clock=lambda: moment)


@pytest.mark.parametrize("later", [NOW, LONG_AGO], ids=["same clock", "clock set back"])
async def test_no_version_comes_twice(tmp_path: Path, later: datetime) -> None:
    async def lived(hooks: Hooks) -> tuple[int, int]:
        async with running(settings(tmp_path), hooks=hooks) as agent:
            controller = agent.controller
            first = controller.view().resource_version
            await controller.create(pod("a"))
            await agent.until(lambda: agent.phase("a") == "running")
            await controller.delete("default", "a", grace_seconds=0)
            await agent.until(lambda: not agent.names())
            last = controller.view().resource_version
            too_new = controller.pod_changes(last + 1)
            assert isinstance(too_new, RequestRefused)
            assert too_new.why is RequestRefusal.TOO_NEW
            return first, last

    _, last = await lived(at(NOW))
    # The latest versions were those of a pod that is gone and of events; these are lost.
    (tmp_path / JOURNAL).unlink()
    first, _ = await lived(at(later))
    assert first > last
    async with running(settings(tmp_path), hooks=at(later)) as agent:
        old = agent.controller.pod_changes(last)
        assert isinstance(old, RequestRefused)
        assert old.why is RequestRefusal.TOO_OLD


def test_the_node_keeps_its_age(tmp_path: Path) -> None:
    async def age(moment: datetime) -> datetime:
        async with running(settings(tmp_path), hooks=at(moment)) as agent:
            return agent.controller.view().node_created_at

    assert [asyncio.run(age(moment)) for moment in (NOW, datetime.now(UTC))] == [NOW, NOW]


@pytest.mark.parametrize("text", ["", "[]", '{"createdAt": 5}', "\0", '{"versionsBelow": -1}'])
def test_a_damaged_file_is_replaced(tmp_path: Path, text: str) -> None:
    path = tmp_path / store_files.NODE_FILE
    path.write_text(text)
    found = store_files.begin_life(tmp_path, NOW)
    assert (found.created_at, found.first_version) == (NOW, int(NOW.timestamp() * 1_000_000))
    again = store_files.begin_life(tmp_path, NOW)
    assert again.first_version == found.first_version + store_files.VERSIONS_OF_A_LIFE
