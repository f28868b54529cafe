"""Leader election among processes by a Lease in the API server (``coordination.k8s.io/v1``).

The leader renews the lease every few seconds. The others read it; once it has not changed for its
duration by *their* clock, the first to write it leads. Clocks of different machines are never
compared. A leader stops after ``deadline_seconds`` without a renewal, counted from when the last
successful one was sent; others wait for the longer ``duration_seconds``, so there are never two
leaders.

A write may be sent just before its sender stops leading, so each write of a leader should contain
the version of the changed object.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import time
import uuid
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeAlias

from numalet.cluster.programs import Refusals
from numalet.core.model import moments
from numalet.core.model.value import Value
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import Body
from numalet.io.kube_api.pace import Clock
from numalet.io.tasks import beside

_API_VERSION: Final = "coordination.k8s.io/v1"
_RELEASE_SECONDS: Final = 5.0
_RELEASED_DURATION_SECONDS: Final = 1
_Lease: TypeAlias = dict[str, Any]
"""The whole object, so that fields of other writers are kept."""


class LeaseApi(Protocol):
    async def get(self, path: str) -> bytes: ...

    async def create(self, path: str, body: Body) -> bytes: ...

    async def replace(self, path: str, body: Body) -> bytes: ...


class UptimeClock:
    """Time since the machine was started, including suspended time."""

    def now_seconds(self) -> float:
        # CLOCK_MONOTONIC stops while the machine sleeps, and a leader that wakes up would treat its
        # old lease as valid.
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class LeaseName(Value):
    namespace: str
    name: str

    @property
    def collection(self) -> str:
        return f"/apis/{_API_VERSION}/namespaces/{self.namespace}/leases"

    @property
    def path(self) -> str:
        return f"{self.collection}/{self.name}"


class LeaseTiming(Value, kw_only=True):
    """Seconds, like those of Kubernetes' controllers. The deadline is below the duration."""

    duration_seconds: int = 15
    deadline_seconds: float = 10.0
    retry_seconds: float = 2.0


def own_identity() -> str:
    """Return a unique name for this process: the host's, and a random part."""
    return f"{socket.gethostname()}_{os.getpid()}_{uuid.uuid4().hex[:8]}"


