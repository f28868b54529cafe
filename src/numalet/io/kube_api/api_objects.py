"""The objects of a cluster on its API server: their kinds, and one listing of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final

from numalet.core.cluster.objects import ClusterObjects
from numalet.core.model.findings import BadInput
from numalet.core.model.value import Value
from numalet.io.documents.cluster import cluster_decoder, numa_node, numa_node_class
from numalet.io.documents.cluster.cluster_decoder import ObjectDecoder
from numalet.io.documents.text.typed import Place
from numalet.io.kube_api import client, listing, paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.listing import ApiCollection, ObjectMeta
from numalet.io.kube_api.values import Access
from numalet.io.tasks import together


class ObjectKind(Value):
    """Objects of one kind and their path; a cluster needs the required kinds."""

    name: str
    path: str
    is_needed: bool = False

    @property
    def collection(self) -> ApiCollection:
        return ApiCollection(self.path)

    @property
    def key(self) -> Callable[[ObjectMeta], str]:
        """The identity of an object: another pod of the same name is another pod."""
        return listing.uid if self.name == "Pod" else listing.qualified_name


OBJECT_KINDS: Final = (
    ObjectKind("Node", paths.NODES, is_needed=True),
    ObjectKind("Pod", paths.PODS, is_needed=True),
    ObjectKind("PodDisruptionBudget", "/apis/policy/v1/poddisruptionbudgets"),
    ObjectKind("NodeResourceTopology", paths.TOPOLOGIES),
    ObjectKind(numa_node.KIND, numa_node.PATH),
    ObjectKind(numa_node_class.KIND, numa_node_class.PATH),
)


async def listed(access: Access, user_agent: str = "numalet-fleet") -> ClusterObjects:
    """Return the current objects.

    Collections whose definition is missing are left out. Raises ``BadInput`` if the server is
    unreachable or refuses.
    """
    try:
        async with client.opened(access, user_agent) as api:
            return await objects(api)
    except (ApiRefused, ApiUnreachable) as no:
        raise BadInput([no.finding]) from None


async def objects(api: ApiClient) -> ClusterObjects:
    """Return the current objects, over an existing client.

    Raises ``ApiRefused`` and ``ApiUnreachable`` as the client does.
    """
    # A decoder per kind, so that notes on objects always have the same order.
    decoders = {each.name: ObjectDecoder() for each in OBJECT_KINDS}
    async with together() as group:
        lists = {
            each.name: group.create_task(_items(api, each, decoders[each.name]))
            for each in OBJECT_KINDS
        }
    return cluster_decoder.of_kinds(
        {name: each.result() for name, each in lists.items()},
        decoders["Pod"].unread_pods(),
        chain.from_iterable(each.notes() for each in decoders.values()),
    )


async def _items(api: ApiClient, kind: ObjectKind, decoder: ObjectDecoder) -> Mapping[str, Any]:
    def decoded(content: bytes) -> Any:
        made = decoder.decode(kind.name, content, Place(kind.path))
        return None if made is None else made[1]

    try:
        return (await listing.listed(api, kind.collection, decoded, kind.key)).items
    except ApiRefused as refused:
        if kind.is_needed or not refused.status.is_absent:
            raise
    return {}
