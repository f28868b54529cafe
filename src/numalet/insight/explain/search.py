"""What would have admitted a pod: every category of changes in turn, cheapest first.

Every category gives an answer: the changes that would have admitted the pod, or that none of so
many did. Offers inside a category that no other pod pays for come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.insight.explain import change as changes
from numalet.insight.explain import queue, smaller
from numalet.insight.explain.case import Case
from numalet.insight.explain.change import (
    NoTopology,
    OtherMachine,
    OtherTopology,
    WithoutContainer,
    WithoutRequest,
)
from numalet.insight.explain.story import Story
from numalet.insight.explain.tally import Category, Tally

KeepGoing: TypeAlias = Callable[[], bool]


def search(case: Case, traced: Story, keep_going: KeepGoing) -> Iterator[Tally]:
    """The categories one after the other, each when it is done. ``traced`` is the pod's story."""
    for category in Category:
        tally = Tally(category, keep_going)
        if category is Category.SMALLER_REQUEST:
            _smaller_requests(case, traced, tally)
        else:
            _SEARCHES[category](case, tally)
        tally.offers.sort(key=lambda offer: len(offer.outcome.lost))
        yield tally


def _policies_and_scopes(case: Case, tally: Tally) -> None:
    policy_now = case.config.topology_manager_policy
    now = policy_now, case.config.topology_manager_scope
    if policy_now != TopologyPolicy.NONE.value:
        tally.attempt(case, NoTopology())
    for policy in TopologyPolicy:
        for scope in Scope:
            other = policy.value, scope.value
            if policy is not TopologyPolicy.NONE and other != now:
                tally.attempt(case, OtherTopology(*other))


def _smaller_requests(case: Case, traced: Story, tally: Tally) -> None:
    for part in smaller.parts(case):
        request_search = smaller.SmallerRequestSearch(case, part, tally)
        change = request_search.largest(traced)
        if change is not None:
            tally.offer(change, changes.outcome(case, change))
        elif part.least == 0:
            asked = part.container.requests[part.resource]
            tally.attempt(case, WithoutRequest(part.container.name, part.resource, asked))


def _fewer_containers(case: Case, tally: Tally) -> None:
    pod = case.pod
    droppable = [*pod.init_containers, *(pod.app_containers if len(pod.app_containers) > 1 else ())]
    for container in droppable:
        tally.attempt(case, WithoutContainer(container.name))


def _other_machines(case: Case, tally: Tally) -> None:
    for position, neighbour in enumerate(case.fleet):
        tally.attempt(case, OtherMachine(position, neighbour.name))


_SEARCHES: Mapping[Category, Callable[[Case, Tally], None]] = {
    Category.POLICY_OR_SCOPE: _policies_and_scopes,
    Category.FEWER_CONTAINERS: _fewer_containers,
    Category.FREED_PODS: queue.freeing,
    Category.QUEUE_ORDER: queue.ordering,
    Category.OTHER_MACHINE: _other_machines,
}