class LeaseCandidate:
    """A process that may lead. ``say`` is called with the leader's name whenever it changes.

    Use ``lead`` for work that only the leader does, or ``run`` and ``is_leader``. Without locks: it
    belongs to one event loop.
    """

    def __init__(
        self,
        api: LeaseApi,
        lease: LeaseName,
        say: Callable[[str], None] = lambda text: None,
        *,
        identity: str | None = None,
        timing: LeaseTiming = LeaseTiming(),
        clock: Clock | None = None,
    ) -> None:
        self.identity = identity or own_identity()
        self._api = api
        self._lease = lease
        self._say = say
        self._timing = timing
        self._clock = clock or UptimeClock()
        self._refusals = Refusals(say)
        self._complaint = ""
        self._object: _Lease | None = None
        self._observed_at = 0.0
        self._leads_until: float | None = None
        self._holder: str | None = None
        self._turned = asyncio.Event()

    @property
    def is_leader(self) -> bool:
        """Whether this process leads now; false as soon as that is uncertain."""
        until = self._leads_until
        return until is not None and self._clock.now_seconds() < until

    @property
    def holder(self) -> str:
        """The last known holder of the lease; empty without one."""
        return self._holder or ""

    async def wait_until_leader(self) -> None:
        while not self.is_leader:
            await self._wait_for_turn()

    async def wait_until_lost(self) -> None:
        while self.is_leader:
            await self._wait_for_turn()

    async def lead(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Do the work whenever this process leads, until it ends by itself or this is cancelled.

        The work is cancelled when the lease is lost, and started again when it is won again. The
        lease is released after the work has ended.

        Raises:
            BadInput: the credentials cannot be used; and the errors of the work.
        """
        async with beside(self.run()) as campaign:
            while not campaign.done():
                if await self._first(campaign, self.wait_until_leader()):
                    async with beside(work()) as working:
                        lost = self.wait_until_lost()
                        await self._first(campaign, lost, working)
                        if working.done():
                            return

    async def run(self) -> None:
        """Try to lead, and keep leading, until cancelled; then the lease is released.

        Raises ``BadInput`` if the credentials cannot be used.
        """
        try:
            while True:
                # Taken before the request: the lease runs from when it was sent, not from the
                # answer.
                sent_at = self._clock.now_seconds()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._left_seconds()):
                        await self._attempt(sent_at)
                self._turn()
                await self._wait(self._timing.retry_seconds)
                self._turn()
        finally:
            await self._release()

    async def _wait_for_turn(self) -> None:
        self._turned.clear()
        await self._turned.wait()

    async def _first(
        self,
        campaign: asyncio.Task[None],
        what: Coroutine[Any, Any, None],
        *others: asyncio.Task[None],
    ) -> bool:
        """Return whether ``what`` or one of the others ended first, during the campaign."""
        async with beside(what) as waited:
            await asyncio.wait({campaign, waited, *others}, return_when=asyncio.FIRST_COMPLETED)
            return not campaign.done()

    def _left_seconds(self) -> float:
        if self._leads_until is None:
            return self._timing.deadline_seconds
        return max(0.0, self._leads_until - self._clock.now_seconds())

    async def _wait(self, seconds: float) -> None:
        """Wait; as the leader at most while it leads."""
        if self._leads_until is not None:
            # Wake up in time to notice that the leadership ended.
            seconds = min(seconds, self._left_seconds())
        await self._clock.sleep(seconds)

    async def _attempt(self, sent_at: float) -> None:
        try:
            if not self.is_leader:
                self._observe(await self._read())
            if self._may_write():
                await self._write_or_observe(sent_at)
        except ApiRefused as refused:
            self._complain(refused)
        except ApiUnreachable:
            pass  # Time alone decides the effect on the lease.

    async def _write_or_observe(self, sent_at: float) -> None:
        try:
            await self._write(sent_at)
            return
        except ApiRefused as refused:
            if not (refused.status.is_conflict or refused.status.is_absent):
                raise
            if refused.status.is_absent and self._object is None:
                raise  # The namespace does not exist.
        # Another process or a user wrote it: its current content decides.
        self._object = None
        self._observe(await self._read())
        # A lost answer may hide a successful write of our own; then renew it at once.
        if _holder(self._object) == self.identity:
            await self._write(sent_at)

    def _complain(self, refused: ApiRefused) -> None:
        if refused.status.is_forbidden:
            self._refusals.note(refused)
        elif not refused.status.is_temporary and str(refused) != self._complaint:
            self._complaint = str(refused)
            self._say(f"cannot use the lease: {refused}")

    async def _read(self) -> _Lease | None:
        try:
            lease: _Lease = json.loads(await self._api.get(self._lease.path))
        except ApiRefused as refused:
            if refused.status.is_absent:
                return None
            raise
        return lease

    def _observe(self, lease: _Lease | None) -> None:
        """Record the content of the lease, and since when by our own clock."""
        # Only a change restarts the others' waiting time, whatever the clock of its writer shows.
        if lease is None or self._object is None or _spec(lease) != _spec(self._object):
            self._observed_at = self._clock.now_seconds()
        self._object = lease
        holder = _holder(lease)
        if holder != self.identity:
            self._leads_until = None
        self._note(holder)

    def _may_write(self) -> bool:
        """Return whether it is ours or free, or its holder was silent for the whole duration."""
        holder = _holder(self._object)
        if not holder or holder == self.identity:
            return True
        theirs = _spec(self._object).get("leaseDurationSeconds") or 0
        silent_seconds = self._clock.now_seconds() - self._observed_at
        # The longer of both durations: the holder may run with other settings.
        return silent_seconds > max(self._timing.duration_seconds, theirs)

    def _renewed(self) -> _Lease:
        """Return the lease with us as its holder, at the version that was read."""
        now = moments.microseconds(datetime.now(UTC))
        before = _spec(self._object)
        spec = {
            **before,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": self._timing.duration_seconds,
            "renewTime": now,
        }
        if before.get("holderIdentity") != self.identity:
            spec["acquireTime"] = now
            new = self._object is None
            # numalet does not read it; kubectl and other tools show it.
            spec["leaseTransitions"] = 0 if new else (before.get("leaseTransitions") or 0) + 1
        return {**(self._object or self._new()), "spec": spec}

    def _new(self) -> _Lease:
        metadata = {"name": self._lease.name, "namespace": self._lease.namespace}
        return {"apiVersion": _API_VERSION, "kind": "Lease", "metadata": metadata}

    async def _write(self, sent_at: float) -> None:
        lease = self._renewed()
        if self._object is None:
            answer = await self._api.create(self._lease.collection, lease)
        else:
            answer = await self._api.replace(self._lease.path, lease)
        self._object = json.loads(answer)
        # From the time of sending: the server may have stored the renewal at any moment since.
        self._leads_until = sent_at + self._timing.deadline_seconds
        self._note(self.identity)

    async def _release(self) -> None:
        """Let another process lead at once; after a failure the others wait for the duration."""
        leads, self._leads_until = self.is_leader, None
        self._turned.set()
        # A lease that is not certainly ours must not be released: another process may hold it by
        # now.
        if not leads or self._object is None:
            return
        spec = {
            **_spec(self._object),
            # Free, and with a short duration, so that others need not wait.
            "holderIdentity": "",
            "leaseDurationSeconds": _RELEASED_DURATION_SECONDS,
        }
        with contextlib.suppress(ApiRefused, ApiUnreachable, TimeoutError):
            async with asyncio.timeout(_RELEASE_SECONDS):
                await self._api.replace(self._lease.path, {**self._object, "spec": spec})
                self._say(f"released the lease {self._lease.namespace}/{self._lease.name}")

    def _note(self, holder: str) -> None:
        if holder == self._holder:
            return
        self._holder = holder
        if holder == self.identity:
            self._say(f"leads by the lease {self._lease.namespace}/{self._lease.name}")
        elif holder:
            self._say(f"waits: {holder} leads")

    def _turn(self) -> None:
        if self._leads_until is not None and not self.is_leader:
            self._leads_until = None
            self._holder = None
            self._say("leads no more: the lease could not be renewed in time")
        self._turned.set()


def _spec(lease: _Lease | None) -> dict[str, Any]:
    return (lease or {}).get("spec") or {}


def _holder(lease: _Lease | None) -> str:
    return str(_spec(lease).get("holderIdentity") or "")
