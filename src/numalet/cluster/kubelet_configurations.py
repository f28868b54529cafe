"""The configurations that the kubelets of a cluster report, read from all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numalet.core.cluster import classes
from numalet.core.cluster.objects import ListedNode
from numalet.core.config.releases import versions
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.io.documents.cluster import numa_node_class
from numalet.io.kube_api import client
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together
from numalet.shared.publish import reported_configuration


class Reported(Value):
    """The decisive fields of each configuration by node, and why the others are not known."""

    fields: Mapping[str, Mapping[str, Any]]
    unread: Mapping[str, BadInput]


async def reported(access: Access, nodes: Iterable[ListedNode]) -> Reported:
    """Ask the kubelets of these nodes. Raises ``BadInput`` for unusable credentials."""
    fields: dict[str, Mapping[str, Any]] = {}
    unread: dict[str, BadInput] = {}

    async def ask(api: ApiClient, node: ListedNode) -> None:
        release = versions.followed(None, node.kubelet_version).release
        try:
            config = await reported_configuration.read(api, node.name, release)
        except BadInput as bad:
            unread[node.name] = bad
        else:
            decisive = classes.only_decisive(config)
            fields[node.name] = numa_node_class.configuration_fields(decisive)

    async with client.opened(access, "numalet-fleet") as api, together() as group:
        for each in nodes:
            group.create_task(ask(api, each))
    return Reported(fields, unread)
