"""Permissions of the accounts in ``packaging/kubernetes``.

The manifests grant the same; a test compares them, and another one removes each verb in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from numalet.core.model.value import Value
from numalet.io.documents import numa_node, numa_node_class
from numalet.shared.kubernetes import node_resource_topology

NAMESPACE: Final = "numalet"
NUMALET: Final = numa_node.GROUP
TOPOLOGY: Final = node_resource_topology.GROUP
POLICY: Final = "policy"
CORE: Final = ""


class Permission(Value, order=True):
    """One verb on the objects of one resource, in all namespaces."""

    group: str
    resource: str
    verb: str

    @property
    def resource_name(self) -> str:
        """The resource in kubectl's form: ``numanodes.numalet.dev``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource


def _of(group: str, resources: Iterable[str], verbs: Iterable[str]) -> Iterator[Permission]:
    verbs = tuple(verbs)
    return (Permission(group, each, verb) for each in resources for verb in verbs)


READER: Final = frozenset(
    [
        *_of(CORE, ["nodes", "pods"], ["list", "watch"]),
        *_of(POLICY, ["poddisruptionbudgets"], ["list", "watch"]),
        *_of(NUMALET, [numa_node.PLURAL, numa_node_class.PLURAL], ["list", "watch"]),
        *_of(TOPOLOGY, [node_resource_topology.PLURAL], ["list", "watch"]),
    ]
)
PUBLISHER: Final = frozenset(
    [
        *_of(NUMALET, [numa_node.PLURAL], ["create", "patch"]),
        *_of(NUMALET, [numa_node_class.PLURAL], ["create"]),
        *_of(TOPOLOGY, [node_resource_topology.PLURAL], ["create", "patch"]),
        *_of(CORE, ["nodes"], ["get"]),
    ]
)
WAKER: Final = READER | frozenset(_of(CORE, ["nodes"], ["patch"]))

ACCOUNTS: Final = {
    "numalet-publisher": PUBLISHER,
    "numalet-reader": READER,
    "numalet-waker": WAKER,
}
"""By the name of the ServiceAccount."""
