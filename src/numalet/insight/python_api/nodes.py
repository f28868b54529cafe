"""Nodes of the public package on a machine in any form, and checks of the arguments."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from os import PathLike
from typing import Any, Final, TypeAlias

from numalet.core.checkpoint.state_files import StateFiles
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.kubelet_view import kubelet_view
from numalet.core.model.machine import Machine
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.value import replace
from numalet.core.node import node as nodes
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.snapshot.slots import ExtraManager
from numalet.insight.python_api.arguments import checked
from numalet.io.documents.kubelet import kubelet_version
from numalet.io.documents.machine import device_file
from numalet.io.files import state_directory
from numalet.io.machines import LoadedMachine, open_machine
from numalet.wording import numbers

_MOST_LISTED: Final = 8


def choices(argument: str, given: Iterable[str], known: Collection[str]) -> tuple[str, ...]:
    """Return the values of an argument. Raises ``BadInput`` for unknown ones."""
    values = tuple(given)
    unknown = [each for each in values if each not in known]
    if unknown:
        expected = f"one of {numbers.some(known, _MOST_LISTED)}" if known else ""
        raise BadInput(
            input_error.NotSupported(f"{argument} {str(each)!r} is unknown", expected=expected)
            for each in unknown
        )
    return values


def devices_on(devices: Devices, node_ids: Collection[int]) -> dict[str, tuple[Device, ...]]:
    """Check that all devices are on NUMA nodes of the machine, and return them.

    Raises:
        BadInput: A device is on another NUMA node.
    """
    listed = {resource: tuple(each) for resource, each in devices.items()}
    absent = []
    for resource, each in ((name, each) for name, all_ in listed.items() for each in all_):
        absent += [
            device_file.on_absent_node(
                resource, each.device_id, node, node_ids, Location("devices")
            )
            for node in each.numa_nodes
            if node not in node_ids
        ]
    if absent:
        raise BadInput(absent)
    return listed


AnyMachine: TypeAlias = str | PathLike[str] | LoadedMachine | Machine | MachineInfo
"""The value of ``-m`` (a shape, a path, ``profile:NAME``), or an opened machine."""


@checked
def machine_info(machine: AnyMachine) -> MachineInfo:
    """Return the kubelet's view of a machine.

    Raises:
        BadInput: the text names no machine.
    """
    return machine_and_devices(machine)[0]


@checked
def start_node(
    config: KubeletConfig,
    machine: AnyMachine,
    files: StateFiles | None = None,
    devices: Devices | None = None,
    *,
    managers: Iterable[ExtraManager[Any]] = (),
    plugins: PreferredDevices = NO_SAY,
    behaviour: Behaviour = EXACT,
    release: str | Release | None = None,
    identity: NodeIdentity = UNKNOWN_NODE,
) -> Node | StartRefused:
    """Start a node on this machine, or return why the kubelet would not start.

    Args:
        config: the configuration.
        machine: the machine in any form.
        files: texts of existing state files by name.
        devices: devices that plugins report, by resource; by default those of the profile.
        managers: managers of other resources; they run after the kubelet's own.
        plugins: device plugins that answer GetPreferredAllocation.
        behaviour: the rules of exact or of native mode.
        release: the release of the kubelet, such as ``1.34`` or ``v1.34.9``; by default that of the
            behaviour.
        identity: the node's name and labels, as far as known.

    Raises:
        BadInput: the text names no machine, the release is not known, or a device is on a NUMA node
            that the machine does not have.
        ValueError: two managers have the same name.
    """
    rules = following(behaviour, release)
    choices("files", files or (), state_directory.FILE_NAMES)
    info, its_devices = machine_and_devices(machine)
    return nodes.start(
        config,
        info,
        files,
        its_devices if devices is None else devices_on(devices, info.node_ids),
        managers=managers,
        plugins=plugins,
        behaviour=rules,
        identity=identity,
    )


@checked
def restart_node(
    node: Node,
    config: KubeletConfig,
    machine: AnyMachine,
    files: StateFiles | None = None,
    devices: Devices | None = None,
) -> Node | StartRefused:
    """Restart the kubelet of a node, or return why it would not start.

    Args:
        node: the node before; its containers keep running.
        config: the configuration now.
        machine: the machine now, in any form.
        files: the state files that the kubelet finds; by default those of the node.
        devices: devices that plugins report, by resource.

    Raises:
        BadInput: the text names no machine.
    """
    choices("files", files or (), state_directory.FILE_NAMES)
    info, its_devices = machine_and_devices(machine)
    state_files = node.state_files() if files is None else files
    reported = its_devices if devices is None else devices_on(devices, info.node_ids)
    return node.restart(config, info, state_files, reported)


def following(behaviour: Behaviour, release: str | Release | None) -> Behaviour:
    """Return the behaviour with this release; without one, the modes follow the newest release.

    Raises:
        BadInput: The release is not known.
    """
    if release is None:
        return replace(behaviour, release=DEFAULT) if behaviour in (EXACT, NATIVE) else behaviour
    if not isinstance(release, Release):
        release = kubelet_version.of_name(release)
    return replace(behaviour, release=release)


def machine_and_devices(machine: AnyMachine) -> tuple[MachineInfo, Devices]:
    match machine:
        case MachineInfo():
            return machine, NO_DEVICES
        case Machine():
            return kubelet_view(machine), NO_DEVICES
        case LoadedMachine():
            return machine.info, machine.devices
        case _:
            loaded = open_machine(machine)
            return loaded.info, loaded.devices
