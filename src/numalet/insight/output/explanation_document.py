"""Builds an explanation: what ``numalet explain -o json`` prints.

Every reason has its code, its figures and a sentence; sets of NUMA nodes are lists.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

import msgspec

from numalet.core.admission.decision import Decision
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.config.rules import StartRefused
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model import machine_queries as ask
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.insight.explain import measures, story
from numalet.insight.explain import tally as tally_order
from numalet.insight.explain.cases import Case
from numalet.insight.explain.change import Change, ChangeOutcome
from numalet.insight.explain.explanation_types import (
    CategoryDocument,
    Explanation,
    ExplanationContainerDocument,
    ExplanationCpusDocument,
    ExplanationDevicesDocument,
    ExplanationNodeDocument,
    ExplanationNotStartedDocument,
    HeldDocument,
    KeptCpusDocument,
    OfferDocument,
    PodDocument,
    QueuedDocument,
    SizesDocument,
    reason_of,
)
from numalet.insight.explain.story import Story
from numalet.insight.explain.tally import Tally
from numalet.insight.maps import resource_maps, room
from numalet.insight.output import explanation_verdict
from numalet.insight.simulate import simulation_document
from numalet.insight.simulate.session import NO_FILES, Session
from numalet.wording import kubelet, kubelet_start

_MOST_CAUSES: Final = 100
"""A cause costs as much as several admissions."""


def explanation(
    case: Case, traced: Story, tallies: Iterable[Tally], assumed_running: int = 0
) -> Explanation:
    """Return the decision, its story, and the changes that would have admitted or aligned the pod.

    ``assumed_running`` is the number of pods that only the state files know.
    """
    decision = traced.decision
    rejection = decision.rejection
    rules = traced.roster.rules
    offered = [_tally(each, case) for each in tally_order.in_order(tallies)]
    made = Explanation(
        schema="numalet.explanation/2",
        pod=_pod(decision.pod),
        mode=rules.behaviour.mode,
        release=rules.release.name,
        policy=rules.topology.policy,
        scope=rules.topology.scope,
        queue=[QueuedDocument(str(pod), pod.uid, pod.uid in case.admitted) for pod in case.queue],
        replay_refused=[
            simulation_document.refused(pod, case.refused[pod.uid])
            for pod in case.queue
            if pod.uid in case.refused
        ],
        admitted=decision.admitted,
        reason=kubelet.reason(rejection),
        message=kubelet.message(rejection),
        why=None if rejection is None else reason_of(rejection),
        evicted=list(decision.evicted),
        not_asked=simulation_document.not_asked(decision),
        passed_over=list(decision.passed_over),
        nodes=list(numa_mask.ids(measures.span_of(traced.roster, decision.after, decision.pod))),
        nodes_before=_nodes(case.node),
        held_before=_held(case),
        subjects=traced.subjects,
        allocated=traced.allocated,
        refused_allocation=traced.refusal,
        would_admit=[] if decision.admitted else offered,
        would_align=offered if decision.admitted else [],
        stranded=_stranded(case),
        assumed_running=assumed_running,
        contradiction=case.contradiction,
        requests=room.requests_sentence(case.node),
    )
    made.cause = explanation_verdict.cause(made)
    made.first_line = explanation_verdict.first_line(made)
    return made


def causes(session: Session, made: Iterable[Decision]) -> dict[int, str]:
    """Return ``cause`` of the explanations of the first rejections, by identity of the decision.

    ``session`` is that after the decisions. The node decides again on the snapshot after each
    rejection. Left out are those on which it would decide otherwise, which happens only if it
    restarted with another configuration.
    """
    found: dict[int, str] = {}
    for decision in islice((each for each in made if not each.admitted), _MOST_CAUSES):
        node = session.node.at(decision.after).without_plugins()
        beginning = replace(session, node=node)
        traced = story.trace(Case(beginning, NO_FILES, (), decision.pod, (node,), frozenset()))
        again = traced.decision.rejection
        if again is not None and again == decision.rejection:
            found[id(decision)] = explanation_verdict.cause(
                explanation_verdict.Traced(
                    pod=_pod(decision.pod),
                    policy=traced.roster.rules.topology.policy,
                    scope=traced.roster.rules.topology.scope,
                    admitted=False,
                    why=reason_of(again),
                    subjects=traced.subjects,
                    refused_allocation=traced.refusal,
                )
            )
    return found


def not_started(refused: StartRefused, release: Release = DEFAULT) -> ExplanationNotStartedDocument:
    return ExplanationNotStartedDocument(
        schema="numalet.explanation/2",
        release=release.name,
        start_error=kubelet_start.text(refused),
        start_error_stage=refused.stage.value,
    )


def _pod(pod: Pod) -> PodDocument:
    """Return the pod, with pod-level requests only if the kubelet uses them."""
    whole = pod.pod_level if pod.pod_level is not None and pod.pod_level.count else None
    return PodDocument(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        qos_class=pod.qos_class,
        containers=[
            ExplanationContainerDocument(
                container.name,
                container.kind,
                {name: str(q) for name, q in sorted(container.requests.items())},
            )
            for container in pod.containers()
        ],
        pod_requests={} if whole is None else {name: str(q) for name, q in whole.requests.items()},
    )


def _tally(tally: Tally, case: Case) -> CategoryDocument:
    return CategoryDocument(
        category=tally.category,
        tried=tally.tried,
        ended_early=tally.ended_early,
        offers=[_offer(each.change, each.outcome, case) for each in tally.offers],
        would_not_start=[_offer(each.change, each.outcome, case) for each in tally.refusals],
    )


def _offer(change: Change, result: ChangeOutcome, case: Case) -> OfferDocument:
    why = reason_of(change)
    if isinstance(result.decision, StartRefused):
        text = kubelet_start.text(result.decision)
        return OfferDocument(why.code, why.text, why.figures, start_error=text)
    return OfferDocument(
        why.code,
        why.text,
        why.figures,
        nodes=list(numa_mask.ids(result.span)),
        lost=[case.name_of(uid) for uid in result.lost],
    )


def _nodes(node: Node) -> list[ExplanationNodeDocument]:
    """Return every NUMA node with the figures of the managers that are on."""
    classes = ask.classes_by_node(node.rules.machine)
    memory = node.snapshot.memory.nodes
    return [
        ExplanationNodeDocument(
            node=node_id,
            node_class=classes[node_id],
            group=list(numa_mask.ids(memory[node_id].group)) if node_id in memory else [node_id],
            types=_types(node, node_id),
            cpus=_cpus(node, node_id),
            devices=_devices(node, node_id),
        )
        for node_id in node.rules.machine.node_ids
    ]


def _types(node: Node, node_id: int) -> dict[str, SizesDocument]:
    memory = node.snapshot.memory.nodes.get(node_id)
    return {
        each.resource: SizesDocument(
            total_bytes=each.total_bytes,
            allocatable_bytes=each.allocatable_bytes,
            reserved_bytes=each.reserved_bytes,
            free_bytes=each.free_bytes,
        )
        for each in (resource_maps.type_rows(memory) if memory is not None else ())
    }


def _cpus(node: Node, node_id: int) -> ExplanationCpusDocument | None:
    """Return the CPUs of a NUMA node that may become exclusive, if it has any."""
    policy = node.roster.static_cpus
    if policy is None:
        return None
    cpus = measures.cpus_by_node(node.roster)[node_id]
    there = cpus & policy.allocatable
    free = measures.free_cpus(node)[node_id]
    if not there:
        return None
    return ExplanationCpusDocument(len(there), cpu_set.text(free), cpu_set.text(cpus - there))


def _devices(node: Node, node_id: int) -> dict[str, ExplanationDevicesDocument]:
    ledger = node.snapshot.device
    counts = {}
    for resource in sorted(ledger.inventory.registered):
        masks = ledger.inventory.devices_of(resource).masks
        here = {name for name, mask in masks.items() if mask >> node_id & 1}
        if here:
            free = len(here & ledger.free(resource))
            counts[resource] = ExplanationDevicesDocument(len(here), free)
    return counts


def _stranded(case: Case) -> list[KeptCpusDocument]:
    """Return CPUs of init containers that the other containers of their pods do not use."""
    snapshot = case.node.snapshot
    of_pods = (
        (str(pod), init.name, snapshot.cpu.exclusive.get(pod.uid, {}), pod.app_containers)
        for pod in snapshot.pods.values()
        # The kubelet treats a pod with pod-level resources as a whole and keeps no such CPUs.
        if pod.uid not in snapshot.cpu.pods
        for init in pod.init_containers
        if init.kind is ContainerKind.INIT
    )
    return [
        KeptCpusDocument(pod, init, cpu_set.text(left))
        for pod, init, held, apps in of_pods
        if init in held and any(app.name in held for app in apps)
        for left in [held[init].difference(*(held[name] for name in held if name != init))]
        if left
    ]


def _held(case: Case) -> list[HeldDocument]:
    """Return the holders of memory by node set; smaller sets first, then by name and type."""
    sizes: dict[tuple[tuple[int, ...], str, str], int] = {}
    for uid, containers in case.node.snapshot.memory.blocks.items():
        for blocks in containers.values():
            for block in blocks:
                key = (block.nodes, case.name_of(uid), block.resource)
                sizes[key] = sizes.get(key, 0) + block.size_bytes
    return [
        HeldDocument(list(mask), pod, resource, sizes[mask, pod, resource])
        for mask, pod, resource in sorted(sizes, key=lambda key: (len(key[0]), key))
    ]


def of(document: Any) -> Explanation:
    """Decode an explanation.

    Raises:
        msgspec.ValidationError: It is not an explanation, or it is from another release.
    """
    return msgspec.convert(document, Explanation)
