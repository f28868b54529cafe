"""Decodes the objects of a cluster by kind, and records the unreadable ones with the reason.

One unreadable object does not keep the others from being used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from numalet.core.cluster import classes
from numalet.core.cluster.objects import ClusterObjects, ListedState
from numalet.core.model import input_error, limits
from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.io import nesting
from numalet.io.documents.cluster import cluster_objects, cluster_values, numa_node, numa_node_class
from numalet.io.documents.cluster.cluster_objects import NodeObjectReader
from numalet.io.documents.cluster.cluster_pods import PodReader
from numalet.io.documents.text.typed import Place
from numalet.io.findings.documents import DocumentTooDeep

MOST_WARNINGS: Final = 50

_OBJECT: Final = msgspec.json.Decoder(dict[str, Any])
_POD: Final = "Pod"

T = TypeVar("T")

_Reader: TypeAlias = Callable[[bytes, Place, Findings], tuple[str, Any] | None]
"""Returns the key and the value of an object, or nothing but findings."""


class _Named(msgspec.Struct, rename="camel"):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Name(msgspec.Struct):
    metadata: _Named


class _BoundTo(msgspec.Struct):
    spec: _PodSpec


class ObjectDecoder:
    def __init__(self) -> None:
        self._pods, self._nodes = PodReader(), NodeObjectReader()
        self._readers: Mapping[str, _Reader] = {
            _POD: self._pod,
            "Node": self._node,
            "PodDisruptionBudget": _budget,
            "NodeResourceTopology": _topology,
            numa_node.KIND: _numa_node,
            numa_node_class.KIND: _numa_node_class,
        }
        # The key keeps an object that arrives again from being counted twice. Beyond MOST_WARNINGS
        # an object is counted without its finding.
        self._left_out: dict[tuple[str, str], Finding | None] = {}
        self._named = 0
        self._unread_pods: dict[str, str] = {}

    def knows(self, kind: str) -> bool:
        return kind in self._readers

    @property
    def names_what_is_bad(self) -> bool:
        """Whether the next unreadable object gets a finding; later ones are only counted."""
        return self._named < MOST_WARNINGS

    def decode(self, kind: str, text: bytes, place: Place) -> tuple[str, Any] | None:
        """The key and the value of an object of a known kind."""
        findings = Findings()
        made = None
        if nesting.is_too_deep(text):
            findings.add(DocumentTooDeep(limit=limits.NESTING, where=place.location))
        else:
            made = self._readers[kind](text, place, findings)
        if made is None:
            self.leave_out(kind, text, findings)
        elif kind == _POD and self._unread_pods:
            self._unread_pods.pop(made[0], None)
        return made

    def leave_out(self, kind: str, text: bytes, findings: Findings) -> None:
        read = read_as(text, _Name)
        named = _Named() if read is None else read.metadata
        name = "/".join(filter(None, (named.namespace, named.name)))
        # Pods by uid: a StatefulSet reuses names, and the old pod may still be on its node.
        key = (named.uid if kind == _POD else "") or name or f"{kind} {len(self._left_out)}"
        node_name = node_name_of(text) if kind == _POD else ""
        if node_name:
            # The pod holds resources on this node all the same.
            self._unread_pods[key] = node_name
        if self._left_out.get((kind, key)) is None:
            if not self.names_what_is_bad:
                self._left_out[kind, key] = None
                return
            self._named += 1
        first = findings.all[0]
        self._left_out[kind, key] = input_error.Ignored(
            f"cannot read {kind} {name or 'without a name'}, so it is left out: {first}",
            where=first.where,
        )

    def forget(self, kind: str, key: str) -> None:
        """Drop an object that was deleted or is readable now; ``key`` is the uid for a pod."""
        if self._left_out.pop((kind, key), None) is not None:
            self._named -= 1
        if kind == _POD:
            self._unread_pods.pop(key, None)

    def unread_pods(self) -> Mapping[str, int]:
        """The number of unreadable pods by the node that they are bound to."""
        return Counter(self._unread_pods.values())

    def notes(self) -> tuple[Finding, ...]:
        more = len(self._left_out) - self._named
        said = (
            (input_error.Ignored(f"cannot read {more} more objects, so they are left out"),)
            if more
            else ()
        )
        return (*filter(None, self._left_out.values()), *said)

    def _pod(self, text: bytes, place: Place, findings: Findings) -> tuple[str, Any] | None:
        read = self._pods.read(text, place, findings)
        return None if read is None else (read.pod.uid, read)

    def _node(self, text: bytes, place: Place, findings: Findings) -> tuple[str, Any] | None:
        read = self._nodes.read(text, place, findings)
        return None if read is None else (read.name, read)


def of_kinds(
    kept: Mapping[str, Mapping[str, Any]], unread_pods: Mapping[str, int], notes: Iterable[Finding]
) -> ClusterObjects:
    """The objects of a cluster by kind and key, as ``decode`` returns them."""

    def of_kind(kind: str) -> Mapping[str, Any]:
        return kept.get(kind, {})

    return ClusterObjects(
        nodes=of_kind("Node"),
        pods=of_kind(_POD),
        budgets=of_kind("PodDisruptionBudget"),
        topologies=of_kind("NodeResourceTopology"),
        states=of_kind(numa_node.KIND),
        classes=of_kind(numa_node_class.KIND),
        unread_pods=unread_pods,
        notes=tuple(notes),
    )


def _budget(text: bytes, place: Place, findings: Findings) -> tuple[str, Any] | None:
    read = cluster_objects.budget(text, place, findings)
    return None if read is None else (f"{read.namespace}/{read.name}", read)


def _topology(text: bytes, place: Place, findings: Findings) -> tuple[str, Any] | None:
    read = cluster_objects.topology(text, place, findings)
    return None if read is None else (read.node_name, read)


def _numa_node(text: bytes, place: Place, findings: Findings) -> tuple[str, Any] | None:
    read = _decoded(numa_node.decode, text, place, findings)
    if read is None:
        return None
    at = cluster_values.moment(read.published, place, ("spec", "published"), findings)
    return read.name, ListedState(read.class_name, read.state, at)


def _numa_node_class(text: bytes, place: Place, findings: Findings) -> tuple[str, Any] | None:
    read = _decoded(numa_node_class.decode, text, place, findings)
    return None if read is None else (classes.class_name(read), read)


def _decoded(
    decode: Callable[[object, Location], T], text: bytes, place: Place, findings: Findings
) -> T | None:
    value = cluster_values.decode(_OBJECT, text, place, findings)
    if value is None:
        return None
    try:
        return decode(value, Location(place.document, place.path))
    except BadInput as bad:
        # Line numbers need a second parse of the text, so only errors get them.
        for each in bad.findings:
            findings.add(each.at(place._replace(path=each.where.path or place.path).location))
        return None


def node_name_of(text: bytes) -> str:
    """The node that a pod is bound to, even if the rest of the pod is unreadable; else empty."""
    bound: _BoundTo | None = read_as(text, _BoundTo)
    return "" if bound is None else bound.spec.node_name


def read_as(text: bytes, shape: type[Any]) -> Any:
    try:
        return nesting.decode(msgspec.json.Decoder(shape), text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
