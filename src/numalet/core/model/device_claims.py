"""Dynamic resource allocation as documents have it: claims, their classes, the devices of drivers.

Nothing is allocated here: these values are what a reader makes of documents and what rules read.
Names of attributes and capacities are complete: ``model`` of the driver ``gpu.example.com`` is
``gpu.example.com/model``, as the scheduler compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from numalet.core.model.findings import Location
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value

PlaceOf = Callable[[str], Location]
"""From the path of a part, such as ``.spec.nodeName``, to its place. A line costs a second reading
of the text, so a place is made where there is a finding."""


class AttributeValue(NamedTuple):
    """One value of an attribute; values of different types are never equal."""

    type: str
    value: int | bool | str


class GatedField(NamedTuple):
    """A field that API servers drop while a feature gate is off: its name, its path."""

    name: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimObject:
    """What all the kinds have in common.

    ``version`` is that of the API group, such as ``v1``; ``is_from_server``: an API server printed
    the document, and so it knows the version.
    """

    name: str
    version: str = "v1"
    is_from_server: bool = False
    gated_fields: tuple[GatedField, ...] = ()
    at: PlaceOf = field(compare=False, repr=False)


class DeviceRequest(Value, kw_only=True):
    """Devices of one class; ``count`` is None for all that there are.

    ``selectors`` are CEL expressions, all of which a device has to satisfy. ``capacity`` is what is
    asked of each device. ``name`` is that of an alternative, empty for the only one.
    """

    device_class: str
    name: str = ""
    selectors: tuple[str, ...] = ()
    count: int | None = 1
    capacity: Mapping[str, Quantity] = MappingProxyType({})


class ClaimRequest(Value, kw_only=True):
    """One request of a claim; of several ``alternatives`` the first that can be had counts."""

    name: str
    alternatives: tuple[DeviceRequest, ...]
    path: str = ""


class ClaimConstraint(Value, kw_only=True):
    """All devices of these requests (of all, if none is named) have the attribute in common."""

    attribute: str
    requests: tuple[str, ...] = ()
    path: str = ""

    def covers(self, request: str) -> bool:
        """Whether it is about the devices of this request."""
        names = {name.partition("/")[0] for name in self.requests}
        return not names or request in names


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceClaim(ClaimObject):
    """A claim, or a template of claims. ``is_allocated``: the scheduler has chosen its devices."""

    namespace: str = "default"
    is_template: bool = False
    is_allocated: bool = False
    requests: tuple[ClaimRequest, ...] = ()
    constraints: tuple[ClaimConstraint, ...] = ()

    def __str__(self) -> str:
        kind = "ResourceClaimTemplate" if self.is_template else "ResourceClaim"
        return f"{kind} {self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClass(ClaimObject):
    """A class of devices; ``extended_resource`` is empty if it stands for none."""

    selectors: tuple[str, ...] = ()
    extended_resource: str = ""

    def __str__(self) -> str:
        return f"DeviceClass {self.name}"


class SliceReach(Enum):
    """Where the devices of a slice are."""

    NODE = "node"
    """On the one node that is named."""
    ALL_NODES = "all-nodes"
    SOME_NODES = "some-nodes"
    """On nodes that a selector chooses."""


class SliceDevice(Value, kw_only=True):
    """One device. ``mapped`` are resources of nodes, such as ``cpu``, that it is counted as.

    ``is_shared``: several requests may get parts of it. ``node`` is empty unless ``reach`` is NODE.
    """

    name: str
    driver: str
    reach: SliceReach = SliceReach.NODE
    node: str = ""
    attributes: Mapping[str, frozenset[AttributeValue]] = MappingProxyType({})
    capacity: Mapping[str, Quantity] = MappingProxyType({})
    mapped: frozenset[str] = frozenset()
    is_shared: bool = False
    path: str = ""

    def may_be_on(self, node: str) -> bool:
        """Whether pods of a node may get it, as far as that is known here."""
        return self.reach is not SliceReach.NODE or self.node == node


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSlice(ClaimObject):
    """Devices that a driver offers: a part of a pool, which has ``slice_count`` of them."""

    driver: str
    pool: str = ""
    generation: int = 0
    slice_count: int = 1
    devices: tuple[SliceDevice, ...] = ()

    def __str__(self) -> str:
        return f"ResourceSlice {self.name}"


class ClaimDocuments(Value, kw_only=True):
    """Everything about claims that documents have."""

    claims: tuple[ResourceClaim, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()

    @property
    def objects(self) -> Iterator[ResourceClaim | DeviceClass | ResourceSlice]:
        """All of them."""
        yield from self.claims
        yield from self.classes
        yield from self.slices


NO_CLAIMS: Final = ClaimDocuments()
