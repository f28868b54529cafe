"""Decide one pod: ``admit`` returns a decision and leaves the given snapshot unchanged."""

from __future__ import annotations

from numalet.core.admission import counting, lifecycle, predicates, scopes
from numalet.core.admission.decision import Decision
from numalet.core.admission.predicates import NO_PREDICATE
from numalet.core.admission.reasons import PodLevelOff, Rejection
from numalet.core.admission.recorder import SILENT, Recorder
from numalet.core.admission.roster import Roster
from numalet.core.admission.scopes import AdmissionAttempt
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.machine_info import OperatingSystem
from numalet.core.model.pod import Pod
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
    if pod.pod_level is not None or pod.allocated is not None:
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
    if rejection is None:
        after = attempt.snapshot.after_admission(snapshot, pod).with_stale(attempt.left_stale)
    else:
        after = _refused(attempt, snapshot)
    # After the pod's own allocation: the kubelet evicts in the predicates, which run after the
    # managers. The pod therefore cannot get the exclusive CPUs of its victims.
    for uid in answer.evicted:
        after = lifecycle.remove(roster, after, uid)
    # As in the kubelet, a rejected pod's allocations stay until the next admission (unless
    # ``release_at_once``).
    left = () if rejection is None else lifecycle.leftovers(roster, after, pod.uid)
    if left:
        after = after.with_one_more_stale(pod.uid)
    return Decision(
        pod=pod,
        rejection=rejection,
        alignments=attempt.alignments,
        affinities=attempt.snapshot.affinities.get(pod.uid, {}),
        left_behind=left,
        before=snapshot,
        after=after,
        windows_affinity=_windows_affinity(attempt, rejection),
        evicted=answer.evicted,
        not_asked=answer.not_asked,
        passed_over=answer.passed_over,
    )


def _windows_affinity(
    attempt: AdmissionAttempt, rejection: Rejection | None
) -> dict[str, CpuSet] | None:
    machine = attempt.roster.rules.machine
    if machine.os is not OperatingSystem.WINDOWS:
        return None
    bound = {}
    for container in attempt.pod.containers() if rejection is None else ():
        affinity = placement.windows_cpu_affinity(
            attempt.snapshot, machine, attempt.pod.uid, container.name
        )
        if affinity is not None:
            bound[container.name] = affinity
    return bound


def _refused(attempt: AdmissionAttempt, before: Snapshot) -> Snapshot:
    pod_uid = attempt.pod.uid
    if attempt.roster.rules.behaviour.release_at_once:
        return before.after_removal({pod_uid})
    return attempt.snapshot.after_rejection(before, pod_uid).with_stale(attempt.left_stale)
