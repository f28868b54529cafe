"""Writes the results of pods: status, release, events. Several at a time, each pod once.

A write has the latest status, so a pod that changes faster than it can be written is written less
often. Failed writes are repeated while they are still needed; events are dropped if there are too
many of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from numalet.cluster.hollow.life import HeldPod
from numalet.core.model.value import Mutable
from numalet.core.workload.records import NodeEvent, PodRecord
from numalet.core.workload.spec import Workload
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.pace import Backoff, Pace
from numalet.shared.kubernetes import event_object, pod_object

MOST_EVENTS: Final = 10_000
PAUSE_SECONDS: Final = 1.0
REFUSED_PACE: Final = Pace(first_seconds=1.0, longest_seconds=60.0)
"""Pace of retries for a pod after a refusal of the API server.

A server that has just started refuses requests that it allows a second later.
"""


class WriterCounts(Mutable):
    statuses: int = 0
    released: int = 0
    events: int = 0
    events_dropped: int = 0
    refused: int = 0
    put_off: int = 0


class PodWriter:
    """Keeps a queue of changed pods, and writes them one after the other.

    ``pod_of`` returns the current pod of a uid, unless it was deleted; ``refused`` is called with
    refusals of the API server.
    """

    def __init__(
        self,
        api: ApiClient,
        pod_of: Callable[[str], HeldPod | None],
        refused: Callable[[ApiRefused], None] = lambda refused: None,
    ) -> None:
        self.counts = WriterCounts()
        self._refused = refused
        self._api = api
        self._pod_of = pod_of
        self._wanted: dict[str, None] = {}
        self._under_way: set[str] = set()
        self._put_off = 0
        self._events: deque[tuple[str, NodeEvent, Workload | None]] = deque()
        self._written: dict[str, dict[str, Any]] = {}
        self._refused_in_a_row: dict[str, Backoff] = {}
        self._turns: asyncio.Queue[None] = asyncio.Queue()

    @property
    def is_idle(self) -> bool:
        return not (self._wanted or self._under_way or self._put_off)

    def report(self, uid: str) -> None:
        """Queue the status of this pod, or its release."""
        if uid not in self._wanted:
            self._wanted[uid] = None
            self._turns.put_nowait(None)

    def announce(self, node_name: str, event: NodeEvent, workload: Workload | None) -> None:
        if len(self._events) >= MOST_EVENTS:
            self.counts.events_dropped += 1
            return
        self._events.append((node_name, event, workload))
        self._turns.put_nowait(None)

    def forget(self, uid: str) -> None:
        self._written.pop(uid, None)
        self._wanted.pop(uid, None)
        self._refused_in_a_row.pop(uid, None)

    async def work(self) -> None:
        """Write forever; pods before events."""
        while True:
            await self._turns.get()
            uid = next((each for each in self._wanted if each not in self._under_way), None)
            if uid is not None:
                del self._wanted[uid]
                self._under_way.add(uid)
                try:
                    await self._write_pod(uid)
                finally:
                    self._under_way.discard(uid)
                if uid in self._wanted:
                    self._turns.put_nowait(None)
            elif self._events:
                await self._write_event(*self._events.popleft())

    async def _write_pod(self, uid: str) -> None:
        held = self._pod_of(uid)
        if held is None:
            return
        pod = held.record.workload.pod
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        try:
            await self._write_status(path, held.record)
            if held.is_forgettable:
                await self._api.delete(path, _now_and_only(uid))
                self.counts.released += 1
        except ApiRefused as refused:
            self._not_written(uid, refused)
        except ApiUnreachable:
            self._again_later(uid, PAUSE_SECONDS)
        else:
            self._refused_in_a_row.pop(uid, None)

    def _not_written(self, uid: str, refused: ApiRefused) -> None:
        if refused.status.is_temporary:
            self._again_later(uid, PAUSE_SECONDS)
            return
        self.counts.refused += 1
        self._refused(refused)
        if not (refused.status.is_absent or refused.status.is_conflict):
            backoff = self._refused_in_a_row.setdefault(uid, Backoff(REFUSED_PACE))
            self._again_later(uid, backoff.failed())
        # Otherwise the pod was deleted or replaced; the watch reports it too.

    async def _write_status(self, path: str, record: PodRecord) -> None:
        status = pod_object.status(record)
        if self._written.get(record.uid) == status:
            return
        # The uid is a precondition: it protects another pod of the same name.
        body = {"metadata": {"uid": record.uid}, "status": status}
        await self._api.patch(f"{path}/status", body)
        self._written[record.uid] = status
        self.counts.statuses += 1

    def _again_later(self, uid: str, seconds: float) -> None:
        self.counts.put_off += 1
        self._put_off += 1
        asyncio.get_running_loop().call_later(seconds, self._again, uid)

    def _again(self, uid: str) -> None:
        self._put_off -= 1
        self.report(uid)

    async def _write_event(
        self, node_name: str, event: NodeEvent, workload: Workload | None
    ) -> None:
        body = event_object.event_object(
            event, node_name=node_name, workload=workload, component=event_object.KUBELET
        )
        for of_server in ("uid", "resourceVersion", "creationTimestamp"):
            body["metadata"].pop(of_server)
        try:
            await self._api.create(f"/api/v1/namespaces/{event.namespace}/events", body)
            self.counts.events += 1
        except ApiRefused as refused:
            self.counts.events_dropped += 1
            self._refused(refused)
        except ApiUnreachable:
            self.counts.events_dropped += 1


def _now_and_only(uid: str) -> dict[str, Any]:
    """Return options to delete only the pod with this uid, without grace."""
    return {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": uid},
    }
