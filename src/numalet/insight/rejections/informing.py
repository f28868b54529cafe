"""Events for owners: why their pods are rejected, and what would work.

An owner gets one event per cause and hour; a new cause is reported sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.cluster.verdicts import NodeVerdict
from numalet.core.model import resources
from numalet.core.model.pod import Container
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value
from numalet.core.node.largest_request import LargestRequestSearch
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.assessing import Assessment, copy_of
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.insight.fleet.kube_scheduler import Tainted
from numalet.insight.rejections.actions import Inform
from numalet.insight.rejections.rejected_pod import LABELS_KIND, OwnerLink, RejectedPod
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.shape_questions import ShapeQuestions
from numalet.wording import numbers

MOST_CHARACTERS: Final = 1000
"""Limit for the text of an event; Kubernetes allows 1,024 bytes."""
_MOST_CAUSES: Final = 4
_MOST_SEARCHES: Final = 12
_SEARCHED_NODES: Final = 4


class Informed(Value):
    """The last event of a storm; ``is_held``: it said that new pods are refused."""

    at_seconds: float
    cause: frozenset[str]
    is_held: bool = False

    def is_due(self, now_seconds: float, rules: BreakerRules) -> bool:
        """Return whether another cause may be reported; for the same one see ``is_old``."""
        return not 0 <= now_seconds - self.at_seconds < rules.window_seconds

    def is_old(self, now_seconds: float, rules: BreakerRules) -> bool:
        return not 0 <= now_seconds - self.at_seconds < rules.inform_seconds


class Explained(Value):
    """``cause`` are the obstacles without repetition; ``text`` includes figures."""

    cause: frozenset[str]
    text: str


def explained(questions: ShapeQuestions, pod: ClusterPod) -> Explained:
    """Explain why a pod of this shape fits on no node, or that it fits, and what would work."""
    cluster, asked = questions.cluster, kube_scheduler.as_new(pod)
    assessed = questions.assessor.assess(cluster, asked)
    total = len(assessed) + len(cluster.undecided)
    fitting = sum(each.fits for each in assessed.values())
    groups: dict[str, int] = {}
    for each in assessed.values():
        why = _why_not(each)
        if why is not None:
            groups[why] = groups.get(why, 0) + 1
    if cluster.undecided:
        groups["too little is known"] = len(cluster.undecided)
    largest = sorted(groups.items(), key=lambda each: (-each[1], each[0]))
    said = [f"{numbers.counted(count, 'node')}: {text}" for text, count in largest[:_MOST_CAUSES]]
    if len(largest) > _MOST_CAUSES:
        rest = sum(count for _, count in largest[_MOST_CAUSES:])
        said.append(f"{numbers.counted(rest, 'node')}: other reasons")
    text = f"{fitting} of {numbers.counted(total, 'node')} would admit such a pod now"
    text += f" ({'; '.join(said)})." if said else "."
    would = [] if fitting else list(_what_would_work(questions, asked, assessed))
    if would:
        text += f" It would be admitted if {', or if '.join(would)}."
    # Without the numbers of nodes: they change all the time and would make every event a new cause.
    return Explained(frozenset(groups), text)


def _why_not(of: Assessment) -> str | None:
    why = of.why_not
    # The taint is the breaker's own; owners need the reason behind it.
    if isinstance(why, Tainted) and why.taint.startswith(TAINT_KEY) and of.obstacle is not None:
        return of.obstacle.text
    return None if why is None else why.text


def _what_would_work(
    questions: ShapeQuestions, asked: ClusterPod, assessed: Mapping[str, Assessment]
) -> Iterator[str]:
    """Yield the largest smaller request of each kind: one resource of one container."""
    nodes = _nodes_to_search(questions, asked, assessed)
    # Each search is dozens of admissions, so their number is limited.
    searches = 0
    for container, resource in _largest_requests(asked):
        best: Quantity | None = None
        for name in nodes:
            if searches == _MOST_SEARCHES:
                break
            searches += 1
            search = LargestRequestSearch(questions.cluster.nodes[name].node)
            amount = search.together(copy_of(asked.pod, 1), container, resource)
            if amount is not None and amount.value > 0 and (best is None or best < amount):
                best = amount
        if best is not None:
            was = container.requests[resource]
            yield f"{container.name} asked for {best} of {resource} instead of {was}"


def _nodes_to_search(
    questions: ShapeQuestions, asked: ClusterPod, assessed: Mapping[str, Assessment]
) -> Sequence[str]:
    """Return nodes that refuse the pod after the scheduler's filters, one per state, by name."""
    verdicts = questions.assessor.verdicts
    table = verdicts.table(asked.pod)
    by_state: dict[object, str] = {}
    for name, each in sorted(assessed.items()):
        is_kept_away = isinstance(each.scheduler, Tainted) and each.scheduler.taint.startswith(
            TAINT_KEY
        )
        if each.rejection is not None and (each.scheduler is None or is_kept_away):
            node = questions.cluster.nodes[name].node
            verdict: NodeVerdict = table.verdict(verdicts.reader.facts(name, node))
            by_state.setdefault(verdict.key, name)
        if len(by_state) == _SEARCHED_NODES:
            break
    return tuple(by_state.values())


def _largest_requests(asked: ClusterPod) -> Iterator[tuple[Container, str]]:
    """Yield the container with the largest request of each resource; devices, CPU, memory."""
    largest: dict[str, Container] = {}
    for each in asked.pod.containers():
        for resource, amount in each.requests.items():
            known = largest.get(resource)
            if amount.value > 0 and (known is None or known.requests[resource] < amount):
                largest[resource] = each
    order = {resources.CPU: 1, resources.MEMORY: 2}
    for resource in sorted(largest, key=lambda each: (order.get(each, 0), each)):
        yield largest[resource], resource


def event(
    pods: Sequence[RejectedPod], count: int, what: Explained, more: str, rules: BreakerRules
) -> Inform:
    """Return the event for the owner of these pods; ``count`` pods were rejected in the window."""
    newest = max(pods, key=lambda each: (each.rejected_at_seconds, each.uid))
    window = f"{rules.window_seconds:.0f} s"
    text = f"{numbers.counted(count, 'pod')} rejected within {window}, {newest.reason}. "
    text += what.text + more
    return Inform(
        owner=newest.owner,
        about=_about(newest),
        shape=newest.shape,
        why=text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…",
    )


def _about(pod: RejectedPod) -> OwnerLink:
    if pod.owner.kind != LABELS_KIND and pod.chain:
        return pod.chain[-1]
    return OwnerLink("v1", "Pod", pod.namespace, pod.name, pod.uid)
