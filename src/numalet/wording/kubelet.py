"""The kubelet's own words about pods: rejections, statuses of containers, conditions, events.

Texts that Kubernetes clients and dashboards match are exact. If the kubelet would crash or hang, it
has no message, and numalet's sentence describes the crash. Kubelet v1.32:
``topologymanager.GetPodAdmitResult``, ``memorymanager``, ``kuberuntime`` and ``status``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, assert_never

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
from numalet.core.model import go_text
from numalet.core.workload import run
from numalet.core.workload.run import Verdict
from numalet.wording import explanations

CRASH_LOOP: Final = "CrashLoopBackOff"
CONTAINER_CREATING: Final = "ContainerCreating"
CREATE_CONTAINER_ERROR: Final = "CreateContainerError"
POD_INITIALIZING: Final = "PodInitializing"

JUDGED: Final = "{kubelet} is checked by the rules of release {release}"
"""About the kubelet that an agent observes."""

# Texts of numalet, unlike those about containers.
NODE_MESSAGES: Final[Mapping[str, str]] = {
    "": "the agent is running and admits pods",
    "AgentObserves": "the agent only observes this node: another program manages its CPUs",
    "SourcesNotReady": "not all sources of pods are ready since the agent started",
    "NodeStateNotWritable": "cannot write the node state, so no pods are admitted",
    "AgentStops": "the agent is stopping; running containers continue",
}
"""By the reason why the node is not ready."""


def waiting_to_restart(
    pause_seconds: float, container: str, pod: str, namespace: str, uid: str
) -> str:
    pause = go_text.duration_text(round(pause_seconds * 1_000_000_000))
    return f"back-off {pause} restarting failed container={container} pod={pod}_{namespace}({uid})"


def waiting_for(pods: Iterable[str]) -> str:
    """A container waits for evicted pods to end; the text is numalet's."""
    return f"waits for evicted pods to end: {', '.join(pods)}"


def lost() -> str:
    """A container ended while its shim was not running."""
    return "The container could not be located when the pod was terminated"


def incomplete(containers: Iterable[str]) -> str:
    return f"containers with incomplete status: [{' '.join(containers)}]"


def unready(containers: Iterable[str]) -> str:
    return f"containers with unready status: [{' '.join(containers)}]"


# Kubelet v1.32: ``pkg/kubelet/events`` and the places where they are recorded.
CREATED: Final = "Created"
STARTED: Final = "Started"
KILLING: Final = "Killing"
FAILED: Final = "Failed"
BACK_OFF: Final = "BackOff"
EXCEEDED_GRACE_PERIOD: Final = "ExceededGracePeriod"
NOT_KILLED: Final = "Container runtime did not kill the pod within specified grace period."
# From here on the agent's own events; ``agent/findings/events.py`` has their sentences.
DRIFT_CORRECTED: Final = "DriftCorrected"
NOT_HELD: Final = "DriftNotCorrected"
NOT_AS_PROMISED: Final = "NotAsPromised"
STATE_IN_DOUBT: Final = "StateInDoubt"
START_DELAYED: Final = "StartDelayed"
PROMISE_LOST: Final = "PromiseLost"
PROMISED_ANEW: Final = "PromisedAnew"
UNPROMISED: Final = "Unpromised"
KUBELET_STARTED: Final = "KubeletStarted"
KUBELET_NOT_RUNNING: Final = "KubeletNotRunning"
KUBELET_KEEPS_RESTARTING: Final = "KubeletKeepsRestarting"
INVALID_MANIFEST: Final = "InvalidManifest"
MANIFEST_REMARKS: Final = "ManifestRemarks"
DEVICE_WITHOUT_ID: Final = "DeviceWithoutId"


def created(container: str) -> str:
    return f"Created container: {container}"


def killing(container: str) -> str:
    return f"Stopping container {container}"


def started(container: str) -> str:
    return f"Started container {container}"


def back_off(container: str, pod: str, namespace: str, uid: str) -> str:
    return f"Back-off restarting failed container {container} in pod {pod}_{namespace}({uid})"


def invalid_manifest(path: str, text: str) -> str:
    """A file of the manifest folder is not a pod; ``text`` quotes nothing of the file."""
    return (
        f"{path}: couldn't parse as pod({text}), please check config file"
        f" ('numalet simulate {path}' shows the error)"
    )


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
            return explanations.of_reason(rejection)
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
        return explanations.of_reason(cause)
    return str(template).format(**explanations.fields_of(cause))


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
