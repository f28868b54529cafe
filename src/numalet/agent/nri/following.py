"""The node's pods in the cluster, by the uid that the container runtime knows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from numalet.agent.nri import seen
from numalet.core.model.findings import Findings
from numalet.core.model.pod import Pod
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.core.workload.run import ContainerPhase, ContainerRun, Exit, ExitReason
from numalet.io.documents.pods import served_pod
from numalet.io.kube_api import follow, listing, paths
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Connected, Deleted, Disconnected, Replaced
from numalet.wording.log_line import LogLine

_RUNNING: Final = "running"
_REASONS: Final = {each.value: each for each in ExitReason}


class FollowedPod(Value):
    """``pod`` has the runtime's uid; ``running`` are the ids of containers that run.

    ``manifest`` is the object without its status, ``runs`` the history of containers in the status.
    """

    pod: Pod
    running: frozenset[str]
    created_at: datetime | None
    manifest: Mapping[str, Any]
    runs: Mapping[str, ContainerRun]


class FollowedPods(Mutable):
    """The latest state of the watch. Its maps are replaced, never changed in place."""

    by_uid: dict[str, Pod] = field(default_factory=dict)
    served: Mapping[str, FollowedPod] = field(default_factory=dict)
    """By the same uids; replaced like ``by_uid``."""
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
            self.served = {each.pod.uid: each for each in followed.values()}
            self.by_uid = {uid: each.pod for uid, each in self.served.items()}
            self.are_known.set()
            self.running = frozenset().union(*(each.running for each in followed.values()))


def _decoded(raw: bytes | msgspec.Raw) -> FollowedPod | None:
    """Decode a Pod object; None if numalet cannot read it, so its containers count alone."""
    value = msgspec.json.decode(raw)
    pod = served_pod.decode(value, Findings())
    if pod is None:
        return None
    metadata = value["metadata"]
    uid = seen.uid_in_runtime(pod.uid, metadata.get("annotations") or {})
    kept = {name: each for name, each in metadata.items() if name != "managedFields"}
    return FollowedPod(
        pod=replace(pod, uid=uid),
        running=_running(value),
        created_at=_moment(metadata, "creationTimestamp"),
        manifest={"metadata": kept, "spec": value["spec"]},
        runs={each["name"]: _run(each) for each in served_pod.statuses(value)},
    )


def _running(value: dict[str, Any]) -> frozenset[str]:
    return frozenset(
        each["containerID"].partition("://")[2]
        for each in served_pod.statuses(value)
        if _RUNNING in (each.get("state") or {}) and each.get("containerID")
    )


def _run(status: Mapping[str, Any]) -> ContainerRun:
    """Return the history of a container by its status in a Pod object."""
    state, restarts = status.get("state") or {}, int(status.get("restartCount") or 0)
    running, ended = state.get("running"), state.get("terminated")
    last = ended or (status.get("lastState") or {}).get("terminated")
    has_begun = last or running or restarts
    phase = ContainerPhase.TERMINATED if ended else ContainerPhase.WAITING
    return ContainerRun(
        name=status["name"],
        phase=ContainerPhase.RUNNING if running else phase,
        attempt=restarts + 1 if has_begun else 0,
        started_at=_moment(running or {}, "startedAt"),
        last_exit=_exit(last) if last else None,
    )


def _exit(terminated: Mapping[str, Any]) -> Exit | None:
    finished_at = _moment(terminated, "finishedAt")
    if finished_at is None:
        return None
    reason = terminated.get("reason")
    return Exit(
        code=terminated.get("exitCode", 0),
        reason=_REASONS.get(str(reason), ExitReason.ERROR),
        finished_at=finished_at,
        started_at=_moment(terminated, "startedAt"),
        signal=terminated.get("signal"),
    )


def _moment(of: Mapping[str, Any], name: str) -> datetime | None:
    text = of.get(name)
    return datetime.fromisoformat(text) if text else None
