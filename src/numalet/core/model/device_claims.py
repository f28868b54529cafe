"""Dynamic resource allocation in documents: claims, device classes, resource slices.

Nothing is allocated here. Names of attributes and capacities are fully qualified: ``model`` of the
driver ``gpu.example.com`` is ``gpu.example.com/model``, as the scheduler compares them.
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
"""From the path of a part, such as ``.spec.nodeName``, to its location. Finding the line means
parsing the text again, so it runs only for a finding."""


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
    """The common fields of all kinds.

    ``version`` is the API group's version, such as ``v1``. ``is_from_server``: an API server wrote
    the document, so the server supports the version.
    """

    name: str
    version: str = "v1"
    is_from_server: bool = False
    gated_fields: tuple[GatedField, ...] = ()
    at: PlaceOf = field(compare=False, repr=False)


class DeviceRequest(Value, kw_only=True):
    """A request for devices of one class; without ``count``, for all devices.

    ``selectors`` are CEL expressions that a device must satisfy together. ``capacity`` is the
    minimum of each device. ``name`` is the alternative's name, empty for the only one.
    """

    device_class: str
    name: str = ""
    selectors: tuple[str, ...] = ()
    count: int | None = 1
    capacity: Mapping[str, Quantity] = MappingProxyType({})


class ClaimRequest(Value, kw_only=True):
    """One request of a claim; the scheduler takes the first possible one of ``alternatives``."""

    name: str
    alternatives: tuple[DeviceRequest, ...]
    path: str = ""


class ClaimConstraint(Value, kw_only=True):
    """All devices of these requests (of all, if empty) must have the same attribute value."""

    attribute: str
    requests: tuple[str, ...] = ()
    path: str = ""

    def covers(self, request: str) -> bool:
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
    """A class of devices; ``extended_resource`` is empty without such a name."""

    selectors: tuple[str, ...] = ()
    extended_resource: str = ""

    def __str__(self) -> str:
        return f"DeviceClass {self.name}"


class SliceReach(Enum):
    NODE = "node"
    """One named node."""
    ALL_NODES = "all-nodes"
    SOME_NODES = "some-nodes"
    """The nodes that a selector matches."""


class SliceDevice(Value, kw_only=True):
    """One device. ``mapped`` are node resources, such as ``cpu``, that it consumes.

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
        """Return whether pods of a node may get it; True if unknown."""
        return self.reach is not SliceReach.NODE or self.node == node


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSlice(ClaimObject):
    """Devices that a driver offers: one of the ``slice_count`` slices of a pool."""

    driver: str
    pool: str = ""
    generation: int = 0
    slice_count: int = 1
    devices: tuple[SliceDevice, ...] = ()

    def __str__(self) -> str:
        return f"ResourceSlice {self.name}"


class ClaimDocuments(Value, kw_only=True):
    claims: tuple[ResourceClaim, ...] = ()
    classes: tuple[DeviceClass, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()

    @property
    def objects(self) -> Iterator[ResourceClaim | DeviceClass | ResourceSlice]:
        yield from self.claims
        yield from self.classes
        yield from self.slices


NO_CLAIMS: Final = ClaimDocuments()
