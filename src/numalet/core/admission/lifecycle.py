"""A pod on a node: its admission, the start of its containers, its end.

Every function leaves the given snapshot unchanged.
"""

from __future__ import annotations

from numalet.core.admission import counting, predicates, scopes
from numalet.core.admission.decision import SILENT, Decision, Recorder
from numalet.core.admission.predicates import NO_PREDICATE
from numalet.core.admission.reasons import PodLevelOff, Rejection
from numalet.core.admission.roster import Roster
from numalet.core.admission.scopes import AdmissionAttempt
from numalet.core.hints.provider import ZERO_HINT, Refused, RefusedMidway
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import replace
from numalet.core.snapshot import placement
from numalet.core.snapshot.snapshot import NO_PODS, Snapshot


def admit(roster: Roster, snapshot: Snapshot, pod: Pod, recorder: Recorder = SILENT) -> Decision:
    """Return the decision on this pod; it includes the next snapshot.

    Kubelet: ``topologymanager.Admit`` and the scopes below it, then
    ``predicateAdmitHandler.Admit``, v1.32.
    """
    rules = roster.rules.release_rules
    # Two views of one pod: the managers see only the requests that the release counts for them,
    # while the predicates see the pod itself.
    managed, is_placed_whole = pod, False
    if pod.pod_level is not None or pod.allocated is not None or pod.has_empty_resources:
        pod = counting.counted(pod, rules)
        managed = counting.for_managers(pod, rules)
        is_placed_whole = counting.is_placed_whole(pod, rules)
    asked = snapshot.asked_by(pod)
    stale = asked.may_be_stale
    may_forget = stale != NO_PODS and asked.sources_ready
    attempt = AdmissionAttempt(roster, recorder, managed, asked, is_placed_whole, stale, may_forget)
    rejection = None if roster.rules.managers_are_stand_ins else scopes.run(attempt)
    answer = NO_PREDICATE
    if rejection is None:
        answer = predicates.ask(roster, snapshot, attempt.snapshot, pod)
        rejection = answer.failure
    # The kubelet checks this last, so allocations have already happened.
    if rejection is None and pod.pod_level is not None and rules.pod_level_pods_are_refused:
        rejection = PodLevelOff()
    left_stale = attempt.left_stale if may_forget else stale
    earlier = snapshot.affinities.get(pod.uid)
    affinities = {**earlier, **attempt.affinities} if earlier else attempt.affinities
    if rejection is None:
        after = attempt.snapshot.after_admission(snapshot, pod, affinities)
        after = after.with_stale(left_stale)
    elif roster.rules.behaviour.release_at_once:
        after = snapshot.after_removal({pod.uid})
    else:
        after = attempt.snapshot.after_rejection(snapshot, pod.uid, affinities)
        after = after.with_stale(left_stale)
    # After the pod's own allocation: the kubelet evicts in the predicates, which run after the
    # managers. The pod therefore cannot get the exclusive CPUs of its victims.
    for uid in answer.evicted:
        after = remove(roster, after, uid)
    # As in the kubelet, a rejected pod's allocations stay until the next admission (unless
    # ``release_at_once``).
    left: tuple[ContainerKey, ...] = ()
    # ``stale`` includes the pod if it was active; else it may only have a record that it got now.
    is_new = stale is not None and pod.uid not in stale
    has_nothing = is_new and attempt.snapshot is asked
    if rejection is not None and not has_nothing:
        left = leftovers(roster, after, pod.uid)
    if left:
        after = after.with_one_more_stale(pod.uid)
    is_windows = roster.rules.machine.os is OperatingSystem.WINDOWS
    return Decision(
        pod=pod,
        rejection=rejection,
        alignments=attempt.alignments,
        affinities=affinities,
        left_behind=left,
        before=snapshot,
        after=after,
        windows_affinity=_windows_affinity(attempt, rejection) if is_windows else None,
        evicted=answer.evicted,
        not_asked=answer.not_asked,
        passed_over=answer.passed_over,
    )


