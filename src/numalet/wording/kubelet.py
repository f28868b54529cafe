"""The kubelet's own words about a rejected pod: reason, message, status and event.

Texts that Kubernetes clients match are exact. If the kubelet would crash or hang, it has no
message, and numalet's sentence describes the crash. Kubelet: ``topologymanager.GetPodAdmitResult``
and ``memorymanager``, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from numalet.core.admission.reasons import (
    AllocationRefused,
    KubeletWouldCrash,
    NotAligned,
    NothingToPreempt,
    OutOfResource,
    PodLevelNotAligned,
    PodLevelOff,
    PredicateFailed,
    Rejection,
    SidecarForbidden,
)
from numalet.core.hints.provider import Reason
from numalet.core.workload import run
from numalet.core.workload.run import Verdict
from numalet.wording import english

_PREDICATES: Mapping[str, str] = {
    "PodOSSelectorNodeLabelDoesNotMatch": (
        "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label"
    ),
    "PodOSNotSupported": "Failed to admit pod as the OS field doesn't match node OS",
    "SupplementalGroupsPolicyNotSupported": (
        "SupplementalGroupsPolicy=Strict is not supported in this node"
    ),
    "NodeAffinity": (
        "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
    ),
    "NodeName": "Predicate NodeName failed: node(s) didn't match the requested node name",
    "NodePorts": (
        "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports"
    ),
}
_POD_LEVEL_NOT_ALIGNED: Mapping[str, str] = {
    "pod": (
        "Pod Scope pod with pod-level resources failed admission under pod-scope topology manager"
    ),
    "container": (
        "Pod Scope pod with pod-level resources failed admission with a container-level topology"
        " manager"
    ),
}
_NOTHING_TO_PREEMPT = (
    "Unexpected error while attempting to recover from admission failure: preemption: error finding"
    " a set of pods to preempt: no set of running pods found to reclaim resources: "
)

PREEMPTING = "Preempting"
PREEMPTED = "Preempted in order to admit critical pod"
EVICTED = Verdict(False, PREEMPTING, PREEMPTED, run.EVICTED)
PREEMPTED_CONDITION = "Pod was preempted by Kubelet to accommodate a critical pod."


def reason(rejection: Rejection | None) -> str:
    """Return ``status.reason`` of the pod, which kubectl shows as STATUS; empty if admitted."""
    match rejection:
        case None:
            return ""
        case NotAligned():
            return "TopologyAffinityError"
        case AllocationRefused(cause=cause):
            return getattr(cause, "kubelet_reason", "UnexpectedAdmissionError")
        case KubeletWouldCrash():
            return "KubeletWouldCrash"
        case OutOfResource(resource=resource):
            return f"OutOf{resource}"
        case PodLevelOff():
            return "PodLevelResourcesNotSupported"
        case PredicateFailed(predicate=predicate):
            return predicate
        case SidecarForbidden():
            return "InitContainerRestartPolicyForbidden"
        case NothingToPreempt():
            return "UnexpectedAdmissionError"
        case _:
            assert_never(rejection)


def message(rejection: Rejection | None) -> str:
    """Return the admission message, without the status prefix; empty if admitted."""
    match rejection:
        case None:
            return ""
        case PodLevelNotAligned(scope=scope):
            return _POD_LEVEL_NOT_ALIGNED[scope]
        case NotAligned():
            return "Resources cannot be allocated with Topology locality"
        case AllocationRefused(cause=cause) if hasattr(cause, "kubelet_reason"):
            return _allocation(cause)
        case AllocationRefused(cause=cause):
            return f"Allocate failed due to {_allocation(cause)}, which is unexpected"
        case KubeletWouldCrash():
            return english.of_reason(rejection)
        case OutOfResource(resource, requested, used, capacity):
            return (
                f"Node didn't have enough resource: {resource}, requested: {requested},"
                f" used: {used}, capacity: {capacity}"
            )
        case PodLevelOff():
            return "PodLevelResources feature gate is disabled"
        case PredicateFailed(predicate=predicate):
            return _PREDICATES.get(predicate, predicate)
        case SidecarForbidden(container):
            return f'Init container "{container}" may not have a non-default restartPolicy'
        case NothingToPreempt(lacking):
            listed = "".join(f"(res: {name}, q: {amount}), " for name, amount in lacking)
            return _NOTHING_TO_PREEMPT + f"[{listed}]"
        case _:
            assert_never(rejection)


def _allocation(cause: Reason) -> str:
    template = getattr(cause, "kubelet_text", "")
    if not template:
        # The kubelet has no message for a manager that it does not have.
        return english.of_reason(cause)
    return str(template).format(**english.fields_of(cause))


def status(rejection: Rejection) -> dict[str, str]:
    """Return the fields that the kubelet writes into the status of a rejected pod."""
    return {
        "phase": "Failed",
        "reason": reason(rejection),
        "message": rejected(message(rejection)),
    }


def ended(reason_: str, message_: str) -> str:
    """Return ``status.message`` of a pod that ended early for this reason."""
    return message_ if reason_ == PREEMPTING else rejected(message_)


def rejected(admission_message: str) -> str:
    """Return ``status.message`` of a pod that was rejected with this message."""
    return f"Pod was rejected: {admission_message}"


def event(rejection: Rejection) -> dict[str, str]:
    return {"type": "Warning", "reason": reason(rejection), "message": message(rejection)}


def verdict(rejection: Rejection | None) -> Verdict:
    if rejection is None:
        return Verdict(True)
    return Verdict(False, reason(rejection), message(rejection), rejection.code)
