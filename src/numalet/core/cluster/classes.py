"""Classes of nodes: the common hardware and configuration, named by its content.

Two nodes have the same class exactly if their kubelets would decide alike on the same pods. An
empty node is started once for a class; its members share the managers.
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
from numalet.core.model.node_constraints import NodeIdentity
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, field, replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node

DevicePlaces = Mapping[str, tuple[tuple[int, ...], ...]]
"""The NUMA nodes of each device by resource, devices in order of their ids."""

_NAME_DIGITS: Final = 16
_UNSPOKEN: Final = frozenset({"origins", "undecoded", "notes"})
"""Fields without influence on decisions: origins of values, and notes."""

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
    """The content of a class. ``spec_of`` and ``decisive`` bring it into its canonical form."""

    machine: MachineInfo
    config: KubeletConfig = field(default_factory=KubeletConfig)
    behaviour: Behaviour = EXACT
    devices: DevicePlaces = MappingProxyType({})


def spec_of(node: Node, config: KubeletConfig) -> ClassSpec:
    """Return the class of a node that was started with this configuration."""
    return ClassSpec(
        # Notes are about the files that the machine was read from; equal machines may have
        # different ones.
        machine=replace(node.rules.machine, notes=()),
        config=decisive(config, node),
        behaviour=node.rules.behaviour,
        devices=device_places(node),
    )


def decisive(config: KubeletConfig, node: Node) -> KubeletConfig:
    """Return the part of a configuration that influences admission.

    Eviction thresholds are explicit, because their defaults depend on release and system; only the
    one for memory reduces the allocatable resources.
    """
    rules = node.rules
    whole = node_allocatable.with_default_eviction(config, rules.release_rules, rules.machine.os)
    threshold = whole.eviction_hard.get(node_allocatable.MEMORY_AVAILABLE)
    eviction = _NO_EVICTION
    if threshold is not None and not config.ignore_hard_eviction:
        eviction = {node_allocatable.MEMORY_AVAILABLE: threshold}
    return only_decisive(replace(config, eviction_hard=eviction))


def only_decisive(config: KubeletConfig) -> KubeletConfig:
    kept: dict[str, Any] = {name: getattr(config, name) for name in _DECISIVE}
    return KubeletConfig(**kept)


def device_places(node: Node) -> DevicePlaces:
    """Return the NUMA nodes of the last reported devices."""
    known = node.snapshot.device.inventory.known
    return {
        resource: tuple(device.numa_nodes for _, device in sorted(known[resource].by_id.items()))
        for resource in sorted(known)
    }


def class_name(spec: ClassSpec) -> str:
    """Return the name of the class: 16 hex digits of the SHA-256 of its non-default content.

    Only non-default fields are hashed, so a field of a later version does not rename existing
    classes.
    """
    text = json.dumps(_plain(spec), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:_NAME_DIGITS]


def start(spec: ClassSpec) -> Node | StartRefused:
    """Return an empty node of the class with all its devices, or why it does not start."""
    devices = {
        resource: [Device(device_id(at), places) for at, places in enumerate(all_places)]
        for resource, all_places in spec.devices.items()
    }
    return nodes.start(spec.config, spec.machine, devices=devices, behaviour=spec.behaviour)


def device_id(position: int) -> str:
    """Return the substitute id of the device at this position in the sorted ids of a resource."""
    return f"{position:05d}"


def positions(device_ids: Iterable[str]) -> frozenset[int] | None:
    """Return the positions of substitute ids; None if a real device id is among them."""
    ids = tuple(device_ids)
    # The length is checked first: the id of a real device may have more digits than ``int``
    # accepts.
    numbers = (int(each) if each.isdecimal() and len(each) <= limits.DIGITS else -1 for each in ids)
    if not all(each == device_id(number) for each, number in zip(ids, numbers, strict=True)):
        return None
    return frozenset(map(int, ids))


def member(empty: Node, identity: NodeIdentity) -> Node:
    """Return the empty node of a class as one of its members, with shared managers."""
    rules = replace(empty.rules, identity=identity)
    return replace(empty, roster=replace(empty.roster, rules=rules))


def _plain(value: Any) -> Any:
    """Return the value as JSON, without defaults and fields without influence."""
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
