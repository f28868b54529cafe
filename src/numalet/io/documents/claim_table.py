"""The fields of ResourceClaims, their templates, DeviceClasses and ResourceSlices, by API version.

``v1`` and ``v1beta2`` have what is asked for inside of ``exactly``, and what a device has beside
its name in the device. ``v1beta1`` and ``v1alpha3`` have the former in the request itself, and the
latter in ``basic``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from numalet.core.model.value import Value
from numalet.io.documents.pod_table.kinds import (
    AMOUNTS,
    FLAG,
    LONG,
    QUANTITY,
    TEXT,
    TEXTS,
    Field,
    Kind,
    ListOf,
    MapOf,
    ObjectType,
    PlainKind,
    Whole,
    needed,
    object_type,
    one_of,
)
from numalet.io.documents.pod_table.metadata import OBJECT_META

_OBJECTS: Final = ListOf(PlainKind.OBJECT)
_COUNT: Final = Whole(1, 2**63 - 1)

_SELECTORS: Final = ListOf(
    object_type(
        "DeviceSelector",
        cel=object_type("CELDeviceSelector", expression=needed(TEXT)),
    )
)
_ASKED: Final[Mapping[str, Field | Kind]] = {
    "allocationMode": one_of("All", "ExactCount"),
    "capacity": object_type("CapacityRequirements", requests=AMOUNTS),
    "count": _COUNT,
    "deviceClassName": TEXT,
    "selectors": _SELECTORS,
    "tolerations": _OBJECTS,
}
ASKED_FIELDS: Final = frozenset({*_ASKED, "adminAccess"})
"""What says which devices are asked for: in ``exactly``, or in the request itself."""

_SUBREQUEST: Final = object_type("DeviceSubRequest", name=needed(TEXT), **_ASKED)
_EXACTLY: Final = object_type("ExactDeviceRequest", adminAccess=FLAG, **_ASKED)
_REQUEST: Final = object_type(
    "DeviceRequest", exactly=_EXACTLY, firstAvailable=ListOf(_SUBREQUEST), name=needed(TEXT)
)
_FLAT_REQUEST: Final = object_type(
    "DeviceRequest",
    adminAccess=FLAG,
    firstAvailable=ListOf(_SUBREQUEST),
    name=needed(TEXT),
    **_ASKED,
)
_CONSTRAINT: Final = object_type(
    "DeviceConstraint", distinctAttribute=TEXT, matchAttribute=TEXT, requests=TEXTS
)

ATTRIBUTE_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {"bool": "bools", "int": "ints", "string": "strings", "version": "versions"}
)
"""The types of an attribute, and of one that has several values."""

_ATTRIBUTE: Final = object_type(
    "DeviceAttribute",
    bool=FLAG,
    bools=ListOf(FLAG),
    int=LONG,
    ints=ListOf(LONG),
    string=TEXT,
    strings=TEXTS,
    version=TEXT,
    versions=TEXTS,
)
_CAPACITY: Final = object_type(
    "DeviceCapacity", requestPolicy=PlainKind.OBJECT, value=needed(QUANTITY)
)


def _device_fields(capacity: Kind) -> dict[str, Field | Kind]:
    return {
        "allNodes": FLAG,
        "allowMultipleAllocations": FLAG,
        "attributes": MapOf(_ATTRIBUTE),
        "bindingConditions": TEXTS,
        "bindingFailureConditions": TEXTS,
        "bindsToNode": FLAG,
        "capacity": MapOf(capacity),
        "consumesCounters": _OBJECTS,
        "nodeAllocatableResourceMappings": MapOf(PlainKind.OBJECT),
        "nodeAllocatableResources": MapOf(PlainKind.OBJECT),
        "nodeName": TEXT,
        "nodeSelector": PlainKind.OBJECT,
        "taints": _OBJECTS,
    }


DEVICE_FIELDS: Final = frozenset(_device_fields(QUANTITY))
"""What a device has beside its name: in itself, or in ``basic``."""

_DEVICE: Final = object_type("Device", name=needed(TEXT), **_device_fields(_CAPACITY))


def _basic_device(capacity: Kind) -> ObjectType:
    basic = object_type("BasicDevice", **_device_fields(capacity))
    return object_type("Device", basic=basic, name=needed(TEXT))


_POOL: Final = object_type(
    "ResourcePool", generation=LONG, name=needed(TEXT), resourceSliceCount=LONG
)
_CLASS_SPEC: Final = object_type(
    "DeviceClassSpec",
    config=_OBJECTS,
    extendedResourceName=TEXT,
    selectors=_SELECTORS,
    suitableNodes=PlainKind.OBJECT,
)


def _claim_spec(request: ObjectType) -> ObjectType:
    devices = object_type(
        "DeviceClaim",
        config=_OBJECTS,
        constraints=ListOf(_CONSTRAINT),
        requests=ListOf(request),
    )
    return object_type("ResourceClaimSpec", controller=TEXT, devices=devices)


def _slice_spec(device: ObjectType) -> ObjectType:
    return object_type(
        "ResourceSliceSpec",
        allNodes=FLAG,
        devices=ListOf(device),
        driver=needed(TEXT),
        nodeName=TEXT,
        nodeSelector=PlainKind.OBJECT,
        partitionTypeAttribute=TEXT,
        perDeviceNodeSelection=FLAG,
        pool=needed(_POOL),
        sharedCounters=_OBJECTS,
        skipNodeOperations=TEXTS,
    )


def _kind(name: str, spec: ObjectType) -> ObjectType:
    return object_type(
        name,
        apiVersion=TEXT,
        kind=TEXT,
        metadata=needed(OBJECT_META),
        spec=needed(spec),
        status=PlainKind.OBJECT,
    )


class ClaimForm(Value):
    """The kinds of one version by name; ``is_flat``: requests and devices have the older form."""

    kinds: Mapping[str, ObjectType]
    is_flat: bool = False


def _form(request: ObjectType, device: ObjectType, *, is_flat: bool) -> ClaimForm:
    claim = _claim_spec(request)
    template = object_type(
        "ResourceClaimTemplateSpec", metadata=PlainKind.OBJECT, spec=needed(claim)
    )
    kinds = {
        "DeviceClass": _kind("DeviceClass", _CLASS_SPEC),
        "ResourceClaim": _kind("ResourceClaim", claim),
        "ResourceClaimTemplate": _kind("ResourceClaimTemplate", template),
        "ResourceSlice": _kind("ResourceSlice", _slice_spec(device)),
    }
    return ClaimForm(MappingProxyType(kinds), is_flat)


_PRESENT: Final = _form(_REQUEST, _DEVICE, is_flat=False)

FORMS: Final[Mapping[str, ClaimForm]] = MappingProxyType(
    {
        "v1": _PRESENT,
        "v1beta2": _PRESENT,
        "v1beta1": _form(_FLAT_REQUEST, _basic_device(_CAPACITY), is_flat=True),
        # Amounts of a device are plain quantities here.
        "v1alpha3": _form(_FLAT_REQUEST, _basic_device(QUANTITY), is_flat=True),
    }
)
"""By version of the API group, the newest first."""
