"""The fields of a fleet file with types and descriptions.

Lists and ranges have loose types so that ``fleet_file`` can report every error; the published
schema uses the strict form under ``PUBLISHED_AS``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from numalet.io.documents.text.typed import PUBLISHED_AS

MOST_NODES: Final = 100_000
"""Of one pool."""

_LABEL_PART: Final = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/"


def _published(**schema: Any) -> Meta:
    return Meta(extra_json_schema={PUBLISHED_AS: schema})


def _part(name: str) -> dict[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


_TEXT: Final = {"type": "string"}
_TAINT_TEXT: Final = {
    "type": "string",
    "pattern": "^[^=:]+(?:=[^:]*)?:(?:NoSchedule|PreferNoSchedule|NoExecute)$",
}
_LABELS: Final = _published(
    type="object",
    propertyNames={"pattern": f"^(?:{_DOMAIN})?{_LABEL_PART}$"},
    additionalProperties={"type": "string", "pattern": f"^(?:{_LABEL_PART})?$"},
)


class FleetMatchFields(msgspec.Struct):
    """Selects the nodes of a dump that match one of the patterns and all labels."""

    names: Annotated[list[str], Meta(description="Patterns of names, such as gpu-*.")] = []
    labels: Annotated[dict[str, str], Meta(description="Labels, which are all there.")] = {}


class FleetPoolFields(msgspec.Struct):
    """Nodes of one machine and one configuration."""

    name: Annotated[str, Meta(description="Its nodes are called NAME-0, NAME-1 and so on.")]
    machine: Annotated[
        str | None,
        Meta(
            description="As after -m: profile:NAME, a shape such as 2n16c2t, a file or a folder. "
            "Blank if it is not known."
        ),
    ]
    count: Annotated[
        int,
        Meta(
            description="How many nodes.",
            extra_json_schema={"minimum": 0, "maximum": MOST_NODES},
        ),
    ] = 1
    memory_per_node: Annotated[
        str | None, Meta(description="Memory of each NUMA node of a shape, such as 256Gi.")
    ] = None
    hugepages_per_node: Annotated[
        dict[str, int | str],
        Meta(description="How many huge pages of each size a NUMA node of a shape has."),
    ] = {}
    configuration: Annotated[
        str | dict[str, Any] | None,
        Meta(description="A kubelet's configuration file, or fields of KubeletConfiguration."),
    ] = None
    release: Annotated[
        str | int | float | None, Meta(description='Release of the kubelet, such as "1.34".')
    ] = None
    devices: Annotated[
        str | list[Any] | None,
        Meta(description="A device file, its list, or texts such as nvidia.com/gpu=gpu0@0,gpu1@1."),
        _published(
            anyOf=[
                _TEXT,
                {"type": "array", "items": _TEXT},
                {"type": "array", "items": _part("FleetResourceFields")},
                {"type": "null"},
            ]
        ),
    ] = None
    labels: Annotated[dict[str, str], Meta(description="Labels of every node."), _LABELS] = {}
    taints: Annotated[
        list[Any],
        Meta(description="Taints of every node."),
        _published(type="array", items={"anyOf": [_TAINT_TEXT, _part("FleetTaintFields")]}),
    ] = []
    match: Annotated[
        dict[str, Any] | None,
        Meta(description="Selects nodes of a dump; without it, the pool's labels do."),
        _published(anyOf=[_part("FleetMatchFields"), {"type": "null"}]),
    ] = None


class FleetFileFields(msgspec.Struct):
    """A fleet that is described, or classes for the nodes of a dump."""

    pools: Annotated[
        list[Any],
        Meta(description="Nodes by machine and configuration."),
        _published(type="array", minItems=1, items=_part("FleetPoolFields")),
    ]
    pods: Annotated[
        str | list[Any],
        Meta(description="Files with manifests, or Pod objects and workloads, in their order."),
        _published(
            anyOf=[_TEXT, {"type": "array", "items": {"anyOf": [_TEXT, {"type": "object"}]}}]
        ),
    ] = []


class FleetTaintFields(msgspec.Struct):
    """A taint as an object."""

    key: Annotated[str, Meta(extra_json_schema={"minLength": 1})]
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
    value: str = ""


class FleetDeviceFields(msgspec.Struct):
    """A device and the NUMA nodes that it is attached to."""

    id: str
    numa_nodes: list[int] = []
    health: Literal["Healthy", "Unhealthy"] = "Healthy"


class FleetResourceFields(msgspec.Struct):
    """The devices of a resource."""

    resource: str
    devices: Annotated[
        list[Any],
        _published(type="array", items={"anyOf": [_TEXT, _part("FleetDeviceFields")]}),
    ]


PARTS: Final = (
    FleetFileFields,
    FleetPoolFields,
    FleetMatchFields,
    FleetTaintFields,
    FleetResourceFields,
    FleetDeviceFields,
)
"""All types, that of the whole file first."""
