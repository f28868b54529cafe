"""Rules about admitted pods that get less than they seem to request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from numalet.core.admission import counting
from numalet.core.config import node_allocatable
from numalet.core.config.rules import CpuPolicy, NodeRules, Scope
from numalet.core.managers.cpu import static_policy as cpu_demand
from numalet.core.model import pod_demand, resources
from numalet.core.model.findings import Finding, Severity
from numalet.core.model.pod import Container, QosClass
from numalet.core.model.quantity import ZERO, Quantity
from numalet.insight.lint import on_pods
from numalet.insight.lint.lint_finding import LintFinding, LintWarning
from numalet.insight.lint.subject import LintSubject


class LintContainerWithoutLimits(LintFinding):
    sentence = (
        "container {container} keeps pod {pod} from the QoS class Guaranteed: its limits of "
        "{resources} are missing or not equal to its requests"
    )
    why = (
        "A pod is Guaranteed if every container, init containers and sidecars included, has "
        "limits of cpu and memory that are equal to its requests. Only Guaranteed pods get "
        "exclusive CPUs and memory of chosen NUMA nodes, and they are evicted last."
    )
    fix = "give container {container} requests and limits of {resources} that are equal"
    pod: str
    container: str
    resources: str


class LintFractionalCpus(LintFinding):
    sentence = (
        "pod {pod}, container {container} asks for {asked} of cpu, which is not a whole number: it "
        "gets no exclusive CPUs"
    )
    why = (
        "The static policy gives exclusive CPUs to containers of Guaranteed pods that ask for "
        "whole ones. One that asks for 1500m runs in the shared pool with all others."
    )
    fix = "request {whole} of cpu, unless the container should share CPUs"
    pod: str
    container: str
    asked: Quantity
    whole: int


class LintResourceAlmostOffered(LintWarning):
    sentence = (
        "pod {pod}, container {container} asks for {resource}, which this node does not offer; it "
        "offers {offered}"
    )
    why = (
        "Resource names must match exactly. The scheduler finds no node for a name that no node "
        "offers; a kubelet that still gets the pod starts it without the device, or rejects it "
        "because of missing huge pages."
    )
    fix = "write {offered}"
    pod: str
    container: str
    resource: str
    offered: str


class LintStatusCounts(LintWarning):
    sentence = (
        "of container {container} of pod {pod} a kubelet v{release} counts {counted} of "
        "{resource}, as the pod's status says, and not the {asked} of the manifest"
    )
    why = (
        "Such a kubelet reads allocatedResources in the status of a container instead of its "
        "requests, also where the status has an entry without them. A kubelet v1.32 did not write "
        "it, so after an upgrade the kubelet ignores running pods: they are rejected, or lose "
        "their CPUs and memory."
    )
    fix = (
        "drain the node before its kubelet is replaced, so that its pods are admitted again; or "
        "set the feature gate InPlacePodVerticalScaling to false"
    )
    pod: str
    container: str
    release: str
    resource: str
    counted: Quantity
    asked: Quantity


_OF_QOS: Final = (resources.CPU, resources.MEMORY)
_WORD: Final = re.compile(r"[A-Za-z0-9]+")

# Device names are short and differ in one letter on purpose (gpu, npu, tpu; port-a, port-b), so a
# changed letter is a typo only inside long words, and another length in all but short ones.
_LEAST_OF_OTHER_LETTER: Final = 5
_LEAST_OF_OTHER_LENGTH: Final = 4


def lost_guaranteed_class(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    """Report the few containers that make a pod Burstable instead of Guaranteed.

    Kubelet v1.32: ``qos.ComputePodQOS``.
    """
    pins = rules.cpu.policy is CpuPolicy.STATIC or subject.pins_memory
    for alike in on_pods.in_groups(subject.pods, _requests_and_limits):
        pod = alike[0]
        fitting = [each for each in pod.containers() if _is_guaranteed(each)]
        others = [each for each in pod.containers() if not _is_guaranteed(each)]
        pod = counting.counted(pod, rules.release_rules)
        is_lost = pod.qos_class is QosClass.BURSTABLE and fitting and others
        if not is_lost or pod_demand.qos_class(pod.containers()) is QosClass.GUARANTEED:
            continue
        # If most of the pod's resources are without limits, Burstable is probably meant.
        if any(_requested(others, name) > _requested(fitting, name) for name in _OF_QOS):
            continue
        for container in others:
            where = subject.place_of(pod, container.name)
            severity = Severity.WARNING if pins else Severity.NOTE
            yield LintContainerWithoutLimits(
                pod=f"{pod}{on_pods.and_more(alike)}",
                container=container.name,
                resources=" and ".join(filter(lambda name: _differs(container, name), _OF_QOS)),
                where=where,
                severity=severity,
            )


def status_counts(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    """Report Guaranteed containers whose status has another amount, if the kubelet uses it.

    Kubelet v1.33: ``guaranteedCPUs``, ``getRequestedResources``.
    """
    if not rules.release_rules.allocated_resources_count:
        return
    for pod in subject.pods:
        if pod.allocated is None or pod.qos_class is not QosClass.GUARANTEED:
            continue
        managed = counting.for_managers(pod, rules.release_rules)
        for container, as_counted in zip(pod.containers(), managed.containers(), strict=True):
            for resource in _OF_QOS:
                asked = container.requests.get(resource, ZERO)
                counted = as_counted.requests.get(resource, ZERO)
                if asked != counted:
                    yield LintStatusCounts(
                        pod=str(pod),
                        container=container.name,
                        release=rules.release.name,
                        resource=resource,
                        counted=counted,
                        asked=asked,
                        where=subject.place_of(pod, container.name),
                    )


def _is_guaranteed(container: Container) -> bool:
    return pod_demand.qos_class([container]) is QosClass.GUARANTEED


def _requested(containers: Iterable[Container], resource: str) -> Quantity:
    return sum((each.requests.get(resource, ZERO) for each in containers), start=ZERO)


def _differs(container: Container, resource: str) -> bool:
    limit = container.limits.get(resource, ZERO)
    return limit.sign <= 0 or container.requests.get(resource, ZERO) != limit


def fractional_cpus(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    if rules.cpu.policy is not CpuPolicy.STATIC:
        return
    for alike in on_pods.in_groups(subject.pods, _requests_and_limits):
        pod = alike[0]
        if pod.pod_level is not None and not _counts_containers(rules):
            continue
        for container in pod.containers():
            asked = container.requests.get(resources.CPU, ZERO)
            is_shared = not cpu_demand.of_container(pod, container)
            if pod.qos_class is not QosClass.GUARANTEED or asked.sign <= 0 or not is_shared:
                continue
            where = subject.place_of(pod, container.name)
            # A sidecar may request less than one CPU on purpose.
            severity = Severity.WARNING if asked.milli_value > 1000 else Severity.NOTE
            yield LintFractionalCpus(
                pod=f"{pod}{on_pods.and_more(alike)}",
                container=container.name,
                asked=asked,
                whole=asked.value,
                where=where,
                severity=severity,
            )


def _counts_containers(rules: NodeRules) -> bool:
    """Return whether the containers of a pod with ``spec.resources`` get CPUs of their own."""
    if rules.release_rules.pod_level_pods_are_placed_whole:
        return rules.topology.scope is Scope.CONTAINER
    return not rules.release_rules.pod_level_pods_are_passed_over


def names_almost_offered(subject: LintSubject, rules: NodeRules) -> Iterator[Finding]:
    capacity = node_allocatable.capacity(rules.machine)
    offered = {*capacity, *node_allocatable.RESERVABLE, *subject.devices}
    for alike in on_pods.in_groups(subject.pods, _requests_and_limits):
        pod = alike[0]
        for container in pod.containers():
            for name in sorted({*container.requests, *container.limits} - offered):
                near = sorted(filter(lambda known: _is_almost(name, known), offered))
                if not near:
                    continue
                where = subject.place_of(pod, container.name)
                yield LintResourceAlmostOffered(
                    pod=f"{pod}{on_pods.and_more(alike)}",
                    container=container.name,
                    resource=name,
                    offered=near[0],
                    where=where,
                )


def _is_almost(name: str, known: str) -> bool:
    """Return whether one name is probably a typo of the other."""
    if name.lower() == known.lower():
        return True
    # Cut off the common beginning and end: the rest is the difference.
    start = 0
    while start < min(len(name), len(known)) and name[start] == known[start]:
        start += 1
    rest, known_rest = name[start:], known[start:]
    while rest and known_rest and rest[-1] == known_rest[-1]:
        rest, known_rest = rest[:-1], known_rest[:-1]
    # Numbers distinguish real resources, such as MIG profiles.
    if any(map(str.isdigit, rest + known_rest)):
        return False
    is_swapped = len(rest) == 2 and rest == known_rest[::-1]
    if is_swapped or max(len(rest), len(known_rest)) != 1:
        return is_swapped
    if resources.is_hugepages(known):
        return True
    longer = max(name, known, key=len)
    words = (each for each in _WORD.finditer(longer) if each.start() <= start < each.end())
    word = next(words, None)
    if word is None:
        return True  # A missing or different dot, dash or slash.
    size = word.end() - word.start()
    if len(rest) != len(known_rest):
        return size >= _LEAST_OF_OTHER_LENGTH
    return size >= _LEAST_OF_OTHER_LETTER and start + 1 < word.end()


def _requests_and_limits(container: Container) -> object:
    return sorted(container.requests.items()), sorted(container.limits.items())
