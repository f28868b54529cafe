"""Laws of a node through time: pods come and go, the kubelet restarts, in any order.

Two machines of events. On the strict one every invariant holds. On the other one policies and
scopes are free, so the kubelet's own accidents can happen: a single node that another provider
asks for, or that one container of a pod fits on, is used inside a group. After that groups and
sums need not agree, and a restart may fail. Memory and counts add up even then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.rules import StartRefused
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.core.snapshot import invariants
from numalet.core.snapshot.invariants import Invariant
from oracles import stale_pods
from values import builders
from values.builders import container, init, sidecar
from values.device_bench import GPU, devices

pytestmark = pytest.mark.property

KEPT = (cpu_file.FILE_NAME, memory_file.FILE_NAME)
Event = Callable[[Node], Node]

MACHINE = builders.machine(10, 8, 10, hugepages={2048: 1024}, node_ids=(0, 1, 3))
GPUS = {GPU: devices("g0@0 g1@1 g2@1+3")}
BEST_EFFORT = builders.pod("best-effort", Container("c"), qos=QosClass.BEST_EFFORT)

sizes = st.integers(1, 16).map("{}Gi".format)
extras: dict[str, dict[str, str]] = {"": {}, "pages": {"hugepages_2Mi": "1Gi"}, "gpu": {GPU: "1"}}
guaranteed = st.sampled_from([QosClass.GUARANTEED] * 4 + [QosClass.BURSTABLE])


@st.composite
def containers(draw: st.DrawFn) -> tuple[Container, ...]:
    """One or two containers, some with a device, and init containers and sidecars before them."""
    before = draw(st.lists(st.tuples(st.sampled_from([init, sidecar]), sizes), max_size=2))
    apps = draw(st.lists(st.tuples(sizes, st.sampled_from(sorted(extras))), min_size=1, max_size=2))
    early = [make(f"i{at}", size) for at, (make, size) in enumerate(before)]
    late = [
        container(f"a{at}", size, ContainerKind.APP, **extras[extra])
        for at, (size, extra) in enumerate(apps)
    ]
    return (*early, *late)


def config(policy: str, scope: str) -> KubeletConfig:
    """A configuration with the Memory Manager's policy Static."""
    return KubeletConfig(
        memory_manager_policy="Static",
        topology_manager_policy=policy,
        topology_manager_scope=scope,
        kube_reserved={"memory": "1Gi"},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    )


def started(of: KubeletConfig) -> Node:
    """An empty node with three devices."""
    node = nodes.start(of, MACHINE, devices=GPUS)
    assert isinstance(node, Node), node
    return node


def seen(node: Node) -> tuple[Any, ...]:
    """Everything about a node that can be seen, as values."""
    snapshot = node.snapshot
    return (
        node.state_files(),
        repr((snapshot.memory, snapshot.cpu, snapshot.device)),
        list(snapshot.pods),
        repr(snapshot.affinities),
        snapshot.assumed,
        snapshot.sources_ready,
        snapshot.revision,
    )


