"""A manager that does nothing is not asked: what it would say is known."""

from __future__ import annotations

from numalet.core.config.rules import MemoryPolicy, TopologyPolicy
from numalet.core.hints.provider import NO_HINTS, ZERO_HINT
from values import builders
from values.builders import aligned, container, node, pod, rules

ONE = pod("u", container("c", "1Gi"))


def test_an_idle_manager_would_have_no_hint_and_change_nothing() -> None:
    """These are the CPU Manager with the policy none, and the Memory Manager with None."""
    off = rules(
        builders.machine(10, 10), aligned(TopologyPolicy.RESTRICTED), policy=MemoryPolicy.NONE
    )
    started = node(off)
    idle = [slot for slot in started.roster.slots if slot.is_idle]
    assert [slot.provider for slot in idle] == ["cpu", "memory"]

    snapshot = started.snapshot.with_pod(ONE)
    app = ONE.app_containers[0]
    for slot in idle:
        assert slot.container_hints(snapshot, ONE, app) == NO_HINTS
        assert slot.pod_hints(snapshot, ONE) == NO_HINTS
        assert slot.whole_pod_hints(snapshot, ONE) == NO_HINTS
        assert slot.allocate(snapshot, ONE, app, ZERO_HINT) is snapshot
        assert slot.allocate_whole_pod(snapshot, ONE, ZERO_HINT) is snapshot
        assert slot.forget_stale(snapshot, frozenset()) is snapshot
        assert slot.forget_pods(snapshot, [ONE.uid]) is snapshot
        assert slot.container_started(snapshot, ONE, app) is snapshot
        assert list(slot.holders(snapshot)) == []


def test_a_manager_at_work_is_not_idle() -> None:
    slots = node(rules(builders.machine(10))).roster.slots
    assert [slot.provider for slot in slots if not slot.is_idle] == ["device", "memory"]
