"""One watch of all bound pods of a cluster, which keeps those of hollow nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final

import msgspec

from numalet.cluster.hollow import pod_reader
from numalet.cluster.hollow.life import HollowPod
from numalet.cluster.hollow.pod_reader import PodGlance
from numalet.core.model.findings import Finding, Findings
from numalet.core.model.value import Value, replace
from numalet.io.kube_api import listing

BOUND_PODS: Final = listing.ApiCollection("/api/v1/pods", field_selector="spec.nodeName!=")


class WatchedPod(Value):
    """A pod of a hollow node; without ``pod`` if it has ended or cannot be read."""

    glance: PodGlance
    pod: HollowPod | None

    @property
    def node_name(self) -> str:
        return self.glance.node_name


class PodDecoder:
    """Reads the pods of a watch: those of these nodes, each as a whole once.

    ``complain`` is called with errors in a pod, and its node.
    """

    def __init__(
        self, names: Collection[str], complain: Callable[[PodGlance, Finding], None]
    ) -> None:
        self._names = names
        self._complain = complain
        self._known: dict[str, HollowPod | None] = {}

    def decode(self, content: bytes) -> WatchedPod | None:
        """Return the pod, unless it is of another node or lacks members."""
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
        self._known.pop(uid, None)

    def forget_others(self, uids: Collection[str]) -> None:
        for uid in [each for each in self._known if each not in uids]:
            del self._known[uid]

    def _read(self, content: bytes, glance: PodGlance) -> HollowPod | None:
        findings = Findings()
        pod = pod_reader.whole(content, findings)
        for each in findings.distinct:
            self._complain(glance, each)
        return pod


def in_order(pods: Iterator[WatchedPod]) -> list[HollowPod]:
    return sorted((each.pod for each in pods if each.pod), key=lambda each: each.order)
