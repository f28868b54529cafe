"""A smaller or simpler shape of a pod that some node of a cluster admits now.

The search is the one of ``numalet explain``, for a few nodes that stand for all: one for each
reason why nodes refuse the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.insight.explain import cases, search, story
from numalet.insight.explain.cases import Case
from numalet.insight.explain.change import SmallerRequest
from numalet.insight.explain.explanation_types import Category
from numalet.insight.explain.tally import Offer
from numalet.insight.fleet.assessing import Assessment, WhyNot
from numalet.insight.fleet.kube_scheduler import SchedulerQuestion
from numalet.wording import explanations

MOST_NODES: Final = 8
"""Limit of searched nodes; each costs up to some hundred admissions."""

_SHAPES: Final = (Category.WHOLE_UNITS, Category.FEWER_CONTAINERS, Category.SMALLER_REQUEST)


class OtherShape(Value):
    """A changed pod, in words, and the node that admits it."""

    text: str
    node: str


def case_of(each: Assessment, pod: Pod, known: Iterable[Pod] = ()) -> Case:
    """Return the case of a pod on a node as it is now; ``known`` are pods with names."""
    node, names = each.node.node, {one.uid: one for one in known}
    # The configuration is used only by searches for another one.
    return cases.running_case(cases.running_session(node, KubeletConfig(), names), (), pod)


def other_shape(assessed: Mapping[str, Assessment], pod: ClusterPod) -> OtherShape | None:
    """Return the least change of the pod with which a node admits it, if one was found.

    ``pod`` is new, and fits on none of the assessed nodes. A changed form is less than a dropped
    container, and that is less than a smaller request; of these the largest is returned.
    """
    found: list[tuple[tuple[int, float], str, str]] = []
    for each in _representatives(assessed, pod):
        case = case_of(each, pod.pod)
        for rank, offer in _offers(case):
            found.append((rank, explanations.of_reason(offer.change), each.node.name))
    if not found:
        return None
    _, text, node = min(found)
    return OtherShape(text, node)


def _representatives(assessed: Mapping[str, Assessment], pod: ClusterPod) -> Iterator[Assessment]:
    question = SchedulerQuestion.about(pod)
    by_reason: dict[WhyNot | None, Assessment] = {}
    for _, each in sorted(assessed.items()):
        # No smaller shape fits where nothing is left of a resource.
        is_empty = any(amount <= 0 for amount in each.left)
        if is_empty or question.about_the_node(each.node) is not None:
            continue
        known = by_reason.setdefault(each.why_not, each)
        if each.left > known.left:
            by_reason[each.why_not] = each
    ordered = sorted(by_reason.values(), key=lambda each: each.left, reverse=True)
    yield from ordered[:MOST_NODES]


def _offers(case: Case) -> Iterator[tuple[tuple[int, float], Offer]]:
    """Yield changes that cost no other pod, each with a rank; less is better."""
    for tally in search.search(case, story.trace(case), lambda: True, _SHAPES):
        for offer in (each for each in tally.offers if not each.outcome.lost):
            change, kept = offer.change, 1.0
            if isinstance(change, SmallerRequest):
                kept = change.amount.value / change.asked.value
            yield (_SHAPES.index(tally.category), -kept), offer
