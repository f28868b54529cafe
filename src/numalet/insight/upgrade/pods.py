"""The same pods, in the same order, under two releases: which decisions differ.

With state files the kubelet was replaced while the pods ran, and a pod that the later release
rejects is lost. Without files the pods arrive on an empty node.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.core.model.pod import Pod, StatusResources
from numalet.core.model.value import replace
from numalet.core.node.restarting import KubeletRestart, Readmission
from numalet.insight.lint import starting
from numalet.insight.lint.subject import LintSubject
from numalet.insight.state import restart_check
from numalet.wording import kubelet, kubelet_start, restarts


class UpgradePodRejected(Finding):
    sentence = "v{after} rejects pod {pod}, which {standing}{condition}: {reason}: {message}"
    fix = (
        "drain the node before the kubelet is replaced; 'numalet explain' with the release "
        "v{after} says what would admit the pod"
    )
    pod: str
    standing: str
    condition: str
    after: str
    reason: str
    message: str


class UpgradePodAdmitted(NoteFinding):
    sentence = "pod {pod} is rejected by v{before} ({reason}) and admitted by v{after}"
    pod: str
    before: str
    after: str
    reason: str


class UpgradePodOtherReason(NoteFinding):
    sentence = (
        "pod {pod} is rejected by v{before} with {reason_before} and by v{after} with "
        "{reason_after}: {message}"
    )
    pod: str
    before: str
    after: str
    reason_before: str
    reason_after: str
    message: str


class UpgradePodElsewhere(WarningFinding):
    sentence = (
        "container {container} of pod {pod} gets {holds_before} with v{before} and {holds_after} "
        "with v{after}"
    )
    pod: str
    container: str
    before: str
    after: str
    holds_before: str
    holds_after: str


class UpgradeStartsOnce(Finding):
    sentence = "v{after} starts with the state files, and not a second time: {error}"
    fix = "drain the node before the kubelet is replaced, and delete the state files"
    after: str
    error: str


def seen(subject: LintSubject) -> KubeletRestart | StartRefused:
    """Decide on the pods of a subject; with state files, on running pods."""
    if subject.state_files:
        return starting.restarted(subject, subject.state_files, subject.pods)
    began = starting.started(subject, {})
    if isinstance(began, StartRefused):
        return began
    node = began
    decisions = []
    for pod in subject.pods:
        node, decision = node.admit(pod)
        node = node.pod_started(pod.uid) if decision.admitted else node
        decisions.append(decision)
    return KubeletRestart(began, node, tuple(map(Readmission, decisions)))


def lost(subject: LintSubject, restarted: KubeletRestart) -> Iterator[Finding]:
    """Yield running pods that the kubelet of a subject rejects or moves after its start."""
    for each in restarted.rejected:
        yield _rejected(subject, each, "runs")
    # The files that it writes after the first start may prevent a second one, or lose pods.
    kept = [_as_it_writes(each.pod) for each in restarted.pods if each.decision.admitted]
    second = starting.restarted(subject, restarted.node.state_files(), kept)
    # The later kubelet refuses the files that it wrote itself.
    if isinstance(second, StartRefused):
        yield UpgradeStartsOnce(after=subject.release.name, error=kubelet_start.text(second))
    else:
        standing = f"runs, when v{subject.release.name} starts a second time"
        for each in second.rejected:
            yield _rejected(subject, each, standing)
    for each in restarted.pods:
        for moved in restart_check.moved(each):
            yield moved.at(subject.place_of(each.pod, moved.container))


def _as_it_writes(pod: Pod) -> Pod:
    """Return the pod with its kubelet's status: no entry without ``allocatedResources``."""
    if pod.allocated is None:
        return pod
    both = (pod.allocated.containers, pod.allocated.init_containers)
    apps, init = ({name: each for name, each in given.items() if each} for given in both)
    return replace(pod, allocated=StatusResources(apps, init, pod.allocated.running))


def changes(
    before: LintSubject, after: LintSubject, first: KubeletRestart, second: KubeletRestart
) -> Iterator[Finding]:
    earlier, later = before.release.name, after.release.name
    for one, other in zip(first.pods, second.pods, strict=True):
        was, is_now = one.decision, other.decision
        if is_now.admitted and not was.admitted:
            yield UpgradePodAdmitted(
                pod=str(one.pod),
                reason=kubelet.reason(was.rejection),
                where=before.place_of(one.pod, ""),
                before=earlier,
                after=later,
            )
        # With state files the pods run, and ``lost`` reports the differences that matter.
        elif after.state_files:
            continue
        elif was.admitted and not is_now.admitted:
            yield _rejected(after, other, f"v{earlier} admits")
        elif was.admitted:
            yield from _elsewhere(was, is_now, before, after)
        else:
            yield from _other_reason(was, is_now, before, after)


def _rejected(after: LintSubject, pod: Readmission, standing: str) -> UpgradePodRejected:
    return UpgradePodRejected(
        **restarts.rejection(pod),
        standing=standing,
        where=after.place_of(pod.pod, ""),
        after=after.release.name,
    )


def _other_reason(
    was: Decision, is_now: Decision, before: LintSubject, after: LintSubject
) -> Iterator[Finding]:
    earlier, later = before.release.name, after.release.name
    reasons = kubelet.reason(was.rejection), kubelet.reason(is_now.rejection)
    if reasons[0] != reasons[1]:
        yield UpgradePodOtherReason(
            pod=str(was.pod),
            reason_before=reasons[0],
            reason_after=reasons[1],
            message=kubelet.message(is_now.rejection),
            where=before.place_of(was.pod, ""),
            before=earlier,
            after=later,
        )


def _elsewhere(
    was: Decision, is_now: Decision, before: LintSubject, after: LintSubject
) -> Iterator[Finding]:
    earlier, later = before.release.name, after.release.name
    held, holds = was.placements, is_now.placements
    for container, given in held.items():
        if given != holds[container]:
            yield UpgradePodElsewhere(
                pod=str(was.pod),
                container=container,
                holds_before=restarts.shown(given),
                holds_after=restarts.shown(holds[container]),
                where=before.place_of(was.pod, container),
                before=earlier,
                after=later,
            )
