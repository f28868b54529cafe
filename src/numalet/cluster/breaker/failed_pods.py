"""The pods that kubelets rejected, followed from the API server.

An API server keeps up to 12,500 failed pods, so only the relevant part of each object is kept, and
the whole object for bare pods that request recreation.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model import pod_standing
from numalet.core.model.findings import Findings
from numalet.core.model.value import Mutable, Value, replace
from numalet.insight.rejections import rejected_pod
from numalet.insight.rejections.rejected_pod import OwnerLink, RejectedPod
from numalet.io.documents.cluster.cluster_pods import PodReader
from numalet.io.documents.text.typed import Place
from numalet.io.kube_api import follow, listing, paths
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import (
    Changed,
    Connected,
    Deleted,
    Disconnected,
    News,
    Replaced,
)
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.pace import PACE, Pace

FAILED: Final = ApiCollection(paths.PODS, field_selector="status.phase=Failed")
_PLACE: Final = Place("the API server", "Pod")
_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "annotations",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
)
_STATUS: Final = (
    "phase",
    "reason",
    "message",
    "startTime",
    "initContainerStatuses",
    "containerStatuses",
    "ephemeralContainerStatuses",
)


class FailedPod(Value):
    """``document`` is the kept part of the Pod object."""

    document: Mapping[str, Any]
    pod: ClusterPod

    @property
    def metadata(self) -> Mapping[str, Any]:
        metadata: Mapping[str, Any] = self.document["metadata"]
        return metadata


class OwnerChain(Value):
    """The owners of a pod, the nearest first; not whole if one of them could not be read."""

    links: tuple[OwnerLink, ...] = ()
    is_whole: bool = True


class _Kept(Mutable):
    """A pod and when its failure was seen, unless it had failed before the first list."""

    failed: FailedPod
    seen_at_seconds: float | None
    chain: tuple[OwnerLink, ...] = ()
    chain_is_whole: bool = True
    made: RejectedPod | None = None


class FailedPods:
    """Kept current by ``follow``, which sets ``changed`` at each change.

    ``on_rejection`` is called with the reason of each pod that was not in the first list.
    """

    def __init__(
        self,
        changed: asyncio.Event,
        label_selector: str = "",
        on_rejection: Callable[[str], None] = lambda reason: None,
        pace: Pace = PACE,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.is_listed = False
        self.problem = ""
        """Why the pods may be out of date; empty while they are current."""
        self._changed = changed
        self._collection = replace(FAILED, label_selector=label_selector)
        self._on_rejection = on_rejection
        self._pace = pace
        self._now = now
        self._reader = PodReader()
        self._pods: dict[str, _Kept] = {}
        self._gone: dict[str, _Kept] = {}
        self._shown: dict[str, _Kept] = {}
        """The deleted pods that the last plan used."""

    @property
    def pods(self) -> list[FailedPod]:
        return [each.failed for each in self._pods.values()]

    def to_plan(self) -> list[FailedPod]:
        """Return all pods, and once the pods that were deleted since the last call.

        A StatefulSet deletes its rejected pod within moments, and such a storm has to be counted
        too. Deleted pods of ReplicaSets and bare pods are left out: they need no action.
        """
        self._shown, self._gone = self._gone, {}
        return [each.failed for each in (*self._shown.values(), *self._pods.values())]

    def rejected(self, failed: FailedPod, chain: OwnerChain) -> RejectedPod | None:
        """Return the pod with its owners; cached for the same pod."""
        uid = failed.pod.pod.uid
        kept = self._pods.get(uid) or self._shown.get(uid)
        if kept is None:
            return None
        if kept.made is None or (kept.chain, kept.chain_is_whole) != (chain.links, chain.is_whole):
            kept.chain, kept.chain_is_whole = chain.links, chain.is_whole
            kept.made = rejected_pod.rejected(
                failed.document, failed.pod, chain.links, chain.is_whole, kept.seen_at_seconds
            )
        return kept.made

    async def follow(self, api: ApiClient) -> None:
        """Keep the pods current until this is cancelled.

        Raises ``BadInput`` if the credentials could never be read.
        """
        news = follow.follow(api, self._collection, self._decoded, listing.uid, self._pace)
        async with contextlib.aclosing(news):
            async for each in news:
                self._put(each)
                self._changed.set()

    def _decoded(self, content: bytes) -> FailedPod | None:
        document = json.loads(content)
        # Most failed pods ended by themselves; only rejections by a kubelet matter.
        if not pod_standing.is_rejection((document.get("status") or {}).get("reason") or ""):
            return None
        pod = self._reader.read(content, _PLACE, Findings())
        return None if pod is None else FailedPod(_kept_part(document), pod)

    def _put(self, news: News[FailedPod]) -> None:
        match news:
            case Replaced(items):
                # A list after a broken watch has no delete events: pods that are missing from it
                # were deleted meanwhile.
                before, self._pods = self._pods, {}
                for uid, item in items.items():
                    self._keep(uid, item, before.pop(uid, None))
                for uid, kept in before.items():
                    self._remove(uid, kept)
                self.is_listed, self.problem = True, ""
            case Changed(uid, item):
                self._keep(uid, item, self._pods.get(uid))
            case Deleted(uid):
                self._remove(uid, self._pods.pop(uid, None))
            case Connected():
                self.problem = ""
            case Disconnected(why=why):
                self.problem = why

    def _remove(self, uid: str, kept: _Kept | None) -> None:
        owner = None if kept is None else rejected_pod.next_owner(kept.failed.metadata, "")
        # A ReplicaSet's rejected pods stay until they are deleted by the garbage collector or by
        # the breaker, so they were counted while they existed.
        if kept is not None and owner is not None and owner.kind != "ReplicaSet":
            self._gone[uid] = kept

    def _keep(self, uid: str, item: FailedPod, before: _Kept | None) -> None:
        # An unchanged object keeps its parsed form after a new list.
        if before is not None and before.failed == item:
            self._pods[uid] = before
            return
        seen_at = before.seen_at_seconds if before is not None else None
        # The age of failures before the first list is unknown, so they are not counted.
        if before is None and self.is_listed:
            seen_at = self._now()
            self._on_rejection(str((item.document.get("status") or {}).get("reason")))
        self._pods[uid] = _Kept(item, seen_at)


def _kept_part(document: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata, status = document["metadata"], document["status"]
    annotations = metadata.get("annotations") or {}
    if rejected_pod.RECREATE in annotations and not metadata.get("ownerReferences"):
        return document
    return {
        "metadata": {name: metadata[name] for name in _METADATA if name in metadata},
        "status": {name: status[name] for name in _STATUS if name in status},
    }
