"""The bodies of extender calls, as kube-scheduler sends and reads them.

The types of Kubernetes (``k8s.io/kube-scheduler/extender/v1``) have no JSON tags, so members have
their names in Go. Absent values are null. A scheduler whose extender is ``nodeCacheCapable`` sends
and reads names of nodes; else it sends and reads Node objects. In ``preempt`` it sends uids of
pods, else whole pods; it reads uids in both cases, and the answer has no member ``Error``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.findings import BadInput, Finding, Findings
from numalet.insight.scheduling.filtering import Filtered
from numalet.insight.scheduling.preempting import VictimSet
from numalet.io.documents.cluster.cluster_pods import PodReader
from numalet.io.documents.text.typed import Place

MOST_NODES: Final = 20_000
"""Clusters of 5,000 nodes are the largest that Kubernetes supports."""
LARGEST_POD_BYTES: Final = 3 * 1024 * 1024
"""Limit of an API server for requests."""
_PLACE: Final = Place("the request", "Pod")
_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class ExtenderBodyUnreadable(Finding):
    sentence = "cannot read the request: {problem}"
    problem: str


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class _Metadata(msgspec.Struct):
    name: str


class _Node(msgspec.Struct):
    metadata: _Metadata


class BindingArguments(msgspec.Struct):
    """The arguments of ``bind``: this pod, and no other of its name, to this node."""

    pod_uid: str = msgspec.field(name="PodUID")
    node: str = msgspec.field(name="Node")
    pod_name: str = msgspec.field(default="", name="PodName")
    pod_namespace: str = msgspec.field(default="", name="PodNamespace")


class ExtenderArguments(msgspec.Struct):
    """The arguments of ``filter`` and ``prioritize``. Members have exactly the names of Go."""

    pod: msgspec.Raw = msgspec.field(name="Pod")
    nodes: _Items | None = msgspec.field(default=None, name="Nodes")
    node_names: list[str] | None = msgspec.field(default=None, name="NodeNames")

    @property
    def has_objects(self) -> bool:
        """Whether Node objects were sent, and are expected in the answer."""
        return self.node_names is None and self.nodes is not None

    def named(self) -> Mapping[str, msgspec.Raw | None]:
        """Return the nodes by name, without duplicates, with their objects if these were sent.

        Raises ``BadInput`` if an object is not a Node, or there are too many.
        """
        if self.node_names is not None:
            check_nodes(len(self.node_names))
            return dict.fromkeys(self.node_names)
        items = (self.nodes.items if self.nodes is not None else None) or ()
        check_nodes(len(items))
        try:
            # Each object stays as raw JSON and returns unchanged in the answer; only its name is
            # decoded.
            return {_NODE.decode(each).metadata.name: each for each in items}
        except _UNREADABLE as error:
            raise BadInput([ExtenderBodyUnreadable(problem=f"{error} of a node")]) from None


_NODE: Final = msgspec.json.Decoder(_Node)
_ARGUMENTS: Final = msgspec.json.Decoder(ExtenderArguments)
_BINDING: Final = msgspec.json.Decoder(BindingArguments)


def check_nodes(count: int) -> None:
    """Raise ``BadInput`` if these are more nodes than any cluster has."""
    if count > MOST_NODES:
        problem = f"it has {count} nodes, and {MOST_NODES} are the most"
        raise BadInput([ExtenderBodyUnreadable(problem=problem)])


def arguments(body: bytes) -> ExtenderArguments:
    try:
        return _ARGUMENTS.decode(body)
    except _UNREADABLE as error:
        raise BadInput([ExtenderBodyUnreadable(problem=str(error))]) from None


def binding(body: bytes) -> BindingArguments:
    try:
        return _BINDING.decode(body)
    except _UNREADABLE as error:
        raise BadInput([ExtenderBodyUnreadable(problem=str(error))]) from None


def binding_answer(why_not: str) -> bytes:
    """Encode the answer to ``bind``; an empty text for a bound pod."""
    return msgspec.json.encode({"Error": why_not})


def pod(text: bytes, reader: PodReader) -> ClusterPod:
    if len(text) > LARGEST_POD_BYTES:
        problem = f"its Pod has {len(text)} bytes, and {LARGEST_POD_BYTES} are the most"
        raise BadInput([ExtenderBodyUnreadable(problem=problem)])
    findings = Findings()
    read = reader.read(text, _PLACE, findings)
    if read is None:
        raise BadInput(findings.all)
    return read


def filter_answer(
    given: Filtered, asked: ExtenderArguments, sent: Mapping[str, msgspec.Raw | None]
) -> bytes:
    """Encode the answer to ``filter``, in the form of the arguments."""
    as_objects = asked.has_objects
    return msgspec.json.encode(
        {
            # The scheduler reads the answer in the form in which it sent the nodes
            # (``nodeCacheCapable``).
            "Nodes": {"items": [sent[name] for name in given.passed]} if as_objects else None,
            "NodeNames": None if as_objects else list(given.passed),
            "FailedNodes": dict(given.failed),
            "FailedAndUnresolvableNodes": dict(given.unresolvable),
            "Error": "",
        }
    )


def error_text(findings: Iterable[Finding]) -> str:
    return "; ".join(map(str, findings))


def error(text: str) -> bytes:
    """Encode an answer that fails the attempt, or skips an extender that is ``ignorable``."""
    return msgspec.json.encode({"Error": f"numalet: {text}"})


def scores_answer(scores: Mapping[str, int]) -> bytes:
    """Encode the answer to ``prioritize``: points from 0 to 10."""
    hosts: Sequence[Any] = [{"Host": name, "Score": score} for name, score in scores.items()]
    return msgspec.json.encode(hosts)


class _Named(msgspec.Struct):
    uid: str


class _Whole(msgspec.Struct):
    metadata: _Named


class _Victims(msgspec.Struct):
    pods: list[_Whole] | None = msgspec.field(default=None, name="Pods")
    violations: int = msgspec.field(default=0, name="NumPDBViolations")


class _MetaPod(msgspec.Struct):
    uid: str = msgspec.field(name="UID")


class _MetaVictims(msgspec.Struct):
    pods: list[_MetaPod] | None = msgspec.field(default=None, name="Pods")
    violations: int = msgspec.field(default=0, name="NumPDBViolations")


class PreemptionArguments(msgspec.Struct):
    """The arguments of ``preempt``. Members have exactly the names of Go."""

    pod: msgspec.Raw = msgspec.field(name="Pod")
    whole: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="NodeNameToVictims")
    named: dict[str, msgspec.Raw] | None = msgspec.field(default=None, name="NodeNameToMetaVictims")

    def sets(self) -> Mapping[str, VictimSet]:
        """Return the victims of each node, by its name. Raises ``BadInput``."""
        # A scheduler that sends whole pods sends the other member too, empty.
        texts = self.whole or self.named or {}
        check_nodes(len(texts))
        try:
            return {name: self._set(text) for name, text in texts.items()}
        except _UNREADABLE as error:
            raise BadInput([ExtenderBodyUnreadable(problem=f"{error} of a node")]) from None

    def _set(self, text: msgspec.Raw) -> VictimSet:
        if self.whole:
            whole = _WHOLE.decode(text)
            return VictimSet(
                tuple([pod.metadata.uid for pod in whole.pods or ()]), whole.violations
            )
        named = _NAMED.decode(text)
        return VictimSet(tuple([pod.uid for pod in named.pods or ()]), named.violations)


_WHOLE: Final = msgspec.json.Decoder(_Victims)
_NAMED: Final = msgspec.json.Decoder(_MetaVictims)
_PREEMPTION_ARGUMENTS: Final = msgspec.json.Decoder(PreemptionArguments)


def preemption_arguments(body: bytes) -> PreemptionArguments:
    try:
        return _PREEMPTION_ARGUMENTS.decode(body)
    except _UNREADABLE as error:
        raise BadInput([ExtenderBodyUnreadable(problem=str(error))]) from None


def preemption_answer(sets: Mapping[str, VictimSet]) -> bytes:
    """Encode the answer to ``preempt``: the remaining nodes with their victims."""
    return msgspec.json.encode(
        {
            "NodeNameToMetaVictims": {
                name: _MetaVictims([_MetaPod(uid) for uid in each.uids], each.violations)
                for name, each in sets.items()
            }
        }
    )
