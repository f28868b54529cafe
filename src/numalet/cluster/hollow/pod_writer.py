"""Writes what becomes of pods: their status, their end, events. Several at a time, each pod once.

What is written of a pod is what it is when its turn comes, so that a pod that changes faster than
it can be written is written less often. What can not be written is tried again, for as long as it
is still wanted; events are dropped when there are too many of them.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from numalet.agent.kubernetes import event_object, pod_object
from numalet.cluster.hollow.life import HeldPod
from numalet.core.model.value import Mutable
from numalet.core.workload.record import NodeEvent, PodRecord
from numalet.core.workload.spec import Workload
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.pace import Backoff, Pace

MOST_EVENTS: Final = 10_000
PAUSE_SECONDS: Final = 1.0
REFUSED_PACE: Final = Pace(first_seconds=1.0, longest_seconds=60.0)
"""How often what the API server refuses of a pod is tried again.

A server that has just started refuses what it allows a second later.
"""


class WriterCounts(Mutable):
    """What was written since the start, and what not."""

    statuses: int = 0
    released: int = 0
    events: int = 0
    events_dropped: int = 0
    refused: int = 0
    put_off: int = 0


class PodWriter:
    """Remembers which pods changed, and writes them one after the other.

    ``pod_of`` gives the pod of a uid as it is now, None for one that is gone; ``refused`` gets
    what the API server will not do.
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
        """Whether everything about pods is written."""
        return not (self._wanted or self._under_way or self._put_off)

    def report(self, uid: str) -> None:
        """The status of this pod is to be written, or the pod to be released."""
        if uid not in self._wanted:
            self._wanted[uid] = None
            self._turns.put_nowait(None)

    def announce(self, node_name: str, event: NodeEvent, workload: Workload | None) -> None:
        """This event is to be written."""
        if len(self._events) >= MOST_EVENTS:
            self.counts.events_dropped += 1
            return
        self._events.append((node_name, event, workload))
        self._turns.put_nowait(None)

    def forget(self, uid: str) -> None:
        """The API server does not have the pod any more."""
        self._written.pop(uid, None)
        self._wanted.pop(uid, None)
        self._refused_in_a_row.pop(uid, None)

    async def work(self) -> None:
        """Write one thing after the other, without end; pods go before events."""
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
        # Else the pod is gone, or another one has its name; the watch says so, too.

    async def _write_status(self, path: str, record: PodRecord) -> None:
        status = pod_object.status(record)
        if self._written.get(record.uid) == status:
            return
        # The uid is a precondition: another pod of the same name is not written over.
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
    """The options of a deletion without any grace, of the pod with this uid alone."""
    return {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": uid},
    }
