"""One line for each cause of a refusal, as ``kubectl describe pod`` shows it with a count.

The scheduler counts equal texts, so a text names the request, which is the same on all nodes, and
never the free amount of one node; ``numalet explain`` shows that.
"""

from __future__ import annotations

from typing import Final, assert_never

from numalet.core.admission import node_resources
from numalet.core.admission.reasons import (
    AllocationRefused,
    KubeletWouldCrash,
    NotAligned,
    NothingToPreempt,
    OutOfResource,
    PodLevelOff,
    PredicateFailed,
    Rejection,
    SidecarForbidden,
)
from numalet.core.cluster.facts import StateFacts
from numalet.core.config.rules import TopologyPolicy
from numalet.core.hints.provider import Reason
from numalet.core.managers.cpu.reasons import NotWholeCores, TooFewWholeCores
from numalet.core.managers.device.reasons import NoneHealthy, NotRegistered, TooFewFree
from numalet.core.managers.memory.reasons import NotAnInteger, PartNotAnInteger
from numalet.core.model import resources
from numalet.core.model.pod import Pod
from numalet.insight.fleet import obstacles
from numalet.insight.fleet.obstacles import (
    DevicesApart,
    MemoryInGroup,
    NeverTogether,
    NotOnOne,
    TooLittleTogether,
)
from numalet.wording import numbers

PREFIX: Final = "numalet: "
MOST_CHARACTERS: Final = 99
_NOTHING_TO_SHARE: Final = "EmptyPodSharedPoolError"


def text(facts: StateFacts, pod: Pod, rejection: Rejection) -> str:
    line = PREFIX + _of_obstacle(facts, pod, rejection)
    return line if len(line) <= MOST_CHARACTERS else line[: MOST_CHARACTERS - 3] + "..."


def _of_obstacle(facts: StateFacts, pod: Pod, rejection: Rejection) -> str:
    policy = facts.node.rules.topology.policy
    match obstacles.of(facts, pod, rejection):
        case DevicesApart(resource, free):
            asked = obstacles.aligned_devices(facts, pod)[resource]
            if free < asked:
                return f"fewer than {asked} {resource} free" if asked > 1 else f"no {resource} free"
            return _none_has(_amount(resource, asked), policy)
        case NeverTogether(resource, asked):
            fit = "fits" if resources.is_memory_type(resource) else "fit"
            return f"{_amount(resource, asked)} never {fit} on one NUMA node"
        case MemoryInGroup():
            return "memory is in a group of NUMA nodes"
        case TooLittleTogether(resource, asked):
            return _none_has(_amount(resource, asked), policy)
        case NotOnOne(asked_for):
            line = _none_has(" and ".join(asked_for), policy, "together")
            is_short = len(PREFIX + line) <= MOST_CHARACTERS
            return line if is_short else _none_has("all that the pod asks for", policy, "")
        case _:
            return _of_rejection(rejection)


def _none_has(amount: str, policy: TopologyPolicy, how: str = "free") -> str:
    if policy is TopologyPolicy.SINGLE_NUMA_NODE:
        return f"no NUMA node has {amount} {how}".rstrip()
    return f"no NUMA nodes that {policy.value} accepts have {amount} {how}".rstrip()


def _amount(resource: str, asked: int) -> str:
    amount = numbers.amount(resource, asked)
    if resource == resources.CPU:
        return f"{amount} CPU" if amount == "1" else f"{amount} CPUs"
    return (
        f"{amount} of {resource}" if resources.is_memory_type(resource) else f"{amount} {resource}"
    )


def _of_rejection(rejection: Rejection) -> str:
    match rejection:
        case NotAligned():
            return f"no NUMA nodes that {rejection.policy} accepts have room"
        case AllocationRefused():
            return _of_cause(rejection.cause, rejection.provider)
        case KubeletWouldCrash():
            return "this pod would crash or hang its kubelet"
        case OutOfResource(resource, requested):
            if resource == node_resources.PODS:
                return "no room for another pod"
            less = "less" if resources.is_memory_type(resource) else "fewer"
            return f"{less} than {_amount(resource, requested)} free in all"
        case PodLevelOff():
            return "its kubelet does not support pods with spec.resources"
        case PredicateFailed(predicate):
            return f"its kubelet would say {predicate}"
        case SidecarForbidden():
            return "its kubelet does not support sidecars (restartPolicy Always of init containers)"
        case NothingToPreempt():
            return "no evictions make room for this critical pod"
        case _:
            assert_never(rejection)


def _of_cause(cause: Reason, provider: str) -> str:
    """Return why a manager did not allocate though the policy admitted the hint."""
    match cause:
        case NotWholeCores():
            return f"{numbers.counted(cause.requested, 'CPU')} would not be whole cores"
        case TooFewWholeCores():
            return f"fewer than {numbers.counted(cause.requested, 'CPU')} free on whole cores"
        case NotAnInteger() | PartNotAnInteger():
            return f"{cause.quantity} of {cause.resource} is not a whole number of bytes"
        case NotRegistered() | NoneHealthy():
            return f"no healthy {cause.resource}"
        case TooFewFree():
            return f"too few {cause.resource} free"
        case _ if getattr(cause, "kubelet_reason", "") == _NOTHING_TO_SHARE:
            return "nothing of spec.resources is left for containers that share"
        case _ if provider == "memory":
            return "no NUMA nodes that go together have the memory free"
        case _ if provider == "cpu":
            return "too few CPUs free where they are needed"
        case _:
            return f"its kubelet would reject it: {cause.code}"
