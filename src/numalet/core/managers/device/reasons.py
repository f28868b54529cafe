"""Why the Device Manager refuses, or does not offer a set of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from numalet.core.model.numa_mask import NumaMask


@dataclass(frozen=True, slots=True)
class ChangedRequest:
    """The container has a record of another number of devices than it asks for now."""

    code: ClassVar[str] = "device/changed-request"
    pod_uid: str
    container: str
    resource: str
    recorded: int
    requested: int


@dataclass(frozen=True, slots=True)
class NotRegistered:
    """Devices of the resource are in use, but no plugin stands for it."""

    code: ClassVar[str] = "device/not-registered"
    container: str
    resource: str


@dataclass(frozen=True, slots=True)
class NoneHealthy:
    """The resource has no healthy device; even a request for none is refused then."""

    code: ClassVar[str] = "device/none-healthy"
    container: str
    resource: str


@dataclass(frozen=True, slots=True)
class HeldNotHealthy:
    """A device that the container holds is not healthy any more."""

    code: ClassVar[str] = "device/held-not-healthy"
    container: str
    resource: str
    device: str


@dataclass(frozen=True, slots=True)
class TooFewFree:
    """Too few devices are free. ``needed`` is what is left after those used again."""

    code: ClassVar[str] = "device/too-few-free"
    container: str
    resource: str
    needed: int
    free: int


@dataclass(frozen=True, slots=True)
class PreferenceFailed:
    """The plugin could not say which devices it prefers."""

    code: ClassVar[str] = "device/preference-failed"
    container: str
    resource: str
    error: str


@dataclass(frozen=True, slots=True)
class Vetoed:
    """The plugin did not accept the chosen devices."""

    code: ClassVar[str] = "device/vetoed"
    container: str
    resource: str
    error: str


@dataclass(frozen=True, slots=True)
class EmptyResponse:
    """The plugin accepted, and its answer names no container."""

    code: ClassVar[str] = "device/empty-response"
    container: str
    resource: str
    answer: str


@dataclass(frozen=True, slots=True)
class OtherNumberHeld:
    """No hint: what is held already is not as much as is asked for."""

    code: ClassVar[str] = "device/other-number-held"
    resource: str
    held: int
    requested: int


@dataclass(frozen=True, slots=True)
class FewerThanAsked:
    """No hint: too few devices are free or can be used again, wherever they are."""

    code: ClassVar[str] = "device/fewer-than-asked"
    resource: str
    usable: int
    requested: int


@dataclass(frozen=True, slots=True)
class NoSetOfNodes:
    """No hint: no set of nodes is touched by enough devices.

    Devices without a NUMA node count nowhere, though they could be given out.
    """

    code: ClassVar[str] = "device/no-set-of-nodes"
    resource: str
    requested: int


@dataclass(frozen=True, slots=True)
class LeavesOutReused:
    """Not offered: a device that the pod uses again is not attached to this set."""

    code: ClassVar[str] = "device/leaves-out-reused"
    mask: NumaMask
    resource: str
    device: str


@dataclass(frozen=True, slots=True)
class TooFewDevicesOnNodes:
    """Not offered: too few usable devices are attached to this set."""

    code: ClassVar[str] = "device/too-few-on-nodes"
    mask: NumaMask
    resource: str
    usable: int
    requested: int
