"""Rules about claimed CPUs and memory, and the requests for the same resources.

Until claims count as node resources, the claimed amount has to be requested too: by the container
with the claim, or in the pod-level resources, where the release supports them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import ContainerKind, Pod, Resources
from numalet.core.model.quantity import ZERO, Quantity
from numalet.insight.lint import on_pods
from numalet.insight.lint.claim_view import ClaimUse, ClaimView
from numalet.insight.lint.lint_finding import LintFinding
from numalet.insight.lint.subject import LintSubject


class ClaimBesideRequestsFinding(LintFinding):
    pod: str
    container: str
    resource: str
    claimed: str
    asked: str


class LintClaimDiffersFromRequests(ClaimBesideRequestsFinding):
    sentence = (
        "pod {pod}, container {container} claims {claimed} of {resource} and has {asked}; the two "
        "must be equal"
    )
    why = (
        "The scheduler counts claims and requests apart, and the kubelet makes QoS class and "
        "cgroups from requests alone. A claimed amount without a request is promised again to "
        "other pods; a smaller limit throttles the container on its exclusive CPUs."
    )
    fix = "give the container requests and limits of {claimed} of {resource}"


class LintClaimCountedTwice(ClaimBesideRequestsFinding):
    sentence = (
        "pod {pod}, container {container} claims {claimed} of {resource}, which the scheduler "
        "adds to its requests for {resource}; it also has {asked}"
    )
    why = (
        "With DRANodeAllocatableResources, a device can stand for an amount of a node resource. "
        "The scheduler adds the amounts of claimed devices to the requests."
    )
    fix = "request only what the container needs in addition to its claim"


class LintClaimsExceedPodResources(LintFinding):
    sentence = "pod {pod} claims {claimed} of {resource}{others}; as a whole it has {asked}"
    why = (
        "With resources for the pod as a whole a container need not repeat its claim, and the pod "
        "has to: the scheduler and the pod's cgroup go by these, and know of no claims."
    )
    fix = "give spec.resources of the pod requests and limits of {needed} of {resource}"
    pod: str
    resource: str
    claimed: str
    others: str
    asked: str
    needed: str


_NODE_ALLOCATABLE: Final = "DRANodeAllocatableResources"
_POD_LEVEL: Final = "PodLevelResources"


def claim_not_repeated(subject: LintSubject) -> Iterator[Finding]:
    view = subject.claim_view
    maps = subject.gates.enabled(_NODE_ALLOCATABLE)
    for alike in view.alike:
        pod = alike[0]
        for container in pod.containers():
            own = [each for each in view.uses_of(pod) if each.container is container]
            for resource, claimed in _claimed(view, own).items():
                request = container.requests.get(resource, ZERO)
                limit = container.limits.get(resource, ZERO)
                finding: type[ClaimBesideRequestsFinding] = LintClaimDiffersFromRequests
                severity = Severity.ERROR
                if maps and _is_mapped(view, own, resource):
                    finding, severity = LintClaimCountedTwice, Severity.WARNING
                    is_right = request < claimed
                else:
                    whole = _whole(subject, pod)
                    is_omitted = resource in whole and request.is_zero and limit.is_zero
                    # With pod-level resources a container need not repeat its claim.
                    is_right = request == limit == claimed or is_omitted
                if not is_right:
                    yield finding(
                        pod=f"{pod}{on_pods.and_more(alike)}",
                        container=container.name,
                        resource=resource,
                        claimed=on_pods.shown(resource, claimed),
                        asked=_asked(resource, request, limit),
                        where=subject.place_of(pod, container.name),
                        severity=severity,
                    )


def _whole(subject: LintSubject, pod: Pod) -> Resources:
    """Return the pod-level resources; empty if the kubelet ignores them."""
    if pod.pod_level is None or not subject.gates.enabled(_POD_LEVEL):
        return {}
    return pod.pod_level.requests


def pod_too_small(subject: LintSubject) -> Iterator[Finding]:
    view = subject.claim_view
    maps = subject.gates.enabled(_NODE_ALLOCATABLE)
    for alike in view.alike:
        pod = alike[0]
        whole = _whole(subject, pod)
        for resource, (claimed, requested) in _in_all(view, pod).items():
            request = whole.get(resource, ZERO)
            limit = pod.pod_level.limits.get(resource, ZERO) if pod.pod_level else ZERO
            is_counted = maps and _is_mapped(view, view.uses_of(pod), resource)
            needed = claimed + requested
            # The scheduler adds mapped claims to the requests by itself.
            if resource not in whole or is_counted:
                continue
            if request < needed or ZERO < limit < needed:
                shown = on_pods.shown(resource, requested)
                yield LintClaimsExceedPodResources(
                    pod=f"{pod}{on_pods.and_more(alike)}",
                    resource=resource,
                    claimed=on_pods.shown(resource, claimed),
                    others="" if requested.is_zero else f", and requests {shown} besides",
                    asked=_asked(resource, request, limit),
                    needed=on_pods.shown(resource, needed),
                    where=subject.place_of(pod, ""),
                )


def _in_all(view: ClaimView, pod: Pod) -> dict[str, tuple[Quantity, Quantity]]:
    """Return by resource the sum of claims, and of requests by containers without such a claim."""
    claims = [
        (each, _claimed(view, [use for use in view.uses_of(pod) if use.container is each]))
        for each in pod.containers()
    ]
    names = sorted({name for _, claimed in claims for name in claimed})
    return {
        name: (
            sum((claimed.get(name, ZERO) for _, claimed in claims), start=ZERO),
            sum(
                (
                    each.requests.get(name, ZERO)
                    for each, own in claims
                    # Init containers run before the others, so their requests are not added.
                    if name not in own and each.kind is not ContainerKind.INIT
                ),
                start=ZERO,
            ),
        )
        for name in names
    }


def _claimed(view: ClaimView, uses: list[ClaimUse]) -> dict[str, Quantity]:
    """Return a container's claimed amount of each node resource, if all its claims are known."""
    total: dict[str, Quantity] = {}
    unknown = set()
    for request in (each for use in uses for each in use.requests):
        for resource in {view.resource_of(each) for each in request.alternatives} - {""}:
            amount = view.amount_of(request, resource)
            if amount is None:
                unknown.add(resource)
            else:
                total[resource] = total.get(resource, ZERO) + amount
    return {name: total[name] for name in sorted(total) if name not in unknown}


def _is_mapped(view: ClaimView, uses: list[ClaimUse], resource: str) -> bool:
    """Return whether all devices that may match declare this node resource."""
    devices = [
        device
        for use in uses
        for request in use.requests
        for asked in request.alternatives
        for device in view.candidates(asked)
    ]
    return bool(devices) and all(resource in each.mapped for each in devices)


def _asked(resource: str, request: Quantity, limit: Quantity) -> str:
    if request.is_zero and limit.is_zero:
        return "no request of it"
    shown = f"a request of {on_pods.shown(resource, request)}"
    if limit.is_zero:
        return f"{shown} without a limit"
    return f"{shown} and a limit of {on_pods.shown(resource, limit)}"
