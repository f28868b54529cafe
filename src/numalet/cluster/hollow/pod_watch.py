"""One watch of all bound pods of a cluster, of which those of hollow nodes are kept."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

import msgspec

from numalet.cluster.hollow import pod_reader
from numalet.cluster.hollow.pod import HollowPod
from numalet.cluster.hollow.pod_reader import PodGlance
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.value import Value, replace
from numalet.io.kube_api import listing

BOUND_PODS: Final = listing.ApiCollection("/api/v1/pods", field_selector="spec.nodeName!=")


class WatchedPod(Value):
    """A pod of a hollow node. ``pod`` is None of one that is over, or that can not be read."""

    glance: PodGlance
    pod: HollowPod | None

    @property
    def node_name(self) -> str:
        """The node that it is bound to."""
        return self.glance.node_name


class PodDecoder:
    """Reads the pods of a watch: those of these nodes, each as a whole once.

    What is wrong with one is reported by ``complain``, with the pod's node.
    """

    def __init__(
        self, names: Collection[str], complain: Callable[[PodGlance, Finding], None]
    ) -> None:
        self._names = names
        self._complain = complain
        self._known: dict[str, HollowPod | None] = {}

    def decode(self, content: bytes) -> WatchedPod | None:
        """The pod, or None for one of another node, or of which too little is there."""
        try:
            glance = pod_reader.glance(content)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return None
        if glance.node_name not in self._names:
            return None
        if glance.uid not in self._known:
            self._known[glance.uid] = None if glance.is_over else self._read(content, glance)
        pod = self._known[glance.uid]
        if pod is not None and pod.grace_seconds != glance.grace_seconds:
            pod = self._known[glance.uid] = replace(pod, grace_seconds=glance.grace_seconds)
        return WatchedPod(glance, pod)

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._known.pop(uid, None)

    def forget_others(self, uids: Collection[str]) -> None:
        """Only these pods are there."""
        for uid in [each for each in self._known if each not in uids]:
            del self._known[uid]

    def _read(self, content: bytes, glance: PodGlance) -> HollowPod | None:
        findings = Findings()
        pod = pod_reader.whole(content, findings)
        for each in findings.distinct:
            self._complain(glance, each)
        return pod


def in_order(pods: Iterator[WatchedPod]) -> list[HollowPod]:
    """The pods that can be read, as they ask for admission together."""
    return sorted((each.pod for each in pods if each.pod), key=lambda each: each.order)
