"""The largest smaller request that is admitted, found by repeated decisions.

The result is a local maximum: it is admitted, and one unit more is not. Units are bytes, pages,
CPUs, whole cores where the policy requires them, devices.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.admission.reasons import NothingToPreempt, OutOfResource
from numalet.core.config.rules import CpuPolicy, MemoryPolicy
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.managers.memory import demand as memory_demand
from numalet.core.model import resources
from numalet.core.model.pod import Container
from numalet.core.model.value import Value
from numalet.core.node import largest_request
from numalet.core.node.node import Node
from numalet.insight.explain.cases import Case
from numalet.insight.explain.change import AdjustedRequest, SmallerRequest
from numalet.insight.explain.explanation_types import ReasonDocument
from numalet.insight.explain.story import Story
from numalet.insight.explain.tally import Tally

_STEPS = 8
_MOST_PROBES = 24
_FIGURES = ("free_bytes", "allocatable_bytes", "available", "usable", "free")
"""Fields of reasons with the available amount."""


class RequestPart(Value):
    """A request of one container for a managed resource; ``asked`` is in units."""

    container: Container
    resource: str
    unit: int
    asked: int

    def change(self, units: int) -> SmallerRequest:
        return SmallerRequest(
            self.container.name,
            self.resource,
            self.container.requests[self.resource],
            largest_request.quantity(self.resource, units * self.unit),
            largest_request.quantity(self.resource, (units + 1) * self.unit),
        )

    def in_whole_units(self) -> AdjustedRequest | None:
        """Return the change to whole units, unless the request is in whole units already."""
        asked = self.container.requests[self.resource]
        amount = largest_request.quantity(self.resource, self.asked * self.unit)
        if str(amount) == str(asked):
            return None
        return AdjustedRequest(self.container.name, self.resource, asked, amount)


def parts(case: Case) -> Iterator[RequestPart]:
    """Yield every request for a managed resource, in the order of the manifest.

    If the sum of all requests is too large, every request for a node resource.
    """
    node = case.node
    is_sum = isinstance(node.admit(case.pod)[1].rejection, OutOfResource | NothingToPreempt)
    for container in case.pod.containers():
        for resource in sorted(container.requests):
            counts = is_sum and resource in node.roster.offered
            if counts or _is_managed(node, case, container, resource):
                unit = largest_request.unit_of(node.rules, resource)
                asked = -(-container.requests[resource].value // unit)
                if asked > 0:
                    yield RequestPart(container, resource, unit, asked)


def _is_managed(node: Node, case: Case, container: Container, resource: str) -> bool:
    if resources.is_memory_type(resource):
        is_on = node.rules.memory.policy is not MemoryPolicy.NONE
        return is_on and memory_demand.is_guaranteed(case.pod)
    if resource == resources.CPU:
        is_static = node.rules.cpu.policy is CpuPolicy.STATIC
        return is_static and cpu_demand.of_container(case.pod, container) > 0
    return node.snapshot.device.is_handled(resource)


class SmallerRequestSearch(Value):
    """The search for one part. The tally counts attempts, and decides when to stop."""

    case: Case
    part: RequestPart
    tally: Tally

    def largest(self, traced: Story) -> SmallerRequest | None:
        """Return the largest amount that reaches the goal while one unit more does not."""
        refused = self.part.asked
        # Admission is not monotone: the kubelet may expect a smaller amount on fewer NUMA nodes and
        # refuse it. So the search tries amounts from the top, and bisects only in the run of the
        # first admitted one.
        for units in self._probes(traced):
            if self._is_enough(units):
                return self._end_of_run(units, refused)
            refused = units
        return None

    def _end_of_run(self, admitted: int, refused: int) -> SmallerRequest | None:
        while refused - admitted > 1:
            middle = (admitted + refused) // 2
            if self._is_enough(middle):
                admitted = middle
            else:
                refused = middle
        return None if self.tally.ended_early else self.part.change(admitted)

    def _is_enough(self, units: int) -> bool:
        return self.tally.reaches_goal(self.case, self.part.change(units))

    def _probes(self, traced: Story) -> list[int]:
        part = self.part
        # A regular grid, and the amounts that providers named: there the decision may change.
        grid = {part.asked * step // _STEPS for step in range(1, _STEPS)}
        named = sorted({size // part.unit for size in _named_sizes(traced, part)}, reverse=True)[
            :_MOST_PROBES
        ]
        # A request of 0 would be another program, so the smallest amount is 1.
        wanted = grid | set(named) | {1}
        return sorted((n for n in wanted if 0 < n < part.asked), reverse=True)


def _named_sizes(traced: Story, part: RequestPart) -> Iterator[int]:
    """Yield the available amounts in the reasons of the story."""
    answers = [answer for subject in traced.subjects for answer in subject.answers]
    if traced.refusal is not None:
        yield from _figures(traced.refusal.reason)
        if traced.refusal.chosen_among is not None:
            answers.append(traced.refusal.chosen_among)
    for answer in answers:
        if part.resource in answer.resources:
            for reason in (answer.reason, *(each.why_not for each in answer.sets)):
                if reason is not None and reason.figures.get("resource") in (None, part.resource):
                    yield from _figures(reason)


def _figures(reason: ReasonDocument) -> Iterator[int]:
    return (int(reason.figures[name]) for name in _FIGURES if name in reason.figures)
