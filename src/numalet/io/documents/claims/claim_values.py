"""Values of claims, classes and slices whose fields ``device_claims`` has checked.

Absent and null members get the defaults of Kubernetes; the API server may omit any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from numalet.core.model import input_error
from numalet.core.model.device_claims import (
    AttributeValue,
    ClaimConstraint,
    ClaimRequest,
    DeviceClass,
    DeviceRequest,
    GatedField,
    ResourceClaim,
    ResourceSlice,
    SliceDevice,
    SliceReach,
)
from numalet.core.model.findings import Findings, Location
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, field
from numalet.io.documents.pods import pod_resources
from numalet.io.documents.text.typed import Place

_ATTRIBUTE_TYPES: Final = {
    "bool": "bools",
    "int": "ints",
    "string": "strings",
    "version": "versions",
}
"""The members of an attribute: for one value, and for a list of values."""
_MAPPINGS: Final = ("nodeAllocatableResourceMappings", "nodeAllocatableResources")
_GATED_OF_DEVICES: Final = (
    *("allowMultipleAllocations", "bindingConditions", "consumesCounters", "taints"),
    *_MAPPINGS,
)
LISTED_VALUES: Final = "attributes"
"""How attributes with lists of values are called among the gated fields."""


class ClaimReading(Value):
    """One object while it is read, with the fields behind feature gates that it uses.

    ``is_flat``: its version has the older layout (``device_claims._FLAT``).
    """

    name: str
    version: str
    is_from_server: bool
    is_flat: bool
    place: Place
    findings: Findings
    gated: list[GatedField] = field(default_factory=list)

    def at(self, path: str) -> Location:
        return self.place.below(path)

    def note(self, names: Sequence[str], value: Mapping[str, Any], path: str) -> None:
        """Record the fields that are set; the API server treats false and empty as not set."""
        self.gated.extend(GatedField(name, f"{path}.{name}") for name in names if value.get(name))


def part(value: object, name: str) -> Mapping[str, Any]:
    member = value.get(name) if isinstance(value, Mapping) else None
    return member if isinstance(member, Mapping) else {}


def items(value: object, name: str) -> Iterator[Mapping[str, Any]]:
    member = value.get(name) if isinstance(value, Mapping) else None
    for each in member if isinstance(member, list) else ():
        if isinstance(each, Mapping):
            yield each


def device_class(spec: Mapping[str, Any], reading: ClaimReading) -> DeviceClass:
    reading.note(("extendedResourceName",), spec, ".spec")
    return DeviceClass(
        name=reading.name,
        selectors=_selectors(spec),
        extended_resource=spec.get("extendedResourceName") or "",
        version=reading.version,
        is_from_server=reading.is_from_server,
        gated_fields=tuple(reading.gated),
        at=reading.at,
    )


def claim(
    value: Mapping[Any, Any], spec: Mapping[str, Any], reading: ClaimReading, *, is_template: bool
) -> ResourceClaim:
    path = ".spec.spec.devices" if is_template else ".spec.devices"
    devices = part(spec, "devices")
    requests = tuple(
        _request(each, f"{path}.requests[{index}]", reading)
        for index, each in enumerate(items(devices, "requests"))
    )
    constraints = tuple(
        ClaimConstraint(
            attribute=each["matchAttribute"],
            requests=tuple(each.get("requests") or ()),
            path=f"{path}.constraints[{index}]",
        )
        for index, each in enumerate(items(devices, "constraints"))
        if each.get("matchAttribute")
    )
    for index, each in enumerate(items(devices, "constraints")):
        reading.note(("distinctAttribute",), each, f"{path}.constraints[{index}]")
    return ResourceClaim(
        name=reading.name,
        namespace=part(value, "metadata").get("namespace") or "default",
        is_template=is_template,
        is_allocated=bool(part(value, "status").get("allocation")),
        requests=requests,
        constraints=constraints,
        version=reading.version,
        is_from_server=reading.is_from_server,
        gated_fields=tuple(reading.gated),
        at=reading.at,
    )


def _request(value: Mapping[str, Any], path: str, reading: ClaimReading) -> ClaimRequest:
    several = list(items(value, "firstAvailable"))
    # Subrequests in order of preference; the allocator uses the first one that fits.
    reading.note(("firstAvailable",), value, path)
    if several:
        paths = [f"{path}.firstAvailable[{index}]" for index in range(len(several))]
    else:
        is_nested = not reading.is_flat
        several = [part(value, "exactly") if is_nested else value]
        paths = [f"{path}.exactly" if is_nested else path]
    return ClaimRequest(
        name=value.get("name") or "",
        alternatives=tuple(
            _asked(each, at, reading) for each, at in zip(several, paths, strict=True)
        ),
        path=path,
    )


def _asked(value: Mapping[str, Any], path: str, reading: ClaimReading) -> DeviceRequest:
    reading.note(("adminAccess", "tolerations"), value, path)
    capacity = part(value, "capacity")
    reading.note(("requests",), capacity, f"{path}.capacity")
    device_class = value.get("deviceClassName") or ""
    if not device_class:
        where = reading.at(path)
        needed = "deviceClassName" if reading.is_flat else "exactly.deviceClassName"
        reading.findings.add(
            input_error.Required(f"the request names no device class; set {needed}", where=where)
        )
    count = value.get("count")
    return DeviceRequest(
        device_class=device_class,
        name=value.get("name") or "",
        selectors=_selectors(value),
        # ``count`` defaults to 1 in mode ExactCount and is unused in mode All.
        count=None if value.get("allocationMode") == "All" else count or 1,
        capacity=_amounts(part(capacity, "requests")),
    )


def _selectors(value: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(part(each, "cel").get("expression") or "" for each in items(value, "selectors"))


def _amounts(value: Mapping[str, Any]) -> dict[str, Quantity]:
    """Amounts by name, from quantities or from objects with a quantity in ``value``."""
    read = {
        name: pod_resources.decode_quantity(
            each.get("value") if isinstance(each, Mapping) else each, Place(""), Findings()
        )
        for name, each in value.items()
    }
    return {name: quantity for name, quantity in read.items() if quantity is not None}


def resource_slice(spec: Mapping[str, Any], reading: ClaimReading) -> ResourceSlice:
    pool = part(spec, "pool")
    driver = spec.get("driver") or ""
    devices = tuple(
        _device(each, spec, driver, f".spec.devices[{index}]", reading)
        for index, each in enumerate(items(spec, "devices"))
    )
    reading.note(("perDeviceNodeSelection", "sharedCounters"), spec, ".spec")
    return ResourceSlice(
        name=reading.name,
        driver=driver,
        pool=pool.get("name") or "",
        generation=pool.get("generation") or 0,
        slice_count=pool.get("resourceSliceCount") or 1,
        devices=devices,
        version=reading.version,
        is_from_server=reading.is_from_server,
        gated_fields=tuple(reading.gated),
        at=reading.at,
    )


def _device(
    value: Mapping[str, Any], spec: Mapping[str, Any], driver: str, path: str, reading: ClaimReading
) -> SliceDevice:
    name = value.get("name") or ""
    if reading.is_flat:
        value, path = part(value, "basic"), f"{path}.basic"
    reading.note(_GATED_OF_DEVICES, value, path)
    attributes = {
        _complete(each, driver): _attribute(given, f"{path}.attributes.{each}", reading)
        for each, given in part(value, "attributes").items()
    }
    capacity = _amounts(part(value, "capacity"))
    # With perDeviceNodeSelection each device names its nodes; otherwise the slice does.
    chosen = value if spec.get("perDeviceNodeSelection") else spec
    node = chosen.get("nodeName") or ""
    mapped = (each for name in _MAPPINGS for each in part(value, name))
    return SliceDevice(
        name=name,
        driver=driver,
        reach=_reach(chosen),
        node=node,
        attributes=attributes,
        capacity={_complete(each, driver): amount for each, amount in capacity.items()},
        mapped=frozenset(mapped),
        is_shared=bool(value.get("allowMultipleAllocations")),
        path=path,
    )


def _reach(chosen: Mapping[str, Any]) -> SliceReach:
    if chosen.get("nodeName"):
        return SliceReach.NODE
    return SliceReach.ALL_NODES if chosen.get("allNodes") else SliceReach.SOME_NODES


def _complete(name: str, driver: str) -> str:
    """The qualified name; the driver is the default domain."""
    return name if "/" in name else f"{driver}/{name}"


def _attribute(value: object, path: str, reading: ClaimReading) -> frozenset[AttributeValue]:
    given = value if isinstance(value, Mapping) else {}
    present = [name for name, member in given.items() if member is not None]
    of_type = {each: name for name, listed in _ATTRIBUTE_TYPES.items() for each in (name, listed)}
    known = [name for name in present if name in of_type]
    if len(known) != 1:
        # With an unknown member present, a newer release may define the type, so this is not an
        # error.
        if len(known) == len(present):
            types = ", ".join((*_ATTRIBUTE_TYPES, *_ATTRIBUTE_TYPES.values()))
            shown = " and ".join(known) or "none"
            where = reading.at(path)
            reading.findings.add(
                input_error.Invalid(
                    f"an attribute needs exactly one type, but this one has {shown}",
                    expected=f"one of: {types}",
                    where=where,
                )
            )
        return frozenset()
    (name,) = known
    values = given[name]
    if isinstance(values, list):
        reading.gated.append(GatedField(LISTED_VALUES, f"{path}.{name}"))
    return frozenset(
        AttributeValue(of_type[name], each)
        for each in (values if isinstance(values, list) else [values])
    )
