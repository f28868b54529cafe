"""Checks of the arguments of public functions that the types do not catch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from numalet.core.managers.device.inventory import Device
from numalet.core.model import cpu_set, input_error
from numalet.core.model.findings import BadInput, Finding, Location
from numalet.core.node.node import Devices

T = TypeVar("T")


class ApiOneForSeveral(Finding):
    sentence = "{argument} takes a list of values, not {value} alone; write [{value}]"
    argument: str
    value: str


def several(argument: str, given: Iterable[T]) -> tuple[T, ...]:
    """Return the values of an argument; reject a text, which would be iterated by letters.

    Raises:
        BadInput: It is a text or a mapping.
    """
    if isinstance(given, str | bytes | Mapping):
        one = ApiOneForSeveral(argument=argument, value=repr(given)[:80])
        raise BadInput([one])
    return tuple(given)


def choices(argument: str, given: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the values of an argument. Raises ``BadInput`` for unknown ones."""
    values = several(argument, given)
    unknown = [each for each in values if each not in known]
    if unknown:
        listed = ", ".join(known)
        raise BadInput(
            input_error.NotSupported(
                f"{argument} {str(each)!r} is unknown", expected=f"one of {listed}"
            )
            for each in unknown
        )
    return values


def devices_on(devices: Devices, node_ids: Collection[int]) -> dict[str, tuple[Device, ...]]:
    """Check that all devices are on NUMA nodes of the machine, and return them.

    Raises:
        BadInput: A device is on another NUMA node.
        TypeError: A value is not a ``Device``.
    """
    listed = {resource: several("devices", each) for resource, each in devices.items()}
    absent = []
    for resource, each in ((name, each) for name, all_ in listed.items() for each in all_):
        if not isinstance(each, Device):
            raise TypeError(f"a device of {resource} must be a numalet.Device, not {each!r}")
        absent += [
            input_error.NotFound(
                f"device {each.device_id!r} of {resource} is on NUMA node {node}, which the "
                "machine does not have",
                expected=f"one of its NUMA nodes: {cpu_set.text(frozenset(node_ids))}",
                where=Location("devices"),
            )
            for node in each.numa_nodes
            if node not in node_ids
        ]
    if absent:
        raise BadInput(absent)
    return listed
