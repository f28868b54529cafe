"""The devices of a machine from a YAML or JSON file, from flags, or from a scenario.

A file is a list of resources with their devices, or an object with that list as ``devices``:

    - resource: example.com/gpu
      devices:
      - {id: gpu0, numa_nodes: [0], health: Healthy}
      - gpu1@1

The same as a flag: ``example.com/gpu=gpu0@0,gpu1@0+1,gpu2``. ``+`` joins NUMA nodes; without ``@``
the device has no NUMA affinity. The kubelet accepts anything from a plugin; numalet refuses likely
typing errors.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, TypeAlias

from numalet.core.managers.device import inventory
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model import cpu_set, input_error
from numalet.core.model.findings import Finding, Findings, Location
from numalet.core.model.value import Mutable, field
from numalet.io.documents.text import kube_objects, typed
from numalet.io.documents.text.typed import LineOf, Place, no_line
from numalet.io.findings.devices import (
    DevicesIdMissing,
)

DeviceLists: TypeAlias = Mapping[str, tuple[Device, ...]]
"""Devices by resource name, in the order of the document."""

FLAG: Final = "--device"
HIGHEST_NODE_ID: Final = 1023

_GROUP: Final = ("resource", "devices")
_DEVICE: Final = ("id", "numa_nodes", "health")
_NODE: Final = re.compile(r"[0-9]{1,4}", re.ASCII)
_HEALTH: Final = {health.value: health for health in Health}


def decode(
    value: object,
    where: Location,
    lines: LineOf = no_line,
    node_ids: Collection[int] | None = None,
) -> DeviceLists:
    """The devices of a document; raises ``BadInput`` with all errors.

    Args:
        value: the plain value of the document, or of the list in it.
        where: the document and path of the value, for findings.
        lines: returns the line of a path.
        node_ids: NUMA nodes of the machine, if it is known.
    """
    reader = _Reader(node_ids)
    place = Place(where.document, where.path or "$", lines)
    if isinstance(value, Mapping):
        typed.check_members(value, ("devices",), place, reader.findings)
        value, place = value.get("devices"), place.member("devices")
    if isinstance(value, list):
        for index, group in enumerate(value):
            kube_objects.stop_after_many(reader.findings, place)
            reader.read_group(group, place.item(index))
    else:
        typed.wrong_type(value, "a list of resources with their devices", place, reader.findings)
    return reader.result()


def parse_device_flags(
    texts: Iterable[str], node_ids: Collection[int] | None = None
) -> DeviceLists:
    """The devices of several flags; those of one resource may be spread over flags."""
    reader = _Reader(node_ids)
    for text in texts:
        reader.read_flag(text, Place(FLAG, ""))
    return reader.result()


def listed_twice(resource: str, where: Location) -> Finding:
    return input_error.Duplicate(
        f"resource {resource!r} is listed twice; put its devices into one list", where=where
    )


def on_absent_node(
    resource: str, device: str, node: int, node_ids: Collection[int], where: Location
) -> Finding:
    return input_error.NotFound(
        f"device {device!r} of {resource} is on NUMA node {node}, which the machine does not have",
        expected=f"one of its NUMA nodes: {cpu_set.text(frozenset(node_ids))}",
        where=where,
    )


class _Reader(Mutable):
    node_ids: Collection[int] | None
    findings: Findings = field(default_factory=Findings)
    by_resource: dict[str, dict[str, Device]] = field(default_factory=dict)

    def result(self) -> DeviceLists:
        self.findings.raise_errors()
        return {resource: tuple(devices.values()) for resource, devices in self.by_resource.items()}

    def read_group(self, group: object, place: Place) -> None:
        if not isinstance(group, Mapping):
            typed.wrong_type(group, "an object with a resource", place, self.findings)
            return
        typed.check_members(group, _GROUP, place, self.findings)
        resource = group.get("resource")
        at = place.member("resource")
        if not isinstance(resource, str):
            typed.wrong_type(resource, "the name of a resource", at, self.findings)
            return
        if resource in self.by_resource:
            self.findings.add(listed_twice(resource, at.location))
            return
        self._open(resource, at)
        devices = group.get("devices")
        at = place.member("devices")
        if not isinstance(devices, list):
            typed.wrong_type(devices, "a list of devices", at, self.findings)
            return
        for index, device in enumerate(devices):
            kube_objects.stop_after_many(self.findings, at)
            self._device(resource, device, at.item(index))

    def read_flag(self, text: str, place: Place) -> None:
        resource, equals, listed = (part.strip() for part in text.partition("="))
        if not equals:
            self.findings.add(
                input_error.Invalid(
                    f"invalid devices {text!r}",
                    expected=(
                        "a resource, '=' and device ids with their NUMA nodes, such as "
                        "example.com/gpu=gpu0@0,gpu1@1"
                    ),
                    where=place.location,
                )
            )
            return
        self._open(resource, place)
        # Nothing after the equals sign: a plugin without devices.
        for short in listed.split(",") if listed else ():
            self._short(resource, short, place)

    def _open(self, resource: str, place: Place) -> None:
        if not inventory.is_extended_resource(resource):
            self.findings.add(
                input_error.Invalid(
                    f"invalid extended resource {resource!r}",
                    expected=(
                        "a domain other than kubernetes.io, '/' and a name of up to 63 "
                        "letters, digits, '-', '_' and '.', such as example.com/gpu"
                    ),
                    where=place.location,
                )
            )
        self.by_resource.setdefault(resource, {})

    def _device(self, resource: str, device: object, place: Place) -> None:
        if isinstance(device, str):
            self._short(resource, device, place)
        elif isinstance(device, Mapping):
            self._long(resource, device, place)
        else:
            expected = "an object that describes a device, or a text such as gpu0@0"
            typed.wrong_type(device, expected, place, self.findings)

    def _long(self, resource: str, device: Mapping[Any, Any], place: Place) -> None:
        typed.check_members(device, _DEVICE, place, self.findings)
        name = device.get("id")
        if not isinstance(name, str):
            typed.wrong_type(name, "the id of a device", place.member("id"), self.findings)
            return
        nodes = device.get("numa_nodes", [])
        if not isinstance(nodes, list):
            at = place.member("numa_nodes")
            typed.wrong_type(nodes, "a list of NUMA node ids", at, self.findings)
            nodes = []
        health = device.get("health", Health.HEALTHY.value)
        if not isinstance(health, str) or health not in _HEALTH:
            self.findings.add(
                input_error.NotSupported(
                    f"unknown health {typed.described(health)} of device {name!r}",
                    expected="Healthy or Unhealthy",
                    where=place.member("health").location,
                )
            )
            health = Health.HEALTHY.value
        self._keep(resource, name, nodes, _HEALTH[health], place)

    def _short(self, resource: str, text: str, place: Place) -> None:
        # From the right, because an id may contain ``@``.
        name, at, listed = text.strip().rpartition("@")
        if not at:
            name, listed = listed, ""
        nodes = [int(node) if _NODE.fullmatch(node) else node for node in listed.split("+") if at]
        self._keep(resource, name, nodes, Health.HEALTHY, place)

    def _keep(
        self, resource: str, name: str, nodes: list[Any], health: Health, place: Place
    ) -> None:
        if not name.strip():
            self.findings.add(DevicesIdMissing(resource=resource, where=place.location))
            return
        if name in self.by_resource[resource]:
            self.findings.add(
                input_error.Duplicate(
                    f"two devices of {resource} have the id {name!r}", where=place.location
                )
            )
            return
        numa_nodes = self._nodes(resource, name, nodes, place)
        self.by_resource[resource][name] = Device(name, numa_nodes, health)

    def _nodes(self, resource: str, name: str, nodes: list[Any], place: Place) -> tuple[int, ...]:
        sound: list[int] = []
        for node in nodes:
            if (
                not isinstance(node, int)
                or isinstance(node, bool)
                or not 0 <= node <= HIGHEST_NODE_ID
            ):
                self.findings.add(
                    input_error.Invalid(
                        f"invalid NUMA node {typed.described(node)} of device {name!r}",
                        expected=f"a whole number from 0 to {HIGHEST_NODE_ID}",
                        where=place.location,
                    )
                )
            elif node in sound:
                self.findings.add(
                    input_error.Duplicate(
                        f"device {name!r} lists NUMA node {node} twice", where=place.location
                    )
                )
            else:
                sound.append(node)
                self._must_be_there(resource, name, node, place)
        return tuple(sound)

    def _must_be_there(self, resource: str, name: str, node: int, place: Place) -> None:
        if self.node_ids is not None and node not in self.node_ids:
            self.findings.add(on_absent_node(resource, name, node, self.node_ids, place.location))
