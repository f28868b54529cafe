"""The kinds of objects of a cluster, for listing and watching."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from numalet.core.model.value import Value
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api import listing, paths
from numalet.io.kube_api.listing import ApiCollection, ObjectMeta
from numalet.shared.kubernetes import node_resource_topology


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
    ObjectKind(node_resource_topology.KIND, node_resource_topology.PATH),
    ObjectKind(numa_node.KIND, numa_node.PATH),
    ObjectKind(numa_node_class.KIND, numa_node_class.PATH),
)
OLD_BUDGETS: Final = ObjectKind("PodDisruptionBudget", "/apis/policy/v1beta1/poddisruptionbudgets")
"""The only version until Kubernetes 1.20."""


def has_older(kind: ObjectKind) -> bool:
    """Return whether a server without them may have ``OLD_BUDGETS`` instead."""
    return kind.name == OLD_BUDGETS.name and kind != OLD_BUDGETS
