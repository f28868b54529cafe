"""The same pods, in the same order, under two releases: which are decided otherwise.

With state files the kubelet is one that was replaced while the pods ran: it reads the files and is
shown the pods one after the other before all their sources are ready. Without files the pods come
to an empty node.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.admission.decision import Decision
from numalet.core.config.rules import StartRefused
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, NoteFinding, WarningFinding
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.core.node.node import Node
from numalet.core.snapshot import placement
from numalet.core.snapshot.placement import Placement
from numalet.insight.lint import starting
from numalet.insight.lint.subject import LintSubject
from numalet.wording import kubelet, numbers


class UpgradePodRejected(Finding):
    code = "upgrade/pod-rejected"
    sentence = "pod {pod} is admitted by v{before} and rejected by v{after}: {reason}: {message}"
    mend = (
        "'numalet explain' with the release v{after} says what would admit it; drain the node "
        "before the upgrade, so that the pod is placed anew elsewhere"
    )
    pod: str
    before: str
    after: str
    reason: str
    message: str


class UpgradePodAdmitted(NoteFinding):
    code = "upgrade/pod-admitted"
    sentence = "pod {pod} is rejected by v{before} ({reason}) and admitted by v{after}"
    pod: str
    before: str
    after: str
    reason: str


class UpgradePodOtherReason(NoteFinding):
    code = "upgrade/pod-other-reason"
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
    code = "upgrade/pod-elsewhere"
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


def changes(
    before: LintSubject, after: LintSubject, first: Node, second: Node
) -> Iterator[Finding]:
    """The pods that one release decides otherwise than the other, on nodes that have begun."""
    earlier, later = before.release.name, after.release.name
    for pod in before.pods:
        first, was = _asked(first, pod)
        second, is_now = _asked(second, pod)
        where = before.place_of(pod, "")
        match was.admitted, is_now.admitted:
            case True, False:
                yield UpgradePodRejected(
                    pod=str(pod),
                    reason=kubelet.reason(is_now.rejection),
                    message=kubelet.message(is_now.rejection),
                    where=where,
                    before=earlier,
                    after=later,
                )
            case False, True:
                yield UpgradePodAdmitted(
                    pod=str(pod),
                    reason=kubelet.reason(was.rejection),
                    where=where,
                    before=earlier,
                    after=later,
                )
            case False, False:
                yield from _other_reason(was, is_now, before, after)
            case _:
                yield from _elsewhere(was, is_now, before, after)


def begun(subject: LintSubject) -> Node | StartRefused:
    """The node of a subject after its start, containers of its state files still running."""
    node = starting.started(subject, subject.state_files)
    if isinstance(node, StartRefused) or not subject.state_files:
        return node
    running = placement.of_all(node.snapshot)
    restarted = starting.started(subject, subject.state_files, running)
    # Who runs decides which devices are remembered, and nothing about whether it starts.
    assert isinstance(restarted, Node)
    return restarted.at(replace(restarted.snapshot, sources_ready=False))


def _asked(node: Node, pod: Pod) -> tuple[Node, Decision]:
    node, decision = node.admit(pod)
    is_new = decision.admitted and node.snapshot.sources_ready
    return (node.pod_started(pod.uid) if is_new else node), decision


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
                holds_before=shown(given),
                holds_after=shown(holds[container]),
                where=before.place_of(was.pod, container),
                before=earlier,
                after=later,
            )


def shown(held: Placement) -> str:
    """What a container holds, in one phrase."""
    parts = []
    if held.cpus:
        parts.append(f"CPUs {cpu_set.text(held.cpus)}")
    for block in held.memory:
        nodes_text = ", ".join(map(str, block.nodes))
        size = numbers.size(block.size_bytes)
        parts.append(f"{size} of {block.resource} on NUMA node {nodes_text}")
    parts += [f"{resource} {', '.join(ids)}" for resource, ids in held.devices.items()]
    return "; ".join(parts) or "nothing of its own"
