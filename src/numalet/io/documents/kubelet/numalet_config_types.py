"""The fields of a NumaletConfiguration with types and descriptions.

Some types are loose so that ``numalet_config`` can report every error; the published schema uses
the strict form under ``PUBLISHED_AS``.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from numalet.core.config.behaviour import Mode
from numalet.core.config.numalet_config import LEAST_REFRESH_SECONDS
from numalet.core.model.machine_queries import NodeClass
from numalet.io.documents.text.typed import PUBLISHED_AS

API_VERSION: Final = "numalet.dev/v1alpha1"
KIND: Final = "NumaletConfiguration"


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
        Meta(description="Whether the NodeResourceTopology is written beside the NumaNode."),
    ] = None
    force: Annotated[
        bool | None,
        Meta(description="Write that object although another publisher owns its zones."),
    ] = msgspec.field(default=None, name="takeOver")
    refresh_seconds: Annotated[
        float | None,
        _published(
            "An object is written at least this often; 3600 if nothing is said.",
            anyOf=[{"type": "number", "minimum": LEAST_REFRESH_SECONDS}, _NOTHING],
        ),
    ] = None
    configz: Annotated[
        bool | None,
        Meta(
            description="Beside a kubelet: ask it for its configuration through the API server,"
            " which needs nodes/proxy."
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
        Meta(description="Whether the general predicates are asked after the managers."),
    ] = None
    release: Annotated[
        str | int | float | None,
        Meta(description="The release of the kubelet that is followed, such as 1.34 or v1.34.9."),
    ] = None
    publish: Annotated[
        PublishFields | None, Meta(description="The agent publishes its node; {} as it is usual.")
    ] = None


PARTS: Final[tuple[type[Any], ...]] = (NumaletConfigFields, PublishFields)
"""All types, that of the whole document first."""
