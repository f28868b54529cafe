"""Reads a NumaletConfiguration (``numalet.dev/v1alpha1``): numalet's own settings.

It is the second document of a kubelet's configuration file, which the kubelet ignores, or part of a
scenario. Unlike kubelet fields, unknown fields are errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta

from numalet.core.config.behaviour import Mode
from numalet.core.config.numalet_config import (
    AS_THE_KUBELET,
    LEAST_REFRESH_SECONDS,
    NumaletConfig,
    PublishSettings,
)
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.core.model.machine_queries import NodeClass
from numalet.core.model.value import replace
from numalet.io.documents.kubelet import kubelet_version
from numalet.io.documents.kubelet.kubelet_version import KubeletAtHand
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import PUBLISHED_AS, Place
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.io.findings.config_files import (
    ConfigFileSeveralDocuments,
)

API_VERSION: Final = "numalet.dev/v1alpha1"
KIND: Final = "NumaletConfiguration"


# Some types are loose so that every error can be reported; the published schema uses the strict
# form under ``PUBLISHED_AS``.
def _published(description: str, **schema: Any) -> Meta:
    return Meta(description=description, extra_json_schema={PUBLISHED_AS: schema})


_NOTHING: Final = {"type": "null"}


class PublishFields(msgspec.Struct, frozen=True, rename="camel"):
    """Where a node is published, and how; flags win over it."""

    kubeconfig: Annotated[
        str | None,
        Meta(description="The cluster; a relative path begins at the folder of this file."),
    ] = None
    context: Annotated[
        str | None, Meta(description="Context of the kubeconfig; default: its current context.")
    ] = None
    node_resource_topology: Annotated[
        bool | None,
        Meta(description="Write the NodeResourceTopology in addition to the NumaNode."),
    ] = None
    force: Annotated[
        bool | None,
        Meta(description="Write that object although another publisher owns its zones."),
    ] = msgspec.field(default=None, name="takeOver")
    numa_placement: Annotated[
        bool | None,
        Meta(
            description="Add the NUMA node of each container to that object, for the preemption of "
            "NodeResourceTopologyMatch."
        ),
    ] = None
    kai: Annotated[
        bool | None,
        Meta(description="Write on each pod its NUMA placement, in the annotations of KAI."),
    ] = None
    refresh_seconds: Annotated[
        float | None,
        _published(
            "An object is written at least this often; 3600 by default.",
            anyOf=[{"type": "number", "minimum": LEAST_REFRESH_SECONDS}, _NOTHING],
        ),
    ] = None
    configz: Annotated[
        bool | None,
        Meta(
            description="On a node with a kubelet: ask it for its configuration through the API "
            "server, which needs nodes/proxy."
        ),
    ] = None


class NumaletConfigFields(msgspec.Struct, frozen=True, rename="camel"):
    """Settings that no kubelet knows, the second document of a configuration file."""

    api_version: Annotated[Any, _published("The version of these fields.", const=API_VERSION)] = (
        API_VERSION
    )
    kind: Annotated[Any, _published("What this is.", const=KIND)] = KIND
    mode: Annotated[
        str | None,
        _published(
            "Do what the kubelet does, or without its accidents and limits.",
            enum=[*(each.value for each in Mode), None],
        ),
    ] = None
    memory_node_classes: Annotated[
        list[str] | None,
        _published(
            "Native mode only: the classes of NUMA nodes whose memory pods may get.",
            anyOf=[
                {"type": "array", "items": {"enum": [each.value for each in NodeClass]}},
                _NOTHING,
            ],
        ),
    ] = None
    general_predicates: Annotated[
        bool | None,
        Meta(description="Whether the general predicates run after the managers."),
    ] = None
    release: Annotated[
        str | int | float | None,
        Meta(description="The release of the kubelet that is followed, such as 1.34 or v1.34.9."),
    ] = None
    publish: Annotated[
        PublishFields | None,
        Meta(description="The agent publishes its node; {} means defaults."),
    ] = None


PARTS: Final[tuple[type[Any], ...]] = (NumaletConfigFields, PublishFields)
"""All types, that of the whole document first."""


def _decode_publish(
    section: PublishFields, value: Mapping[str, object], place: Place, findings: Findings
) -> PublishSettings:
    typed.check_members(value, PublishFields.__struct_encode_fields__, place, findings)
    seconds = section.refresh_seconds
    if seconds is not None and not LEAST_REFRESH_SECONDS <= seconds < math.inf:
        where = place.member("refreshSeconds").location
        findings.add(
            input_error.Invalid(
                f"refreshSeconds is {typed.described(seconds)}",
                expected=f"{LEAST_REFRESH_SECONDS:g} or more",
                where=where,
            )
        )
        seconds = None
    return PublishSettings(
        kubeconfig=_path(section.kubeconfig, place),
        context=section.context or None,
        node_resource_topology=section.node_resource_topology,
        force=section.force,
        numa_placement=section.numa_placement,
        kai=section.kai,
        refresh_seconds=seconds,
        configz=section.configz,
    )


def _path(kubeconfig: str | None, place: Place) -> str | None:
    # Relative to the file that names it, like paths in a kubelet's configuration.
    return str(Path(place.document).parent / kubeconfig) if kubeconfig else None


E = TypeVar("E", bound=Enum)

CLASSES_FLAG: Final = "--memory-node-classes"


def is_meant(value: object) -> bool:
    return isinstance(value, Mapping) and (
        value.get("kind") == KIND or str(value.get("apiVersion")).startswith("numalet.dev/")
    )


def decode(value: object, place: Place, findings: Findings) -> NumaletConfig:
    """The settings of a mapping; an invalid one is reported and keeps its default."""
    shape = typed.decode(value, NumaletConfigFields, place, findings)
    if shape is None or not isinstance(value, Mapping):
        return AS_THE_KUBELET
    typed.check_members(value, NumaletConfigFields.__struct_encode_fields__, place, findings)
    for name, wanted in (("apiVersion", API_VERSION), ("kind", KIND)):
        if value.get(name, wanted) != wanted:
            typed.not_allowed(value[name], (wanted,), place.member(name), findings)
    mode = Mode.EXACT
    if shape.mode is not None:
        mode = _of(Mode, shape.mode, place.member("mode"), findings) or mode
    node_classes = None
    if shape.memory_node_classes is not None:
        at = place.member("memoryNodeClasses")
        node_classes = classes(shape.memory_node_classes, at, findings)
    release = None
    if shape.release is not None:
        release = kubelet_version.read(shape.release, place.member("release").location, findings)
    publish = None
    if shape.publish is not None:
        at = place.member("publish")
        publish = _decode_publish(shape.publish, value["publish"], at, findings)
    return NumaletConfig(
        mode=mode,
        memory_node_classes=node_classes,
        general_predicates=shape.general_predicates,
        release=release,
        publish=publish,
    )


def classes(names: Iterable[str], place: Place, findings: Findings) -> tuple[NodeClass, ...]:
    """The NUMA node classes of these names without duplicates; ``place`` is that of the list."""
    parsed = [_of(NodeClass, name, place.item(at), findings) for at, name in enumerate(names)]
    return tuple(dict.fromkeys(each for each in parsed if each is not None))


def check(config: NumaletConfig, place: Place, findings: Findings) -> None:
    """Add findings about settings that have no effect in the mode."""
    if config.mode is Mode.EXACT and config.memory_node_classes is not None:
        findings.add(
            input_error.Conflict(
                "memoryNodeClasses applies only to native mode; add --native or mode: native",
                where=place.location,
            )
        )


def of_documents(further: Sequence[YamlDocument]) -> NumaletConfig:
    """The settings after a KubeletConfiguration. Raises ``BadInput`` for other documents."""
    if not further:
        return AS_THE_KUBELET
    document = further[0]
    if len(further) > 1 or not is_meant(document.value):
        refuse_further(further)
    findings = Findings()
    findings.extend(document.duplicates)
    own = decode(document.value, Place(document.document, "$", document.line_of), findings)
    findings.raise_errors()
    return own


def refuse_further(further: Sequence[YamlDocument]) -> None:
    """Raise ``BadInput`` if a file has more than one document."""
    if further:
        where, count = Location(further[0].document), len(further) + 1
        raise BadInput([ConfigFileSeveralDocuments(count=count, where=where)])


def with_flags(
    own: NumaletConfig, mode: Mode | None, class_names: Sequence[str] | None, document: str
) -> NumaletConfig:
    """Apply the flags. Raises ``BadInput`` for settings without effect in the mode."""
    findings = Findings()
    place = Place(document)
    if mode is Mode.EXACT:
        # Native settings in a file must not affect an exact run.
        own = replace(
            AS_THE_KUBELET,
            general_predicates=own.general_predicates,
            release=own.release,
            publish=own.publish,
        )
    elif mode is Mode.NATIVE:
        own = replace(own, mode=mode)
    if class_names is not None:
        place = Place(CLASSES_FLAG, "")
        own = replace(own, memory_node_classes=classes(class_names, place, findings))
    check(own, place, findings)
    findings.raise_errors()
    return own


def with_release(
    own: NumaletConfig, flag: str | None, kubelets: Iterable[KubeletAtHand]
) -> tuple[NumaletConfig, tuple[Finding, ...]]:
    """The settings with the release to follow, and findings about it.

    The flag wins over the settings, and these over the kubelets in the input. Raises ``BadInput``
    if the release is unknown or ambiguous.
    """
    findings = Findings()
    named, named_by = own.release, KIND
    if flag is not None:
        named, named_by = kubelet_version.of_name(flag), kubelet_version.RELEASE_FLAG
    chosen = kubelet_version.choose(named, named_by, kubelets, findings)
    findings.raise_errors()
    if chosen.release is None:
        return own, chosen.notes
    return replace(own, release=chosen.release), chosen.notes


def _of(kind: type[E], name: str, place: Place, findings: Findings) -> E | None:
    known = {each.value: each for each in kind}
    if name not in known:
        typed.not_allowed(name, tuple(known), place, findings)
    return known.get(name)
