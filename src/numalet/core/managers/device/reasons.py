"""Why the Device Manager refuses, or does not offer a set of nodes."""

from __future__ import annotations

from typing import ClassVar

from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class ChangedRequest(Value):
    code: ClassVar[str] = "device/changed-request"
    sentence: ClassVar[str] = (
        "Container {container} of pod {pod_uid} holds {recorded} of {resource} and requests "
        "{requested} now; a container that has its devices cannot change their number."
    )
    kubelet_text: ClassVar[str] = (
        'pod "{pod_uid}" container "{container}" changed request for resource "{resource}" from '
        "{recorded} to {requested}"
    )
    pod_uid: str
    container: str
    resource: str
    recorded: int
    requested: int


class NotRegistered(Value):
    """Devices of the resource are in use, but its plugin is not registered."""

    code: ClassVar[str] = "device/not-registered"
    sentence: ClassVar[str] = (
        "Container {container} requests {resource}, but no device plugin is registered for it any "
        "more."
    )
    kubelet_text: ClassVar[str] = "cannot allocate unregistered device {resource}"
    container: str
    resource: str


class NoneHealthy(Value):
    """The resource has no healthy device; the kubelet then refuses even a request of 0."""

    code: ClassVar[str] = "device/none-healthy"
    sentence: ClassVar[str] = (
        "Container {container} requests {resource}, which has no healthy device."
    )
    kubelet_text: ClassVar[str] = (
        "no healthy devices present; cannot allocate unhealthy devices {resource}"
    )
    container: str
    resource: str


class HeldNotHealthy(Value):
    code: ClassVar[str] = "device/held-not-healthy"
    sentence: ClassVar[str] = (
        "Container {container} holds the device {device} of {resource}, which is no longer healthy."
    )
    kubelet_text: ClassVar[str] = (
        "previously allocated devices are no longer healthy; cannot allocate unhealthy devices "
        "{resource}"
    )
    container: str
    resource: str
    device: str


class TooFewFree(Value):
    """Too few devices are free; ``needed`` excludes reused devices."""

    code: ClassVar[str] = "device/too-few-free"
    sentence: ClassVar[str] = (
        "Container {container} needs {needed} more of {resource}; {free} are free."
    )
    kubelet_text: ClassVar[str] = (
        "requested number of devices unavailable for {resource}. Requested: {needed}, Available: "
        "{free}"
    )
    container: str
    resource: str
    needed: int
    free: int


class PreferenceFailed(Value):
    code: ClassVar[str] = "device/preference-failed"
    sentence: ClassVar[str] = (
        "The device plugin of {resource} could not return its preferred devices for container "
        "{container}: {error}"
    )
    kubelet_text: ClassVar[str] = (
        "device plugin GetPreferredAllocation rpc failed with err: {error}"
    )
    container: str
    resource: str
    error: str


class Vetoed(Value):
    code: ClassVar[str] = "device/vetoed"
    sentence: ClassVar[str] = (
        "The device plugin of {resource} did not accept the devices of container {container}: "
        "{error}"
    )
    kubelet_text: ClassVar[str] = "{error}"
    container: str
    resource: str
    error: str


class EmptyResponse(Value):
    """The plugin accepted, but its response lists no container."""

    code: ClassVar[str] = "device/empty-response"
    sentence: ClassVar[str] = (
        "The device plugin of {resource} returned a response without any container for container "
        "{container}: {answer}"
    )
    kubelet_text: ClassVar[str] = "no containers return in allocation response {answer}"
    container: str
    resource: str
    answer: str


class OtherNumberHeld(Value):
    """No hints: the container or pod holds another number of devices than it requests."""

    code: ClassVar[str] = "device/other-number-held"
    sentence: ClassVar[str] = (
        "{held} of {resource} are already allocated, but {requested} requested; the number cannot "
        "change."
    )
    resource: str
    held: int
    requested: int


class FewerThanAsked(Value):
    """No hints: too few devices are free or reusable on the whole machine."""

    code: ClassVar[str] = "device/fewer-than-asked"
    sentence: ClassVar[str] = (
        "{requested} of {resource} requested; {usable} free on the whole machine."
    )
    resource: str
    usable: int
    requested: int


class NoSetOfNodes(Value):
    """No hints: too few devices touch any set of nodes.

    Devices without a NUMA node touch no set, although they could be allocated.
    """

    code: ClassVar[str] = "device/no-set-of-nodes"
    sentence: ClassVar[str] = (
        "{requested} of {resource} requested, but no set of NUMA nodes has enough; devices without "
        "a NUMA node do not count."
    )
    resource: str
    requested: int


class LeavesOutReused(Value):
    """Not offered: a device that the pod reuses is not attached to this set."""

    code: ClassVar[str] = "device/leaves-out-reused"
    sentence: ClassVar[str] = (
        "The device {device} of {resource}, which the pod reuses, is not on NUMA nodes {mask}."
    )
    brief: ClassVar[str] = "without {device}, which the pod reuses"
    mask: NumaMask
    resource: str
    device: str


class TooFewDevicesOnNodes(Value):
    code: ClassVar[str] = "device/too-few-on-nodes"
    sentence: ClassVar[str] = (
        "NUMA nodes {mask} have {usable} of {resource} available; {requested} requested."
    )
    brief: ClassVar[str] = "{short} of {resource} short ({usable} available)"
    mask: NumaMask
    resource: str
    usable: int
    requested: int
