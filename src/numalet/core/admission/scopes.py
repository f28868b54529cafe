"""The scopes of the Topology Manager: each container, the pod, or no alignment.

    container   each container: hints, merge, store, allocate; then the next container
    pod         hints and merge once; then store and allocate for each container
    none        no hints, nothing stored; allocate for each container (topology policy none)

Containers are in the order of the manifest, init containers first. In pod scope, a pod with
pod-level requests for CPUs and memory gets one allocation, if the managers support that.

Kubelet: ``scope_container.go``, ``scope_pod.go``, ``scope_none.go``, v1.32; v1.36 for whole pods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from numalet.core.admission.decision import POD, SILENT, Alignment, Recorder
from numalet.core.admission.reasons import (
    CRASHES,
    TOPOLOGY,
    AllocationRefused,
    KubeletWouldCrash,
    NotAligned,
    PodLevelNotAligned,
    Rejection,
)
from numalet.core.admission.roster import Roster
from numalet.core.config.rules import NodeRules, Scope, TopologyPolicy
from numalet.core.hints import filtering, policies
from numalet.core.hints.provider import (
    NO_HINTS,
    WHOLE_POD,
    ZERO_HINT,
    ActiveContainers,
    Hint,
    ProviderHints,
    Refused,
    RefusedMidway,
)
from numalet.core.model.pod import Container, Pod
from numalet.core.model.value import Mutable, field
from numalet.core.snapshot.slots import Slot
from numalet.core.snapshot.snapshot import NO_PODS, Snapshot


class AdmissionAttempt(Mutable):
    """The pod being admitted is active from the beginning."""

    roster: Roster
    recorder: Recorder
    pod: Pod
    snapshot: Snapshot
    is_placed_whole: bool = False
    """Whether the pod has pod-level CPU and memory requests that the managers support."""
    may_be_stale: frozenset[str] | None = None
    """Pods that may have stale records; None: any pod."""
    may_forget: bool = True
    """Whether such pods may exist; False also until all sources of pods are ready."""
    alignments: dict[str, Alignment] = field(default_factory=dict)
    affinities: dict[str, Hint] = field(default_factory=dict)
    """The affinities stored for the pod's containers so far."""
    _cleaned: set[str] = field(default_factory=set)
    _gone: Sequence[str] | None = None
    """Inactive pods with stale records, if known; set by the first manager."""
    _active: ActiveContainers | None = None

    @property
    def left_stale(self) -> frozenset[str] | None:
        is_clean = self._cleaned and all(
            slot.is_idle or slot.provider in self._cleaned for slot in self.roster.slots
        )
        return NO_PODS if is_clean else self.may_be_stale

    def align(self, subject: str, container: Container | None) -> Hint | Rejection:
        """Return the affinity of one container; ``container`` None: of the whole pod."""
        hints: dict[str, ProviderHints] = {}
        for slot in self.roster.slots:
            if slot.is_idle:
                hints[slot.provider] = NO_HINTS
                continue
            # Like the kubelet's managers, release stale records at the beginning of each call. An
            # admission that ends early therefore cleans up only some managers.
            if self.may_forget:
                self._forget_stale(slot)
            if container is None and self.is_placed_whole:
                answer = slot.whole_pod_hints(self.snapshot, self.pod)
            elif container is None:
                answer = slot.pod_hints(self.snapshot, self.pod)
            else:
                answer = slot.container_hints(self.snapshot, self.pod, container)
            if isinstance(answer, Refused):
                self.alignments[subject] = Alignment(hints, None)
                return KubeletWouldCrash(subject, slot.provider, answer.reason)
            hints[slot.provider] = answer
        if self.recorder is not SILENT:
            self.recorder.hints_were_asked(self.snapshot, self.pod, subject, hints)
        rules = self.roster.rules
        policy = rules.topology.policy
        all_nodes, distances = self.roster.all_nodes, self.roster.distances
        merged = policies.of_answers(policy, hints.values(), all_nodes, distances)
        if not isinstance(merged, policies.Merged):
            self.alignments[subject] = Alignment(hints, None)
            return KubeletWouldCrash(subject, TOPOLOGY, merged)
        if not merged.admit and rules.behaviour.fewest_nodes_together:
            offers = filtering.ruled(hints.values())
            merged = policies.decided_together(policy, offers, all_nodes, distances) or merged
        self.alignments[subject] = Alignment(hints, merged)
        if self.recorder is not SILENT:
            self.recorder.hints_were_merged(self.pod, subject, merged)
        if not merged.admit:
            refusal = (subject, policy.value, merged.affinity)
            if self.is_placed_whole:
                return PodLevelNotAligned(*refusal, rules.topology.scope.value)
            return NotAligned(*refusal)
        return merged.affinity

    def allocate(self, container: Container, affinity: Hint = ZERO_HINT) -> Rejection | None:
        """Let every provider allocate; the first refusal ends it and undoes nothing."""
        for slot in self.roster.slots:
            if self.may_forget:
                self._forget_stale(slot)
            before = after = self.snapshot
            if not slot.is_idle:
                result = slot.allocate(before, self.pod, container, affinity)
                if isinstance(result, Refused):
                    return self._refused(slot, container, result)
                self.snapshot = after = result
            if self.recorder is not SILENT:
                self.recorder.resources_were_allocated(
                    self.pod, container, slot.provider, before, after
                )
        return None

    def allocate_whole(self, affinity: Hint) -> Rejection | None:
        """Let every provider allocate for the whole pod, and divide that among its containers."""
        waits = self.roster.rules.behaviour.pods_placed_whole_have_no_devices
        containers = tuple(self.pod.containers())
        for slot in self.roster.slots:
            if self.may_forget:
                self._forget_stale(slot)
            # The kubelet's Device Manager skips this step, although it gave hints. It allocates
            # when a container starts; without free devices the container does not start.
            if not slot.places_pods and waits:
                continue
            before = after = self.snapshot
            for container in (Container(WHOLE_POD),) if slot.places_pods else containers:
                if slot.places_pods:
                    result = slot.allocate_whole_pod(after, self.pod, affinity)
                else:
                    result = slot.allocate(after, self.pod, container, affinity)
                if isinstance(result, Refused):
                    return self._refused(slot, container, result)
                self.snapshot = after = result
            for container in containers:
                self.recorder.resources_were_allocated(
                    self.pod, container, slot.provider, before, after
                )
        return None

    def _refused(self, slot: Slot, container: Container, refused: Refused) -> Rejection:
        """Return the rejection for a manager's refusal; a partial allocation stays."""
        if isinstance(refused, RefusedMidway):
            self.snapshot = refused.so_far
        if self.recorder is not SILENT:
            self.recorder.allocation_was_refused(self.pod, container, slot.provider, refused)
        if refused.reason.code in CRASHES:
            return KubeletWouldCrash(container.name, slot.provider, refused.reason)
        return AllocationRefused(container.name, slot.provider, refused.reason)

    def _forget_stale(self, slot: Slot) -> None:
        # Once is enough: the active pods do not change, and only this pod gets new records.
        if slot.provider in self._cleaned or slot.is_idle:
            return
        if not self._cleaned:
            self._gone = self.snapshot.gone(self.may_be_stale)
        self._cleaned.add(slot.provider)
        if self._gone is not None:
            self.snapshot = slot.forget_pods(self.snapshot, self._gone)
            return
        if self._active is None:
            self._active = self.snapshot.active_containers()
        self.snapshot = slot.forget_stale(self.snapshot, self._active)


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
        attempt.affinities[container.name] = affinity
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
            attempt.affinities[container.name] = affinity
        return attempt.allocate_whole(affinity)
    for container in attempt.pod.containers():
        attempt.affinities[container.name] = affinity
        refused = attempt.allocate(container, affinity)
        if refused is not None:
            return refused
    return None