class Events(RuleBasedStateMachine):
    """Pods come and go, and the kubelet restarts."""

    policies: tuple[str, ...] = ("none", "best-effort", "restricted", "single-numa-node")
    scopes: tuple[str, ...] = ("container", "pod")
    never_broken: tuple[Invariant, ...] = (
        Invariant.TABLES_ADD_UP,
        Invariant.ASSIGNMENTS_COUNT_BLOCKS,
    )
    restarts_always = False

    def __init__(self) -> None:
        super().__init__()
        self.config = config("none", "container")
        self.node = started(self.config)
        self.events: list[Event] = []
        self.waiting: list[Pod] = []
        self.count = 0

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        policy = data.draw(st.sampled_from(self.policies))
        self.config = config(policy, data.draw(st.sampled_from(self.scopes)))
        self.node = started(self.config)

    def happens(self, event: Event) -> None:
        """One event; the node before it stays what it was."""
        before = seen(self.node)
        node = event(self.node)
        assert before == seen(self.node)
        self.events.append(event)
        self.node = node

    def asks(self, pod: Pod) -> None:
        """A pod asks for admission; if it may run, its containers start."""

        def event(node: Node) -> Node:
            after, decision = node.admit(pod)
            assert decision.admitted == (pod.uid in after.snapshot.pods)
            assert decision.before is node.snapshot
            return after.pod_started(pod.uid) if decision.admitted else after

        self.happens(event)

    @precondition(lambda self: not self.waiting)
    @rule(containers=containers(), qos=guaranteed)
    def a_pod_arrives(self, containers: tuple[Container, ...], qos: QosClass) -> None:
        self.count += 1
        self.asks(builders.pod(f"pod-{self.count}", *containers, qos=qos))

    @rule(data=st.data())
    def a_pod_goes(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(["never-seen", *self.node.snapshot.pods]))
        self.happens(lambda node: node.remove(uid))

    @precondition(lambda self: not self.waiting)
    @rule(data=st.data())
    def the_kubelet_restarts(self, data: st.DataObject) -> None:
        order = data.draw(st.permutations(list(self.node.snapshot.pods.values())))
        kept = order[: data.draw(st.integers(0, len(order)))]
        files = self.node.state_files()
        result = self.node.restart(self.config, MACHINE, files, GPUS)
        if isinstance(result, StartRefused):
            assert not self.restarts_always, result
            return
        after = result.state_files()
        assert [after[name] for name in KEPT] == [files[name] for name in KEPT]
        self.happens(lambda node: restarted(node, self.config))
        self.waiting = list(kept)

    @precondition(lambda self: self.waiting)
    @rule()
    def a_pod_is_seen_again(self) -> None:
        self.asks(self.waiting.pop(0))

    @precondition(lambda self: not self.waiting and not self.node.snapshot.sources_ready)
    @rule()
    def all_sources_are_heard(self) -> None:
        self.happens(Node.sources_ready)

    @rule()
    def stale_records_are_released(self) -> None:
        if self.node.snapshot.sources_ready:
            self.happens(Node.release_stale)
            assert self.node.leftovers() == ()

    @invariant()
    def no_rule_is_broken(self) -> None:
        broken = invariants.violations(self.node.snapshot)
        assert [v for v in broken if v.rule in self.never_broken] == []

    @invariant()
    def what_is_known_to_be_stale_is_all_that_is(self) -> None:
        stale_pods.check(self.node)

    @invariant()
    def the_state_file_says_what_the_ledger_says(self) -> None:
        text = self.node.state_files()[memory_file.FILE_NAME]
        loaded = memory_file.load(text, "Static")
        assert not isinstance(loaded, Finding), loaded
        assert written(loaded) == written(self.node.snapshot.memory)

    def teardown(self) -> None:
        again = started(self.config)
        for event in self.events:
            again = event(again)
        assert seen(again) == seen(self.node)


def restarted(node: Node, config: KubeletConfig) -> Node:
    """The node after a restart that is known to work."""
    after = node.restart(config, MACHINE, node.state_files(), GPUS)
    assert isinstance(after, Node)
    return after


def written(ledger: MemoryLedger) -> tuple[Any, ...]:
    """What a state file holds of a ledger; blocks of one container have no order."""
    blocks = {
        uid: {name: sorted(map(repr, held)) for name, held in by_name.items()}
        for uid, by_name in ledger.blocks.items()
    }
    return blocks, dict(ledger.nodes)


class StrictEvents(Events):
    """Where a single node is never used inside a group, because that is never preferred."""

    policies = ("restricted", "single-numa-node")
    scopes = ("container",)
    never_broken = tuple(Invariant)
    restarts_always = True

    def teardown(self) -> None:
        super().teardown()
        node = self.node.sources_ready()
        for uid in self.node.snapshot.pods:
            node = node.remove(uid)
        node, _ = node.admit(BEST_EFFORT)
        assert node.snapshot.memory.nodes == started(self.config).snapshot.memory.nodes


TestAnyPolicy = Events.TestCase
TestAnyPolicy.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestStrictly = StrictEvents.TestCase
TestStrictly.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
