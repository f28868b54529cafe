"""Rules about claims and the release: gates, API versions, and unknown names.

The feature gates of a kubelet's configuration stand for those of the cluster: the API server and
the scheduler must have the same values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from numalet.core.config.releases.release import GateStage
from numalet.core.model.device_claims import ClaimObject, GatedField
from numalet.core.model.findings import Finding, Location, Severity
from numalet.insight.lint.lint_finding import LintFinding, LintNote, LintWarning, some_of
from numalet.insight.lint.subject import LintSubject


class LintDynamicResourceAllocationOff(LintFinding):
    sentence = (
        "{users}, and the feature gate DynamicResourceAllocation is off, the default of "
        "Kubernetes {release}"
    )
    why = (
        "A kubelet without the gate passes over claims: containers start without their devices. "
        "An API server without it drops them. The gate is on by default from v1.34."
    )
    fix = (
        "set featureGates.DynamicResourceAllocation to true, in the control plane too, and let "
        "the API server serve resource.k8s.io (--runtime-config)"
    )
    users: str
    release: str


class LintClaimFieldWithoutGate(LintWarning):
    sentence = (
        "{field} of {object} needs the feature gate {gate}, which {state} in Kubernetes {release}"
    )
    why = (
        "While the gate is off an API server drops the field of new objects, and scheduler and "
        "kubelet act as if it were not there."
    )
    fix = "set the gate everywhere, choose a release that has it on, or do without the field"
    object: str
    field: str
    gate: str
    state: str
    release: str


class LintClaimVersionNotServed(LintWarning):
    sentence = (
        "Kubernetes {release} does not have resource.k8s.io/{version}, the version of {object}; it "
        "has {served}"
    )
    why = "An API server refuses objects of a version that it does not serve."
    fix = "write it in the form of {newest}"
    object: str
    version: str
    release: str
    served: str
    newest: str


class LintClaimVersionOff(LintNote):
    sentence = (
        "API servers of Kubernetes {release} serve resource.k8s.io/{version}, the version of "
        "{object}, only if they are configured to"
    )
    why = "Alpha and beta versions of an API are off by default; v1 is served from v1.34."
    fix = "{way}"
    object: str
    version: str
    release: str
    way: str


class LintClaimUnknownToPod(LintFinding):
    sentence = "pod {pod}, container {container} uses {what}; {present}"
    why = (
        "A container names a claim by its name in spec.resourceClaims of the pod, and a request by "
        "its name in the claim."
    )
    fix = "write one of the names that there are, or add the missing one"
    pod: str
    container: str
    what: str
    present: str


class LintClaimsNotChecked(LintNote):
    sentence = "claims not checked: {claims}, because they are not among the given documents"
    why = "Whether a claim fits is seen in the ResourceClaim, or the template of it."
    fix = "give them too, as kubectl get pods,resourceclaims,resourceclaimtemplates -o yaml prints"
    claims: str


class LintStaticPodWithClaims(LintFinding):
    sentence = "static pod {pod} claims devices"
    why = "Claims are allocated by the scheduler, which static pods never pass; kubelets reject it."
    fix = "let the pod come from the API server"
    pod: str


class LintClaimsNotInPodResources(LintNote):
    sentence = (
        "pods claim devices, and the PodResources API of this kubelet does not list them: the "
        "feature gate KubeletPodResourcesDynamicResources is off"
    )
    why = "Exporters of NUMA topology and of metrics read the devices in use from PodResources."
    fix = "set featureGates.KubeletPodResourcesDynamicResources to true"


_ALLOCATION: Final = "DynamicResourceAllocation"
_POD_RESOURCES: Final = "KubeletPodResourcesDynamicResources"
_EXTENDED: Final = "DRAExtendedResource"
_CONSUMABLE: Final = "DRAConsumableCapacity"
_PARTITIONABLE: Final = "DRAPartitionableDevices"
_BINDING: Final = "DRADeviceBindingConditions"
_TAINTS: Final = "DRADeviceTaints"
_MAPPING: Final = "DRANodeAllocatableResources"
_GATE_OF_FIELD: Final = {
    "adminAccess": "DRAAdminAccess",
    "allowMultipleAllocations": _CONSUMABLE,
    "attributes": "DRAListTypeAttributes",
    "bindingConditions": _BINDING,
    "consumesCounters": _PARTITIONABLE,
    "distinctAttribute": _CONSUMABLE,
    "extendedResourceName": _EXTENDED,
    "firstAvailable": "DRAPrioritizedList",
    "nodeAllocatableResourceMappings": _MAPPING,
    "nodeAllocatableResources": _MAPPING,
    "perDeviceNodeSelection": _PARTITIONABLE,
    "requests": _CONSUMABLE,
    "sharedCounters": _PARTITIONABLE,
    "taints": _TAINTS,
    "tolerations": _TAINTS,
}
_SHOWN: Final = {
    "attributes": "an attribute with a list of values",
    "requests": "capacity.requests",
}
_VERSIONS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")
"""Versions of the API group, the newest first."""

_CLASS_PREFIX: Final = "deviceclass.resource.kubernetes.io/"


def gates_of(subject: LintSubject) -> frozenset[str]:
    if not any(subject.claims.objects) and not any(pod.claims for pod in subject.pods):
        return frozenset()
    gated = (field.name for each in subject.claims.objects for field in each.gated_fields)
    of_fields = (_GATE_OF_FIELD[name] for name in gated if name in _GATE_OF_FIELD)
    return frozenset({_ALLOCATION, _POD_RESOURCES, *of_fields})


def allocation_off(subject: LintSubject) -> Iterator[Finding]:
    if subject.gates.enabled(_ALLOCATION):
        return
    pods = [pod for pod in subject.pods if pod.claims]
    slices = [each for each in subject.claims.slices if each.devices]
    if not pods and not slices:
        return
    users = f"driver {slices[0].driver} offers devices" if slices else ""
    if pods:
        more = f" (and {len(pods) - 1} more pods)" if len(pods) > 1 else ""
        users = f"pod {pods[0]}{more} claims devices"
    yield LintDynamicResourceAllocationOff(
        users=users,
        release=subject.release.name,
        where=subject.config.where(f"featureGates.{_ALLOCATION}"),
        severity=Severity.ERROR if pods else Severity.WARNING,
    )


def fields_without_gate(subject: LintSubject) -> Iterator[Finding]:
    """Report fields that are dropped because their gate is off, once for each gate and kind."""
    if not subject.gates.enabled(_ALLOCATION):
        return
    groups: dict[tuple[str, str, type[ClaimObject]], list[tuple[ClaimObject, GatedField]]] = {}
    for each in subject.claims.objects:
        for gated in each.gated_fields:
            gate = _GATE_OF_FIELD.get(gated.name, "")
            if gate and not subject.gates.enabled(gate):
                groups.setdefault((gate, gated.name, type(each)), []).append((each, gated))
    for (gate, name, _), uses in groups.items():
        first, gated = uses[0]
        names = list(dict.fromkeys(str(each) for each, _ in uses))
        # A server printed the field, so the gate is on there.
        severity = Severity.NOTE if first.is_from_server else Severity.WARNING
        yield _without_gate(
            subject, names, _SHOWN.get(name, name), gate, first.at(gated.path), severity
        )
    yield from _extended_requests(subject)


def _extended_requests(subject: LintSubject) -> Iterator[Finding]:
    if subject.gates.enabled(_EXTENDED):
        return
    named = {each.extended_resource for each in subject.claims.classes} - {""}
    for pod in subject.pods:
        for container in pod.containers():
            for name in sorted(container.requests):
                is_class = name in named or name.startswith(_CLASS_PREFIX)
                # A device plugin serves the name without the gate.
                if is_class and name not in subject.devices:
                    where = subject.place_of(pod, container.name)
                    asking = [f"pod {pod}, container {container.name}"]
                    shown = f"a request of {name}"
                    yield _without_gate(subject, asking, shown, _EXTENDED, where, Severity.WARNING)


def _without_gate(
    subject: LintSubject,
    objects: list[str],
    field: str,
    gate: str,
    where: Location,
    severity: Severity,
) -> Finding:
    known = subject.release.gates.get(gate)
    state = "does not exist"
    if known is not None:
        state = "is alpha and off" if known.stage is GateStage.ALPHA else "is off"
    return LintClaimFieldWithoutGate(
        object=some_of(objects),
        field=field,
        gate=gate,
        state=state,
        release=subject.release.name,
        where=where,
        severity=severity,
    )


def versions(subject: LintSubject) -> Iterator[Finding]:
    served = subject.release.claim_versions
    groups: dict[str, list[ClaimObject]] = {}
    for each in subject.claims.objects:
        # A server printed an object in a version that it serves.
        if not each.is_from_server and not served.get(each.version):
            groups.setdefault(each.version, []).append(each)
    newest = min(served, key=_VERSIONS.index)
    for version, objects in groups.items():
        where = objects[0].at(".apiVersion")
        names, release = some_of([str(each) for each in objects]), subject.release.name
        if version not in served:
            yield LintClaimVersionNotServed(
                object=names,
                version=version,
                release=release,
                served=", ".join(sorted(served, key=_VERSIONS.index)),
                newest=f"resource.k8s.io/{newest}",
                where=where,
            )
        else:
            way = f"set --runtime-config=resource.k8s.io/{version}=true on the API server"
            if served[newest]:
                way = f"write it in the form of resource.k8s.io/{newest}"
            yield LintClaimVersionOff(
                object=names, version=version, release=release, way=way, where=where
            )


def unknown_to_pod(subject: LintSubject) -> Iterator[Finding]:
    for use in subject.claim_view.uses:
        what = present = ""
        if use.named is None:
            what = f"the claim {use.used.name!r}"
            names = [each.name for each in use.pod.claims]
            present = f"the pod has {some_of(names) or 'no claims'}"
        elif use.claim is not None and not use.requests:
            what = f"the request {use.used.request!r} of its claim {use.used.name!r}"
            names = [each.name for each in use.claim.requests]
            present = f"{use.claim} has {some_of(names) or 'no requests'}"
        if what:
            yield LintClaimUnknownToPod(
                pod=str(use.pod),
                container=use.container.name,
                what=what,
                present=present,
                where=subject.place_of(use.pod, use.container.name),
            )


def not_checked(subject: LintSubject) -> Iterator[Finding]:
    view = subject.claim_view
    missing = [
        f"ResourceClaim {pod.namespace}/{named.claim}"
        if named.claim
        else f"ResourceClaimTemplate {pod.namespace}/{named.template}"
        for pod in subject.pods
        for named in pod.claims
        if (named.claim or named.template) and view.claim_of(pod, named) is None
    ]
    if missing:
        yield LintClaimsNotChecked(claims=some_of(list(dict.fromkeys(missing))))


def static_pods(subject: LintSubject) -> Iterator[Finding]:
    for pod in subject.pods:
        if pod.is_static and pod.claims:
            yield LintStaticPodWithClaims(pod=str(pod), where=subject.place_of(pod, ""))


def not_in_pod_resources(subject: LintSubject) -> Iterator[Finding]:
    gates = subject.gates
    if not gates.enabled(_ALLOCATION) or gates.enabled(_POD_RESOURCES):
        return
    if any(pod.claims for pod in subject.pods):
        where = subject.config.where(f"featureGates.{_POD_RESOURCES}")
        yield LintClaimsNotInPodResources(where=where)
