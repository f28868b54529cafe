"""Classes of nodes: what nodes of one hardware and configuration have in common, and its name.

A class is named by its content, so that two nodes are of one class exactly if a kubelet of the
one would decide as a kubelet of the other, given the same pods. An empty node is started once for
a class; its members share the managers and differ in their identity and in what they hold.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from numalet.core.config import node_allocatable
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device
from numalet.core.model import limits
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_identity import NodeIdentity
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, field, replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

DevicePlaces = Mapping[str, tuple[tuple[int, ...], ...]]
"""By resource the NUMA nodes of each device, devices in order of their ids."""

_NAME_DIGITS: Final = 16
_UNSPOKEN: Final = frozenset({"origins", "undecoded", "notes"})
"""Where a value came from, and remarks: nothing is decided by them."""

_DECISIVE: Final = (
    "cpu_manager_policy",
    "cpu_manager_policy_options",
    "memory_manager_policy",
    "reserved_memory",
    "topology_manager_policy",
    "topology_manager_scope",
    "topology_manager_policy_options",
    "kube_reserved",
    "system_reserved",
    "reserved_system_cpus",
    "eviction_hard",
    "feature_gates",
    "max_pods",
    "pods_per_core",
)
_NO_EVICTION: Final[Mapping[str, str]] = MappingProxyType({node_allocatable.MEMORY_AVAILABLE: "0%"})


class ClassSpec(Value, kw_only=True):
    """What all nodes of a class have. ``of_node`` and ``decisive`` bring it into its one form."""

    machine: MachineInfo
    config: KubeletConfig = field(default_factory=KubeletConfig)
    behaviour: Behaviour = EXACT
    devices: DevicePlaces = MappingProxyType({})


def spec_of(node: Node, config: KubeletConfig) -> ClassSpec:
    """The class of a node that was started with this configuration."""
    return ClassSpec(
        machine=replace(node.rules.machine, notes=()),
        config=decisive(config, node),
        behaviour=node.rules.behaviour,
        devices=device_places(node),
    )


def decisive(config: KubeletConfig, node: Node) -> KubeletConfig:
    """What of a configuration decides where pods go on a node that was started with it.

    Eviction thresholds are written out, since their defaults depend on release and system; of
    these the one for memory alone is kept back from pods.
    """
    rules = node.rules
    whole = node_allocatable.with_default_eviction(config, rules.release_rules, rules.machine.os)
    threshold = whole.eviction_hard.get(node_allocatable.MEMORY_AVAILABLE)
    eviction = _NO_EVICTION
    if threshold is not None and not config.ignore_hard_eviction:
        eviction = {node_allocatable.MEMORY_AVAILABLE: threshold}
    return only_decisive(replace(config, eviction_hard=eviction))


def only_decisive(config: KubeletConfig) -> KubeletConfig:
    """The configuration without the fields that decide nothing about pods, and without origins."""
    kept: dict[str, Any] = {name: getattr(config, name) for name in _DECISIVE}
    return KubeletConfig(**kept)


def device_places(node: Node) -> DevicePlaces:
    """The NUMA nodes of the devices that plugins of the node last reported."""
    known = node.snapshot.device.inventory.known
    return {
        resource: tuple(device.numa_nodes for _, device in sorted(known[resource].by_id.items()))
        for resource in sorted(known)
    }


def class_name(spec: ClassSpec) -> str:
    """The name of the class: 16 hex digits of the SHA-256 of what is not as by default.

    So a field that a later version adds leaves the names of those classes alone that do not set it.
    """
    text = json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_DIGITS]


def start(spec: ClassSpec) -> Node | StartRefused:
    """An empty node of the class with all its devices, or why its kubelet would not start."""
    devices = {
        resource: [Device(device_id(at), places) for at, places in enumerate(all_places)]
        for resource, all_places in spec.devices.items()
    }
    return nodes.start(spec.config, spec.machine, devices=devices, behaviour=spec.behaviour)


def device_id(position: int) -> str:
    """What stands for the id of the device at this position among the sorted ids of a resource."""
    return f"{position:05d}"


def positions(device_ids: Iterable[str]) -> frozenset[int] | None:
    """The positions that these stand for; None if one of them is the id of a device itself."""
    ids = tuple(device_ids)
    numbers = (int(each) if each.isdecimal() and len(each) <= limits.DIGITS else -1 for each in ids)
    if not all(each == device_id(number) for each, number in zip(ids, numbers, strict=True)):
        return None
    return frozenset(map(int, ids))


def member(empty: Node, identity: NodeIdentity) -> Node:
    """The empty node of a class as one of its members: the managers are shared."""
    rules = replace(empty.rules, identity=identity)
    return replace(empty, roster=replace(empty.roster, rules=rules))


def _plain(value: Any) -> Any:
    """The value in JSON, without what is as by default and what decides nothing."""
    match value:
        case Release():
            return value.name
        case Enum():
            return value.value
        case Quantity():
            return str(value)
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case tuple():
            return [_plain(each) for each in value]
        case _ if is_dataclass(value):
            return {
                each.name: _plain(getattr(value, each.name))
                for each in fields(value)
                if each.name not in _UNSPOKEN
                and getattr(value, each.name) != _default(each.default, each.default_factory)
            }
        case _:
            return value


def _default(default: Any, factory: Any) -> Any:
    return default if factory is MISSING else factory()
