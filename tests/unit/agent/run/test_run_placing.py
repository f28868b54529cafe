"""Places on several NUMA nodes, over shared node state, without starting anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from numalet.agent.controller import owners, settings
from numalet.agent.controller.recovery import Premises
from numalet.agent.controller.shared_state import SharedState
from numalet.agent.host.runtime import enforcement
from numalet.agent.run import placement_notes, request
from numalet.agent.run.placing import NoPlace, Placed, Placer
from numalet.agent.run.request import RunRequest
from numalet.agent.run.without_agent import SharedAllocator
from numalet.core.config.behaviour import NATIVE
from numalet.core.model.pod import Pod
from numalet.insight.explain import search, story
from numalet.insight.explain.cases import Case
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import explanation_document
from numalet.io.machines import MachineChoice


def asked(cpus: int, memory: str | None = "1Gi") -> Pod:
    return request.pod(RunRequest(command=("./app",), cpus=str(cpus), memory=memory), f"uid-{cpus}")


@pytest.fixture
def placers(tmp_path: Path) -> Callable[[str], Placer]:
    """Makers of what places commands of two root folders on two nodes of four CPUs, by policy."""
    on = MachineChoice(text="2n4c1t", memory_per_node="16Gi").open().info
    state = SharedState(tmp_path / "root")
    assert state.prepare()

    def of(policy: str) -> Placer:
        config = replace(settings.fitted(on), topology_manager_policy=policy)
        premises = Premises(config=config, machine=on, behaviour=NATIVE)
        return Placer(
            state, tmp_path / "root", premises, enforcement.ground(), owners.beside(tmp_path)
        )

    return of


def test_a_refusal_names_who_has_what(placers: Callable[[str], Placer]) -> None:
    placer = placers("restricted")
    for uid in ("first", "second"):
        pod = replace(asked(2), uid=uid)
        assert isinstance(placer.place(pod, ("./app", "2")), Placed)
    answer = placer.preview(asked(3))
    assert isinstance(answer, NoPlace)
    said = placement_notes.holders(answer)
    assert said.count("(./app 2) has CPUs ") == 2


def test_suggestions_for_a_refusal_take_into_account_what_runs(
    placers: Callable[[str], Placer],
) -> None:
    placer = placers("restricted")
    assert isinstance(placer.place(asked(7), ("./app", "7")), Placed)

    def explained(case: Case, running: int) -> Explanation:
        traced = story.trace(case)
        tallies = tuple(search.search(case, traced, lambda: True))
        return explanation_document.explanation(case, traced, tallies, running)

    other = replace(asked(1), uid="other")
    allocator = SharedAllocator(placer, other, ("./other",), explained)
    assert not allocator.preview().admitted
    offers = [offer for each in allocator.explanation().would_admit for offer in each.offers]
    (only,) = offers
    assert "./app 7 (process " in only.text


def test_what_single_numa_node_refuses_may_go_to_the_fewest(
    placers: Callable[[str], Placer],
) -> None:
    answer = placers("single-numa-node").preview(asked(6))
    assert isinstance(answer, NoPlace)
    found = placers("restricted").preview(asked(6))
    assert isinstance(found, Placed)
    assert found.settings.cgroup.memory_nodes == (0, 1)


def test_without_memory_pages_are_bound_to_the_nodes_of_its_cpus(
    placers: Callable[[str], Placer],
) -> None:
    found = placers("restricted").preview(asked(4, None))
    assert isinstance(found, Placed)
    assert found.settings.cgroup.memory_nodes == (1,)
    assert found.settings.cgroup.memory_max_bytes is None
    assert found.placement.memory == ()
    spread = placers("restricted").preview(asked(6, None))
    assert isinstance(spread, Placed)
    assert spread.settings.cgroup.memory_nodes == (0, 1)
