"""Devices from a device file and from ``--device`` flags.

``profile:NAME`` instead of a file selects the devices of that machine profile.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from numalet.core.managers.device.inventory import Device
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.io.documents.machine import device_file, profile_library
from numalet.io.documents.machine.device_file import DeviceLists
from numalet.io.documents.text import yaml_source
from numalet.io.machines import LoadedMachine


def named_devices(
    path: str | None, flags: Sequence[str], node_ids: Collection[int] | None = None
) -> DeviceLists:
    """The devices of the file and of the flags; a resource may be in one of them only.

    ``node_ids`` are the NUMA nodes of the machine if it is known.

    Raises:
        BadInput: with all errors of both.
    """
    findings = Findings()
    by_resource: dict[str, tuple[Device, ...]] = {}
    for read in (
        partial(_of_file, path, node_ids),
        partial(device_file.parse_device_flags, flags, node_ids),
    ):
        try:
            lists = read()
        except BadInput as bad:
            findings.extend(bad.findings)
            continue
        for resource, devices in lists.items():
            if resource in by_resource:
                findings.add(device_file.listed_twice(resource, Location(device_file.FLAG)))
            by_resource[resource] = devices
    findings.raise_errors()
    return by_resource


def devices_on(machine: LoadedMachine, path: str | None, flags: Sequence[str]) -> DeviceLists:
    """The user's devices, or else those of the machine's profile. Raises ``BadInput``."""
    if path is None and not flags:
        return machine.devices
    return named_devices(path, flags, machine.info.node_ids)


def _of_file(path: str | None, node_ids: Collection[int] | None) -> DeviceLists:
    if path is None:
        return {}
    if path.startswith(profile_library.PREFIX) and not Path(path).exists():
        name = path.removeprefix(profile_library.PREFIX)
        profile = profile_library.read(name, Location(path))
        return device_file.decode(profile.devices, profile.devices_place, profile.line_of, node_ids)
    documents = yaml_source.load_documents(yaml_source.read_text(path), path)
    if len(documents) != 1:
        raise input_error.Invalid(
            f"the device file has {len(documents)} documents",
            expected="one list of resources with their devices",
            where=Location(path),
        ).bad_input()
    (document,) = documents
    if document.duplicates:
        raise BadInput(document.duplicates)
    return device_file.decode(document.value, Location(path, "$"), document.line_of, node_ids)
