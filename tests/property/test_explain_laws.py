"""Laws of explanations, on queues and pods made at random.

What is offered is applied again from nothing here, without the code that offered it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import StartRefused
from numalet.core.model.machine_info import HugePages, MachineInfo
from numalet.core.model.pod import Container, Pod
from numalet.core.model.pod_demand import qos_class
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.explain import search, story
from numalet.insight.explain.cases import Case, OtherNode
from numalet.insight.explain.change import (
    AdjustedRequest,
    Change,
    Earlier,
    NoTopology,
    OtherMachine,
    OtherTopology,
    Reordered,
    SmallerRequest,
    WithoutContainer,
    WithoutPods,
)
from numalet.insight.simulate import recording
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.pods import pod_manifest
from values.builders import container, init, pod
from values.explain_bench import GPU, GPUS, STATIC_CPUS, case, config, forever, session, shape

pytestmark = pytest.mark.property


def paged(with_pages: tuple[int, ...], node_ids: tuple[int, int] = (0, 1)) -> MachineInfo:
    """A machine with pages of 2 Mi on all nodes, and of 1 Gi on some; ids perhaps with gaps."""
    of = shape()
    pages = (HugePages(2048, 512), HugePages(1 << 20, 3))
    nodes_ = tuple(
        replace(node, node_id=node_id, hugepages=pages[: 1 + (at in with_pages)])
        for at, (node, node_id) in enumerate(zip(of.nodes, node_ids, strict=True))
    )
    return replace(of, nodes=nodes_)


POLICIES = st.sampled_from(["none", "best-effort", "restricted", "single-numa-node"])
SCOPES = st.sampled_from(["container", "pod"])
MACHINES = st.sampled_from([shape(), paged((0,)), paged((0, 1)), paged((0,), (0, 7))])
SIZES = st.sampled_from(["512Mi", "1Gi", "3Gi", "6Gi", "9Gi", "12Gi", "15Gi"])
LARGE = shape("2n8c2t", "32Gi")


@st.composite
def containers(draw: st.DrawFn, name: str, *, is_init: bool = False) -> Container:
    """A container with memory, whole CPUs, and a device or huge pages now and then."""
    made = (init if is_init else container)(name, draw(SIZES))
    wanted = {**made.requests, "cpu": Quantity.from_int(draw(st.integers(1, 6)))}
    if draw(st.integers(0, 3)) == 0:
        wanted[GPU] = Quantity.from_int(draw(st.integers(1, 3)))
    if draw(st.integers(0, 3)) == 0:
        # The last size is one that no node has.
        size = draw(st.sampled_from(["hugepages-2Mi", "hugepages-1Gi", "hugepages-16Mi"]))
        wanted[size] = Quantity.parse(draw(st.sampled_from(["2Gi", "4Gi", "0"])))
    return replace(made, requests=wanted, limits=wanted)


@st.composite
def pods(draw: st.DrawFn, uid: str) -> Pod:
    """A Guaranteed pod of one or two containers, and an init container now and then."""
    made = [draw(containers(f"c{at}")) for at in range(draw(st.integers(1, 2)))]
    if draw(st.integers(0, 3)) == 0:
        made.insert(0, draw(containers("i", is_init=True)))
    return pod(uid, *made)


@st.composite
def rejected(draw: st.DrawFn) -> Case:
    """A case; the pod is mostly rejected, since it asks for much."""
    configured = config(draw(POLICIES), draw(SCOPES), **STATIC_CPUS)
    begun = session(configured, draw(MACHINES), devices=GPUS)
    queue = [draw(pods(f"q{at}")) for at in range(draw(st.integers(0, 4)))]
    return case(draw(pods("u")), *queue, begun=begun, fleet=[OtherNode("large", LARGE)])


def begun_again(asked: Case, policy: str | None = None, scope: str | None = None) -> Node:
    """The node at the beginning, perhaps with another policy, from a configuration as a text."""
    fields = recording.config_document(asked.config)
    fields["topologyManagerPolicy"] = policy or asked.config.topology_manager_policy
    fields["topologyManagerScope"] = scope or asked.config.topology_manager_scope
    configured = kubelet_config.decode(json.loads(json.dumps(fields)), "config")
    node = nodes.start(configured, asked.beginning.machine, devices=asked.beginning.devices)
    assert not isinstance(node, StartRefused)
    return node


def decided(node: Node, order: Iterable[Pod], uid: str, gone: Iterable[str] = ()) -> Decision:
    """The decision on one pod of this order; the pods that are gone leave right before it."""
    for each in map(as_read, order):
        if each.uid == uid:
            for other in gone:
                node = node.remove(other)
        node, decision = node.admit(each)
        if each.uid == uid:
            return decision
        if decision.admitted:
            node = node.pod_started(each.uid)
    raise AssertionError(uid)


def as_read(asked: Pod) -> Pod:
    """The pod as its manifest says it."""
    (found,) = pod_manifest.read_pods(json.dumps(recording.pod_document(asked)), "pod").pods
    return found


def smaller(asked: Pod, name: str, resource: str, amount: Quantity | None) -> Pod:
    """The pod with another amount in one container; None: it is not named there."""

    def changed(each: Container) -> Container:
        wanted = {n: q for n, q in each.requests.items() if n != resource}
        wanted |= {} if amount is None else {resource: amount}
        return replace(each, requests=wanted, limits=wanted) if each.name == name else each

    return replace(
        asked,
        init_containers=tuple(map(changed, asked.init_containers)),
        app_containers=tuple(map(changed, asked.app_containers)),
    )


def applied(asked: Case, change: Change) -> Decision:
    """The decision with this change, made from the very beginning."""
    everybody, uid = [*asked.queue, asked.pod], asked.pod.uid
    node = begun_again(asked)
    match change:
        case NoTopology():
            return decided(begun_again(asked, "none"), everybody, uid)
        case OtherTopology(policy, scope):
            return decided(begun_again(asked, policy, scope), everybody, uid)
        case SmallerRequest() | AdjustedRequest():
            other = smaller(asked.pod, change.container, change.resource, change.amount)
            return decided(node, [*asked.queue, other], uid)
        case WithoutContainer(name):
            inits = tuple(each for each in asked.pod.init_containers if each.name != name)
            apps = tuple(each for each in asked.pod.app_containers if each.name != name)
            other = replace(
                asked.pod,
                init_containers=inits,
                app_containers=apps,
                qos_class=qos_class((*inits, *apps)),
            )
            return decided(node, [*asked.queue, other], uid)
        case WithoutPods(uids):
            return decided(node, everybody, uid, gone=uids)
        case Earlier(position):
            order = [*asked.queue]
            order.insert(position, asked.pod)
            return decided(node, order, uid)
        case Reordered(uids):
            by_uid = {each.uid: each for each in everybody}
            return decided(node, [by_uid[each] for each in uids], uid)
        case OtherMachine():
            there = nodes.start(asked.config, LARGE, devices=asked.beginning.devices)
            assert not isinstance(there, StartRefused)
            return decided(there, [asked.pod], uid)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(rejected())
def test_every_offer_admits_the_pod_when_it_is_applied(asked: Case) -> None:
    told = story.trace(asked)
    if told.decision.admitted:
        return
    for tally in search.search(asked, told, forever):
        for offer in tally.offers:
            assert applied(asked, offer.change).admitted, offer.change
            if isinstance(offer.change, SmallerRequest):
                one_more = replace(offer.change, amount=offer.change.one_more)
                assert not applied(asked, one_more).admitted, offer.change


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(rejected())
def test_the_story_is_that_of_the_decision(asked: Case) -> None:
    told = story.trace(asked)
    _, decision = asked.node.admit(asked.pod)

    assert told.decision == decision
    for subject in told.subjects:
        assert subject.finalists is not None
        if subject.finalists:
            best = subject.finalists[0]
            chosen = subject.merged
            assert chosen.nodes in (None, best.nodes)
            assert best.preferred == chosen.preferred
        else:
            assert not subject.merged.preferred


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(rejected())
def test_a_set_is_offered_or_has_a_reason(asked: Case) -> None:
    for subject in story.trace(asked).subjects:
        for answer in subject.answers:
            for each in answer.sets:
                assert each.offered == (each.preferred is not None)
