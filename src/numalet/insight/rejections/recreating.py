"""Act on the owners of rejected pods: suspend Jobs, delete replaced pods, create bare pods again.

A Job is resumed as soon as a node would admit one of its pods, and at the end of its mark in any
case. The newest replaced pods of a ReplicaSet stay. A bare pod needs the annotation. A recreated
pod has a unique name, so that the API server refuses a second creation. The rejected pod is deleted
after that, so nothing is lost if the procedure stops in between.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model.value import Value
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import LiftCause, Prune, RecreatePod, ResumeJob, SuspendJob
from numalet.insight.rejections.rejected_pod import RejectedPod
from numalet.insight.rejections.rules import BreakerRules
from numalet.insight.rejections.shape_questions import BreakerFacts, ShapeQuestions, SuspendedJob

SETTLE_SECONDS: Final = 10.0
"""Time after a resumed Job in which no other Job of its shape is resumed."""
_CLOCKS_DIFFER_SECONDS: Final = 60.0
_MOST_COPIES: Final = 100

_APPS: Final = "apps"
_REPLACING_KINDS: Final = frozenset({"ReplicaSet", "Deployment"})
_MOST_CHARACTERS: Final = 253
_KEPT_METADATA: Final = ("namespace", "labels", "annotations", "finalizers")
_TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a folder


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


def replaced_pods(storms: Iterable[Sequence[RejectedPod]], rules: BreakerRules) -> Iterator[Prune]:
    """Yield the pods to delete, of each storm the oldest first."""
    for pods in storms:
        in_order = sorted(pods, key=lambda each: (each.rejected_at_seconds, each.uid))
        for each in in_order[: max(0, len(in_order) - rules.kept_failed_pods)]:
            if is_replaced(each):
                why = f"rejected ({each.reason}) and replaced; the newest "
                yield pruned(each, f"{why}{rules.kept_failed_pods} of the same shape stay")


def pruned(pod: RejectedPod, why: str) -> Prune:
    return Prune(
        namespace=pod.namespace,
        name=pod.name,
        uid=pod.uid,
        resource_version=pod.resource_version,
        owner=pod.owner,
        why=why,
    )


def is_replaced(pod: RejectedPod) -> bool:
    """Return whether a ReplicaSet, with at most a Deployment above it, makes the pod."""
    # A ReplicaSet ignores failed pods. A Job counts them to give up after a limit, and custom
    # resources may do anything. A container that ever ran may have left logs and an exit code.
    return (
        pod.never_started
        and pod.chain_is_whole
        and bool(pod.chain)
        and pod.chain[0].kind == "ReplicaSet"
        and all(each.group == _APPS and each.kind in _REPLACING_KINDS for each in pod.chain)
    )


class RecreatePlan(Value):
    """``due_at_seconds`` is when the next waiting pods may be recreated."""

    actions: tuple[RecreatePod, ...]
    due_at_seconds: tuple[float, ...]


def recreated_pods(
    rejections: Iterable[RejectedPod],
    questions: ShapeQuestions,
    is_issued: Callable[[str, str], bool],
    now_seconds: float,
    rules: BreakerRules,
) -> RecreatePlan:
    actions: list[RecreatePod] = []
    later: list[float] = []
    for each in sorted(rejections, key=lambda each: (each.rejected_at_seconds, each.uid)):
        attempt = _attempt(each)
        if each.manifest is None or not each.never_started or attempt > rules.recreate_attempts:
            continue
        # Doubled with each attempt.
        since = min(each.rejected_at_seconds, now_seconds)
        due = since + rules.recreate_pause_seconds * 2.0 ** (attempt - 1)
        if due > now_seconds:
            later.append(due)
            continue
        action = _action(each, each.manifest, attempt)
        is_wanted = not is_issued(RecreatePod.verb, f"{action.namespace}/{action.name}")
        if is_wanted and questions.count(each.pod, 1) != 0:
            actions.append(action)
    return RecreatePlan(tuple(actions), tuple(later))


def _attempt(pod: RejectedPod) -> int:
    """Return the number of the next attempt, counted from 1."""
    made = str(pod.annotations.get(patches.RECREATE_ATTEMPT) or "0")
    # Users can write the annotation, so it may be any text.
    return int(made) + 1 if made.isascii() and made.isdecimal() and len(made) < 9 else 1


def _action(pod: RejectedPod, manifest: Mapping[str, Any], attempt: int) -> RecreatePod:
    base = pod.name.removesuffix(f"-again-{attempt - 1}")
    suffix = f"-again-{attempt}"
    name = base[: _MOST_CHARACTERS - len(suffix)] + suffix
    return RecreatePod(
        namespace=pod.namespace,
        name=name,
        attempt=attempt,
        of_name=pod.name,
        of_uid=pod.uid,
        of_resource_version=pod.resource_version,
        why=f"attempt {attempt} for {pod.name}, which was rejected ({pod.reason})",
        manifest=new_manifest(manifest, name, attempt, pod.uid),
    )


def new_manifest(old: Mapping[str, Any], name: str, attempt: int, of_uid: str) -> dict[str, Any]:
    """Return the manifest of the new pod: the author's original, as far as known.

    Fields that the API server, the scheduler and the kubelet wrote are removed: status, node, uid
    and versions, and the volume of the ServiceAccount token.
    """
    metadata, spec = old.get("metadata") or {}, copy.deepcopy(dict(old.get("spec") or {}))
    kept = {key: copy.deepcopy(metadata[key]) for key in _KEPT_METADATA if key in metadata}
    kept["name"] = name
    kept["annotations"] = {
        **(kept.get("annotations") or {}),
        patches.RECREATED_FROM: of_uid,
        patches.RECREATE_ATTEMPT: str(attempt),
    }
    spec.pop("nodeName", None)
    _without_tokens(spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept, "spec": spec}


def _without_tokens(spec: dict[str, Any]) -> None:
    """Remove the token volumes that the API server added, and their mounts."""
    # The admission controller names the volume at random, and adds a new one to the new pod.
    added = {
        mount.get("name")
        for each in _containers(spec)
        for mount in each.get("volumeMounts") or ()
        if mount.get("mountPath") == _TOKEN_PATH
    }
    if not added:
        return
    spec["volumes"] = [each for each in spec.get("volumes") or () if each.get("name") not in added]
    for each in _containers(spec):
        mounts = each.get("volumeMounts") or ()
        each["volumeMounts"] = [mount for mount in mounts if mount.get("name") not in added]


def _containers(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in ("initContainers", "containers"):
        yield from spec.get(name) or ()
