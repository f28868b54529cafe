"""Sums of what pods ask for: a pod that is subtracted leaves what is of the others."""

from __future__ import annotations

from itertools import permutations

from numalet.core.model.node_constraints import HostPort, NodeConstraints
from numalet.core.model.value import replace
from numalet.core.snapshot import snapshot
from values.builders import simple

PODS = (
    replace(simple("a", "1Gi"), constraints=NodeConstraints(ports=(HostPort(80), HostPort(81)))),
    replace(simple("b", "2Gi"), constraints=NodeConstraints(ports=(HostPort(80, "TCP", "::1"),))),
    simple("c", "3Gi"),
)


def test_subtracting_is_the_reverse_of_adding_in_any_order() -> None:
    whole = snapshot.sum_of_pods(PODS)
    for order in permutations(PODS):
        left = whole
        for at, pod in enumerate(order, 1):
            left = left.minus(pod)
            assert left == snapshot.sum_of_pods(other for other in PODS if other in order[at:])
    assert not whole.has_free(HostPort(80, "TCP", "::1"))
    assert whole.minus(PODS[0]).has_free(HostPort(81))
