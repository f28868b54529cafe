"""Suspend Jobs whose pods are all rejected, and resume them.

A Job is resumed as soon as a node would admit one of its pods, and at the end of its mark in any
case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model.value import Value
from numalet.insight.rejections.actions import LiftCause, ResumeJob, SuspendJob
from numalet.insight.rejections.rejected_pod import RejectedPod
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.shape_questions import BreakerFacts, ShapeQuestions, SuspendedJob

SETTLE_SECONDS: Final = 10.0
"""Time after a resumed Job in which no other Job of its shape is resumed."""
_CLOCKS_DIFFER_SECONDS: Final = 60.0
_MOST_COPIES: Final = 100


class JobInputs(Value, kw_only=True):
    """Input of the plan.

    ``is_issued`` returns whether an action with this verb was just planned for a Job;
    ``resumed_at_seconds`` is the last time when a Job of a shape was resumed, by digest.
    """

    facts: BreakerFacts
    questions: ShapeQuestions
    is_issued: Callable[[str, str], bool]
    resumed_at_seconds: Mapping[str, float]
    now_seconds: float
    rules: BreakerRules


def suspended(storms: Iterable[Sequence[RejectedPod]], given: JobInputs) -> Iterator[SuspendJob]:
    for pods in storms:
        jobs = {
            each.chain[0].uid: each
            for each in sorted(pods, key=lambda each: each.uid)
            if each.chain and each.chain[0].kind == "Job" and each.chain[0].group == "batch"
        }
        # Suspending a Job deletes its active pods, so one with a pod that runs or is about to run
        # is left alone.
        running = _with_bound_pods(given.facts.cluster) if jobs else frozenset()
        for uid, pod in sorted(jobs.items()):
            name = pod.chain[0].name
            is_known = uid in given.facts.suspended_jobs or uid in running
            if is_known or given.is_issued(SuspendJob.verb, f"{pod.namespace}/{name}"):
                continue
            if given.questions.count(pod.pod, 1) == 1:
                continue
            yield SuspendJob(
                namespace=pod.namespace,
                name=name,
                uid=uid,
                shape=pod.shape,
                owner=pod.owner,
                until_seconds=given.now_seconds + given.rules.suspend_seconds,
                why=f"its pods are rejected ({pod.reason}), and no node would admit one now",
            )


def _with_bound_pods(cluster: Cluster) -> frozenset[str]:
    """Return the uids of controllers with a pod that has a node and has not ended."""
    return frozenset(
        each.controller.uid
        for each in cluster.pods.values()
        if each.controller is not None and each.pod.node_name and not each.is_over
    )


def resumed(given: JobInputs) -> Iterator[ResumeJob]:
    """Yield the Jobs to resume: their time is over, or one of their pods fits."""
    now, left = given.now_seconds, dict[str, int]()
    jobs = given.facts.suspended_jobs.values()
    for each in sorted(jobs, key=lambda job: (job.until_seconds, job.namespace, job.name)):
        if given.is_issued(ResumeJob.verb, f"{each.namespace}/{each.name}"):
            continue
        latest = now + given.rules.suspend_seconds + _CLOCKS_DIFFER_SECONDS
        cause = None
        if each.until_seconds <= now:
            cause = LiftCause.EXPIRED
        # Only a damaged or foreign mark ends this late.
        elif each.until_seconds > latest:
            cause = LiftCause.FAR
        elif _room(each, given, left) > 0:
            left[each.shape] -= 1
            cause = LiftCause.ROOM
        if cause is not None:
            yield ResumeJob(namespace=each.namespace, name=each.name, uid=each.uid, why=cause.value)


def _room(job: SuspendedJob, given: JobInputs, left: dict[str, int]) -> int:
    """Return for how many more Jobs of this shape there is room."""
    last = given.resumed_at_seconds.get(job.shape)
    # The pods of the resumed Job are not in the cluster yet, so the same room would be given twice.
    if last is not None and 0 <= given.now_seconds - last < SETTLE_SECONDS:
        return 0
    if job.shape not in left:
        pod: ClusterPod | None = job.pod or given.questions.pods.get(job.shape)
        count = None if pod is None else given.questions.count(pod, _MOST_COPIES)
        left[job.shape] = count or 0
    return left[job.shape]
