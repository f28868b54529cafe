"""The node's pods in the cluster, by the uid that the container runtime knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from numalet.agent.nri import seen
from numalet.core.model.findings import Findings
from numalet.core.model.pod import Pod
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.io.documents.pods import served_pod
from numalet.io.kube_api import follow, listing, paths
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Connected, Deleted, Disconnected, Replaced
from numalet.wording.log_line import LogLine

_RUNNING: Final = "running"


class FollowedPod(Value):
    """``pod`` has the runtime's uid; ``running`` are the ids of containers that run."""

    pod: Pod
    running: frozenset[str]


class FollowedPods(Mutable):
    """The latest state of the watch. ``by_uid`` is replaced, never changed in place."""

    by_uid: dict[str, Pod] = field(default_factory=dict)
    running: frozenset[str] = frozenset()
    are_known: asyncio.Event = field(default_factory=asyncio.Event)

    async def follow(self, api: ApiClient, node_name: str, say: Callable[[LogLine], None]) -> None:
        """Follow the pods of a node forever."""
        followed: dict[str, FollowedPod] = {}
        collection = listing.ApiCollection(paths.PODS, field_selector=f"spec.nodeName={node_name}")
        async for news in follow.follow(api, collection, _decoded, key=listing.uid):
            match news:
                case Replaced(items):
                    followed = dict(items)
                case Changed(key, item) if item is not None:
                    followed[key] = item
                case Changed(key, _) | Deleted(key):
                    followed.pop(key, None)
                case Disconnected(why):
                    say(LogLine("Pods of the cluster: disconnected", {"why": why}))
                case Connected():
                    say(LogLine("Pods of the cluster: connected again"))
            self.by_uid = {each.pod.uid: each.pod for each in followed.values()}
            self.are_known.set()
            self.running = frozenset().union(*(each.running for each in followed.values()))


def _decoded(raw: bytes | msgspec.Raw) -> FollowedPod | None:
    """Decode a Pod object; None if numalet cannot read it, so its containers count alone."""
    value = msgspec.json.decode(raw)
    pod = served_pod.decode(value, Findings())
    if pod is None:
        return None
    uid = seen.uid_in_runtime(pod.uid, value["metadata"].get("annotations") or {})
    return FollowedPod(replace(pod, uid=uid), _running(value))


def _running(value: dict[str, Any]) -> frozenset[str]:
    return frozenset(
        each["containerID"].partition("://")[2]
        for each in served_pod.statuses(value)
        if _RUNNING in (each.get("state") or {}) and each.get("containerID")
    )
