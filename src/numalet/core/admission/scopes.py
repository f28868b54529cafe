"""The scopes of the Topology Manager: each container, the pod, or no alignment.

    container   each container: hints, merge, store, allocate; then the next container
    pod         hints and merge once; then store and allocate for each container
    none        no hints, nothing stored; allocate for each container (topology policy none)

Containers are in the order of the manifest, init containers first. In pod scope, a pod with
pod-level requests for CPUs and memory gets one allocation, if the managers support that.

Kubelet: ``scope_container.go``, ``scope_pod.go``, ``scope_none.go``, v1.32; v1.36 for whole pods.
"""

from __future__ import annotations

from typing import assert_never

from numalet.core.admission.attempt import AdmissionAttempt
from numalet.core.admission.decision import POD
from numalet.core.admission.reasons import Rejection
from numalet.core.admission.roster import Roster
from numalet.core.config.rules import NodeRules, Scope, TopologyPolicy
from numalet.core.hints.provider import Hint
from numalet.core.model.pod import Pod


def run(attempt: AdmissionAttempt) -> Rejection | None:
    """Admit the pod in the scope of the rules; return the first refusal, if any."""
    rules = attempt.roster.rules.topology
    if rules.policy is TopologyPolicy.NONE:
        return _none(attempt)
    match rules.scope:
        case Scope.CONTAINER:
            return _container(attempt)
        case Scope.POD:
            return _pod(attempt)
        case _:
            assert_never(rules.scope)


def devices_wait(roster: Roster, pod: Pod) -> bool:
    """Return whether a counted pod's devices are allocated only when its containers start."""
    waits = roster.rules.behaviour.pods_placed_whole_have_no_devices
    return waits and is_placed_at_once(roster.rules, pod)


def is_placed_at_once(rules: NodeRules, pod: Pod) -> bool:
    """Return whether a counted pod gets one allocation of CPUs and memory for its containers."""
    return (
        pod.pod_level is not None
        and rules.release_rules.pod_level_pods_are_placed_whole
        and rules.topology.scope is Scope.POD
        and rules.topology.policy is not TopologyPolicy.NONE
    )


def _none(attempt: AdmissionAttempt) -> Rejection | None:
    for container in attempt.pod.containers():
        refused = attempt.allocate(container)
        if refused is not None:
            return refused
    return None


def _container(attempt: AdmissionAttempt) -> Rejection | None:
    for container in attempt.pod.containers():
        affinity = attempt.align(container.name, container)
        if not isinstance(affinity, Hint):
            return affinity
        attempt.store(container, affinity)
        refused = attempt.allocate(container, affinity)
        if refused is not None:
            return refused
    return None


def _pod(attempt: AdmissionAttempt) -> Rejection | None:
    affinity = attempt.align(POD, None)
    if not isinstance(affinity, Hint):
        return affinity
    if attempt.is_placed_whole:
        for container in attempt.pod.containers():
            attempt.store(container, affinity)
        return attempt.allocate_whole(affinity)
    for container in attempt.pod.containers():
        attempt.store(container, affinity)
        refused = attempt.allocate(container, affinity)
        if refused is not None:
            return refused
    return None
