"""Rules about given pods that this node, empty and with this policy, never admits.

The node decides on the pod and on smaller ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from numalet.core.admission.reasons import KubeletWouldCrash, OutOfResource, Rejection
from numalet.core.config.rules import CpuPolicy
from numalet.core.model import resources
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Container, Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node import largest_request
from numalet.core.node.largest_request import LargestRequestSearch
from numalet.core.node.node import Node
from numalet.insight import decision_notes
from numalet.insight.lint.lint_finding import LintFinding, LintNote
from numalet.insight.lint.subject import LintSubject
from numalet.wording import explanations, kubelet, numbers

_EMPTY_NODE: Final = (
    "A pod that an empty node does not admit is rejected there every time, and whatever made it "
    "makes it again."
)


class LintPodsNotChecked(LintNote):
    sentence = (
        "pods not checked: {count}, because the kubelet would not start with this configuration"
    )
    why = "Pods are checked on a node with this configuration."
    fix = "fix the errors that keep the kubelet from starting, then check again"
    count: int


class LintPodNeverAdmitted(LintFinding):
    sentence = (
        "pod {pod}, container {container} asks for {asked} of {resource}; this node, when it is "
        "empty, admits {most} and not one unit more, so {excess} are too much ({reason})"
    )
    why = _EMPTY_NODE
    fix = "{change}, or choose another policy"
    pod: str
    container: str
    resource: str
    asked: str
    most: str
    excess: str
    reason: str
    change: str


class LintPodNotWholeUnits(LintFinding):
    sentence = (
        "pod {pod}, container {container} asks for {asked} of {resource}, which is not a whole "
        "number of units ({reason}); {most} would be admitted"
    )
    why = "With full-pcpus-only the kubelet allocates whole cores, and always whole huge pages."
    fix = "ask for {most} of {resource}, or for the next smaller whole unit"
    pod: str
    container: str
    resource: str
    asked: str
    most: str
    reason: str


class NeverAdmittedFinding(LintFinding):
    """A pod without a single request that is too large; ``ways`` are admitted variants."""

    pod: str
    reason: str
    cause: str
    ways: str


class LintPodNeverAdmittedTogether(NeverAdmittedFinding):
    sentence = (
        "pod {pod} is never admitted ({reason}), though each of its requests is when it is alone: "
        "{cause}"
    )
    why = _EMPTY_NODE
    fix = "any of these would be admitted: {ways}"


class LintPodNeverAdmittedAtAll(NeverAdmittedFinding):
    sentence = (
        "pod {pod} is never admitted ({reason}), and no smaller single request changes that: "
        "{cause}"
    )
    why = _EMPTY_NODE
    fix = "choose another policy or scope, or another machine"


class LintPodLargerThanNode(LintFinding):
    sentence = (
        "pod {pod} asks for {asked} of {resource}; the node offers {most}, so {excess} are too "
        "much (OutOf{resource})"
    )
    why = (
        "Requests with overhead must fit status.allocatable: the capacity without the "
        "reservation, and for memory without all huge pages."
    )
    fix = "ask for {most} of {resource} at most, or keep less back"
    pod: str
    resource: str
    asked: str
    most: str
    excess: str


class LintPodCrashesKubelet(LintFinding):
    sentence = "pod {pod} makes the kubelet crash or hang: {cause}"
    why = (
        "The kubelet panics, or loops forever, while it admits such a pod, and "
        "again after every restart."
    )
    fix = "do not let the pod come to this node, or fix the cause named above"
    pod: str
    cause: str


class LintPodsEmptyThePool(LintFinding):
    sentence = (
        "the given pods, admitted in this order, hold all CPUs that are not reserved; {pod} takes "
        "the last ones, and the kubelet does not start again with that"
    )
    why = (
        "With strict-cpu-reservation the reserved CPUs are not part of the shared pool, and a "
        "state file with an empty pool is refused."
    )
    fix = "ask for one CPU less in all, or reserve one CPU more"
    pod: str


_MOST_WAYS = 4


def skipped_checks(subject: LintSubject, node: Node | None) -> Iterator[Finding]:
    if node is None and subject.pods:
        yield LintPodsNotChecked(count=len(subject.pods))


def never_admitted(subject: LintSubject, node: Node) -> Iterator[Finding]:
    search = LargestRequestSearch(node)
    decisions = []
    # Pods of one controller are alike; deciding on each of hundreds would be slow.
    for alike in in_groups(subject.pods, lambda each: sorted(each.requests.items())):
        pod = alike[0]
        decisions.append(node.admit(pod)[1])
        rejection = decisions[-1].rejection
        more = and_more(alike)
        findings: Iterator[Finding]
        match rejection:
            case None:
                continue
            case OutOfResource():
                findings = _larger_than_node(subject, node, pod, rejection, more)
            case KubeletWouldCrash():
                findings = _crashing(subject, pod, rejection, more)
            case _:
                findings = _too_much(subject, search, pod, rejection, more)
        yield from findings
    yield from decision_notes.notes(decision_notes.collect(decisions))


def one_after_the_other(subject: LintSubject, node: Node) -> Iterator[Finding]:
    # The hang and the empty pool both come from exclusive CPUs.
    if node.rules.cpu.policy is not CpuPolicy.STATIC:
        return
    empty, last = node, None
    for pod in subject.pods:
        node, decision = node.admit(pod)
        last = pod if decision.admitted else last
        rejection = decision.rejection
        # A pod that crashes the kubelet on the empty node has been reported already.
        if isinstance(rejection, KubeletWouldCrash) and not _crashes(empty, pod):
            yield from _crashing(subject, pod, rejection, " (after the pods before it)")
    if last is not None and not node.snapshot.cpu.default:
        where = subject.place_of(last, "")
        yield LintPodsEmptyThePool(pod=str(last), where=where)


def _crashes(node: Node, pod: Pod) -> bool:
    return isinstance(node.admit(pod)[1].rejection, KubeletWouldCrash)


def in_groups(pods: tuple[Pod, ...], part: Callable[[Container], object]) -> list[list[Pod]]:
    """Group pods that are alike in this part of their containers, in order."""
    groups: dict[str, list[Pod]] = {}
    for pod in pods:
        parts = [(each.name, each.kind, part(each)) for each in pod.containers()]
        key = repr((pod.qos_class, parts, sorted(pod.overhead.items())))
        groups.setdefault(key, []).append(pod)
    return list(groups.values())


def and_more(alike: list[Pod]) -> str:
    """Return the number of other pods of a group as a suffix; empty if there are no others."""
    return "" if len(alike) == 1 else f" (and {len(alike) - 1} more pods like it)"


def _crashing(
    subject: LintSubject, pod: Pod, rejection: KubeletWouldCrash, more: str
) -> Iterator[Finding]:
    where = subject.place_of(pod, "")
    yield LintPodCrashesKubelet(
        pod=f"{pod}{more}", cause=explanations.of_reason(rejection), where=where
    )


def _too_much(
    subject: LintSubject, search: LargestRequestSearch, pod: Pod, rejection: Rejection, more: str
) -> Iterator[Finding]:
    """Yield every request that is too large by itself; if there are none, the combination."""
    is_alone = False
    for container in pod.containers():
        for resource in sorted(container.requests):
            most = search.alone(pod, container, resource)
            if most is None:
                continue
            is_alone = True
            yield _too_much_alone(subject, pod, container, resource, most, rejection, more)
    if not is_alone:
        yield _too_much_together(subject, search, pod, rejection, more)


def _too_much_alone(
    subject: LintSubject,
    pod: Pod,
    container: Container,
    resource: str,
    most: Quantity,
    rejection: Rejection,
    more: str,
) -> Finding:
    asked = container.requests[resource]
    where = subject.place_of(pod, container.name)
    # More is admitted than was requested, so the amount is not too large, but fractional.
    if most > asked:
        return LintPodNotWholeUnits(
            pod=f"{pod}{more}",
            container=container.name,
            resource=resource,
            asked=shown(resource, asked),
            most=shown(resource, most),
            reason=kubelet.reason(rejection),
            where=where,
        )
    return LintPodNeverAdmitted(
        pod=f"{pod}{more}",
        container=container.name,
        resource=resource,
        asked=shown(resource, asked),
        most=shown(resource, most),
        excess=shown(resource, asked - most),
        reason=kubelet.reason(rejection),
        change=f"give this node some {resource}"
        if most.is_zero
        else f"ask for {shown(resource, most)} of {resource} at most",
        where=where,
    )


def _too_much_together(
    subject: LintSubject, search: LargestRequestSearch, pod: Pod, rejection: Rejection, more: str
) -> Finding:
    ways = [
        f"{container.name} with {shown(resource, most)} of {resource} instead of"
        f" {shown(resource, container.requests[resource])}"
        for container, resource in _requests(pod)
        if (most := search.together(pod, container, resource)) is not None and not most.is_zero
    ]
    never = LintPodNeverAdmittedTogether if ways else LintPodNeverAdmittedAtAll
    return never(
        pod=f"{pod}{more}",
        reason=kubelet.reason(rejection),
        cause=explanations.of_reason(rejection),
        ways="; or ".join(ways[:_MOST_WAYS]),
        where=subject.place_of(pod, ""),
    )


def _requests(pod: Pod) -> Iterator[tuple[Container, str]]:
    for container in pod.containers():
        for resource in sorted(container.requests):
            if not container.requests[resource].is_zero:
                yield container, resource


def _larger_than_node(
    subject: LintSubject, node: Node, pod: Pod, rejection: OutOfResource, more: str
) -> Iterator[Finding]:
    """Yield every resource that the whole node has less of than the pod requests."""
    asking, refused = pod, rejection
    # The kubelet reports only the first one, so each is decided without those before it.
    while True:
        yield _larger(subject, pod, refused, more)
        for container in pod.containers():
            asking = largest_request.asking(asking, container.name, refused.resource, None)
        next_said = node.admit(asking)[1].rejection
        if not isinstance(next_said, OutOfResource) or next_said.resource == refused.resource:
            return
        refused = next_said


def _larger(subject: LintSubject, pod: Pod, refused: OutOfResource, more: str) -> Finding:
    def amount(number: int) -> str:
        is_milli = refused.resource == resources.CPU
        of = (
            Quantity.from_milli(number)
            if is_milli
            else largest_request.quantity(refused.resource, number)
        )
        return shown(refused.resource, of)

    return LintPodLargerThanNode(
        pod=f"{pod}{more}",
        resource=refused.resource,
        asked=amount(refused.requested),
        most=amount(refused.capacity),
        excess=amount(refused.lack),
        where=subject.place_of(pod, ""),
    )


def shown(resource: str, amount: Quantity) -> str:
    """Format an amount: exact, and also rounded if that is hard to read."""
    if not resources.is_memory_type(resource):
        return str(amount)
    exact = str(Quantity.from_bytes(amount.value))
    rounded = numbers.size(amount.value)
    return f"{exact} ({rounded})" if "." in rounded else rounded
