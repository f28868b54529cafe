"""NumaNodeClass: the common facts of nodes with one machine and configuration, as an object.

Its name is the hash of its content and it never changes. Thousands of nodes share a few classes,
and a node whose facts change refers to another name. See docs/reference/numanode.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from numalet.core.cluster import classes
from numalet.core.cluster.classes import ClassSpec
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour, Mode
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Findings, Location
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import replace
from numalet.io.documents.cluster.numa_node import API_VERSION, NamedObject
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config_document import configz
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place

KIND: Final = "NumaNodeClass"
PLURAL: Final = "numanodeclasses"
PATH: Final = f"/apis/{API_VERSION}/{PLURAL}"

_MODES: Final[Mapping[str, Behaviour]] = MappingProxyType(
    {Mode.EXACT.value: EXACT, Mode.NATIVE.value: NATIVE}
)
_NODE_CLASSES: Final = "memory_node_classes"
_RELEASE: Final = "release"
_OPTIONS: Final = ("cpuManagerPolicyOptions", "topologyManagerPolicyOptions")
_CONFIGURED: Final = (
    *("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope"),
    *("reservedMemory", "reservedSystemCPUs", "kubeReserved", "systemReserved", "evictionHard"),
    *("featureGates", "maxPods", "podsPerCore", *_OPTIONS),
)


class NumaNodeClassSpec(Struct, omit_defaults=True, rename="camel"):
    """What nodes of a class have in common."""

    release: Annotated[str, Meta(description="The minor release of the kubelet, as 1.34.")]
    machine: Annotated[dict[str, Any], Meta(description="The machine in the eyes of the kubelet.")]
    configuration: Annotated[
        dict[str, Any],
        Meta(
            description="The fields of KubeletConfiguration that decide where pods go.",
            extra_json_schema={"x-kubernetes-preserve-unknown-fields": True},
        ),
    ]
    mode: Annotated[str, Meta(description="The rules that are followed: exact or native.")] = (
        Mode.EXACT.value
    )
    rules: Annotated[
        dict[str, str], Meta(description="Rules that are not as in this mode, in JSON.")
    ] = {}
    devices: Annotated[
        dict[str, list[list[int]]],
        Meta(description="By resource the NUMA nodes of each device, in order of device ids."),
    ] = {}


def class_object(spec: ClassSpec) -> dict[str, Any]:
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": classes.class_name(spec)},
        "spec": msgspec.to_builtins(_document(spec)),
    }


def _document(spec: ClassSpec) -> NumaNodeClassSpec:
    # Exact wins a tie: a rule that administrators may set as well must not imply native mode.
    mode = next(
        mode
        for mode, rules in sorted(_MODES.items(), reverse=True)
        if mode == Mode.EXACT.value
        or len(_differing(spec.behaviour, rules)) < len(_differing(spec.behaviour, EXACT))
    )
    return NumaNodeClassSpec(
        release=spec.behaviour.release.name,
        machine=_renamed(msgspec.to_builtins(spec.machine), _camel),
        configuration=configuration_fields(spec.config),
        mode=mode,
        rules=_differing(spec.behaviour, _MODES[mode]),
        devices={name: [list(each) for each in places] for name, places in spec.devices.items()},
    )


def _differing(behaviour: Behaviour, base: Behaviour) -> dict[str, str]:
    """The rules that differ from the base, in JSON."""
    return {
        each.name: json.dumps(msgspec.to_builtins(value))
        for each in fields(Behaviour)
        if each.name != _RELEASE
        and (value := getattr(behaviour, each.name)) != getattr(base, each.name)
    }


def configuration_fields(config: KubeletConfig) -> dict[str, Any]:
    """Return the fields of KubeletConfiguration that influence admission."""
    shown = configz(config)["kubeletconfig"]
    written = {name: shown[name] for name in _CONFIGURED if name in shown}
    # The kubelet distinguishes an empty map of options from an absent one.
    given = (config.cpu_manager_policy_options, config.topology_manager_policy_options)
    return written | {name: {} for name, each in zip(_OPTIONS, given, strict=True) if each == {}}


def decode(value: object, where: Location) -> ClassSpec:
    """Raises ``BadInput`` if it is invalid, or if its name is not the hash of its content."""
    findings = Findings()
    place = Place(where.document, where.path or "$")
    read = typed.decode(value, _ClassObject, place, findings)
    if read is None:
        raise BadInput(findings.all)
    spec = _spec(read.spec, place.member("spec"))
    expected = classes.class_name(spec)
    if expected != read.metadata.name:
        name = read.metadata.name
        raise input_error.Invalid(
            f"the class is named {name}, but its content has the name {expected}; delete the "
            "object, and the nodes of the class create it again",
            where=where,
        ).bad_input()
    return spec


class _ClassObject(Struct):
    metadata: NamedObject
    spec: NumaNodeClassSpec


def _spec(read: NumaNodeClassSpec, place: Place) -> ClassSpec:
    findings = Findings()
    behaviour = _behaviour(read, place, findings)
    machine = typed.decode(
        _renamed(read.machine, _snake), MachineInfo, place.member("machine"), findings
    )
    findings.raise_errors()
    assert machine is not None
    document = f"{place.document}{place.path.removeprefix('$')}.configuration"
    config = kubelet_config.decode(read.configuration, document, behaviour.release)
    devices = {
        resource: tuple(tuple(each) for each in places)
        for resource, places in sorted(read.devices.items())
    }
    return ClassSpec(
        machine=machine,
        config=classes.only_decisive(config),
        behaviour=behaviour,
        devices=devices,
    )


def _behaviour(read: NumaNodeClassSpec, place: Place, findings: Findings) -> Behaviour:
    release = table.named(read.release)
    base = _MODES.get(read.mode)
    for what, value, known in (("release", read.release, release), ("mode", read.mode, base)):
        if known is None:
            where = place.member(what).location
            findings.add(
                input_error.NotSupported(
                    f"unknown {what} {value[:40]!r} of this class; use a newer numalet that knows "
                    "it",
                    where=where,
                )
            )
    rules = {}
    for name, text in read.rules.items():
        of_rule = place.member("rules").member(name)
        if name in _RULE_TYPES:
            rules[name] = _rule(text, _RULE_TYPES[name], of_rule, findings)
        else:
            shown = name[:40]
            findings.add(
                input_error.NotSupported(
                    f"unknown rule {shown!r} of this class; use a newer numalet that knows it",
                    where=of_rule.location,
                )
            )
    findings.raise_errors()
    assert release is not None
    assert base is not None
    return replace(base, release=release, **rules)


_RULE_TYPES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        each.name: bool
        if isinstance(each.default, bool)
        else tuple[NodeClass, ...] | None
        if each.name == _NODE_CLASSES
        else int | None
        for each in fields(Behaviour)
        if each.name != _RELEASE
    }
)


def _rule(text: str, shape: Any, place: Place, findings: Findings) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        typed.wrong_type(text, "a value in JSON", place, findings)
        return None
    return typed.decode(value, shape, place, findings)


def _renamed(value: Any, rename: Callable[[str], str]) -> Any:
    """The plain value with renamed members, without empty texts and nulls."""
    match value:
        case Mapping():
            return {
                rename(str(name)): _renamed(each, rename)
                for name, each in value.items()
                if each is not None and each != ""
            }
        case list() | tuple():
            return [_renamed(each, rename) for each in value]
        case _:
            return value


def with_camel_case(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the machine with the member names of the object."""
    renamed: dict[str, Any] = dict(schema)
    if "properties" in schema:
        renamed["properties"] = {
            _camel(name): with_camel_case(each) for name, each in schema["properties"].items()
        }
    if "required" in schema:
        renamed["required"] = [_camel(name) for name in schema["required"]]
    if "items" in schema:
        renamed["items"] = with_camel_case(schema["items"])
    return renamed


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: "_" + match[0].lower(), name)