def _windows_affinity(attempt: AdmissionAttempt, rejection: Rejection | None) -> dict[str, CpuSet]:
    machine = attempt.roster.rules.machine
    bound = {}
    for container in attempt.pod.containers() if rejection is None else ():
        affinity = placement.windows_cpu_affinity(
            attempt.snapshot, machine, attempt.pod.uid, container.name
        )
        if affinity is not None:
            bound[container.name] = affinity
    return bound


def pod_started(roster: Roster, snapshot: Snapshot, pod_uid: str) -> Snapshot:
    """Return the snapshot after all containers of an active pod started, in order."""
    pod = snapshot.pods[pod_uid]
    for container in pod.containers():
        snapshot = _started(roster, snapshot, pod, container)
    return snapshot


def container_started(roster: Roster, snapshot: Snapshot, key: ContainerKey) -> Snapshot:
    """Return the snapshot as this container is about to start.

    Kubelet: the hook before a container's start, ``PreStartContainer``, v1.32.
    """
    pod = snapshot.pods[key.pod_uid]
    return _started(roster, snapshot, pod, pod.by_name[key.container])


def _started(roster: Roster, snapshot: Snapshot, pod: Pod, container: Container) -> Snapshot:
    if scopes.devices_wait(roster, pod):
        snapshot = _with_devices(roster, snapshot, pod, container)
    after = snapshot
    for slot in roster.slots:
        after = slot.container_started(after, pod, container)
    # Only records of this active pod are new, so the stale pods stay the same.
    return replace(after, revision=after.revision + 1).with_stale(snapshot.may_be_stale)


def _with_devices(roster: Roster, snapshot: Snapshot, pod: Pod, container: Container) -> Snapshot:
    """Allocate devices for a container of a pod placed as a whole, at its start.

    If the devices are in use now, the kubelet cannot create the container and retries. Kubelet:
    ``ManagerImpl.GetDeviceRunContainerOptions``, v1.36.
    """
    affinity = snapshot.affinities.get(pod.uid, {}).get(container.name, ZERO_HINT)
    for slot in roster.slots:
        if slot.places_pods:
            continue
        after = slot.allocate(snapshot, pod, container, affinity)
        if isinstance(after, RefusedMidway):
            snapshot = after.so_far
        elif not isinstance(after, Refused):
            snapshot = after
    return snapshot


def remove(roster: Roster, snapshot: Snapshot, pod_uid: str) -> Snapshot:
    """Return the snapshot after a pod was deleted and its containers stopped."""
    gone = snapshot.after_removal({pod_uid})
    # Until all sources are ready, a missing pod may be unseen and not deleted: release nothing.
    is_now = roster.rules.behaviour.release_at_once and gone.sources_ready
    return release_stale(roster, gone) if is_now else gone


def release_stale(roster: Roster, snapshot: Snapshot) -> Snapshot:
    # If it is known which pods are gone, releasing these is faster than comparing every record with
    # every active container.
    gone = snapshot.gone(snapshot.may_be_stale)
    if gone is not None:
        for slot in roster.slots:
            snapshot = slot.forget_pods(snapshot, gone)
        return snapshot.with_stale(NO_PODS)
    active = snapshot.active_containers()
    for slot in roster.slots:
        snapshot = slot.forget_stale(snapshot, active)
    return snapshot.with_stale(NO_PODS)


def sources_ready(roster: Roster, snapshot: Snapshot) -> Snapshot:
    """Mark every source of pods as ready: managers may now release stale records."""
    ready = replace(snapshot, sources_ready=True, revision=snapshot.revision + 1)
    return release_stale(roster, ready) if roster.rules.behaviour.release_at_once else ready


def leftovers(
    roster: Roster, snapshot: Snapshot, pod_uid: str | None = None
) -> tuple[ContainerKey, ...]:
    """Return inactive containers that still hold resources, sorted; of one pod or of all."""
    held = {key for slot in roster.slots for key in slot.holders(snapshot, pod_uid)}
    if not held:
        return ()
    is_gone = pod_uid is not None and pod_uid not in snapshot.pods
    active = snapshot.assumed if is_gone else snapshot.active_containers()
    return tuple(sorted(held - active))
