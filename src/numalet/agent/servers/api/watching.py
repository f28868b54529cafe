"""Watches: a stream of changes, one JSON object per line.

Without a version, or with 0, the stream starts with all objects. A forgotten version yields one
ERROR with ``Status`` 410, a future one 504; the client then lists again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import StreamingResponse

from numalet.agent.servers.api import forms, requests, status, versions
from numalet.agent.servers.api.objects import JSON, Shown, shown, watch_line
from numalet.agent.servers.api.selectors import Selector
from numalet.agent.servers.door import ChangeKind, RequestRefused
from numalet.core.model.value import Value
from numalet.io.tasks import ended

BOOKMARK_SECONDS: Final = 60.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""This bookmark follows the last initial object."""

Now: TypeAlias = Callable[[], tuple[int, Iterable[tuple[str, Shown]]]]


class WatchedChange(Value):
    """One change; ``before`` is the object before it, unset for a new one.

    A deletion has the last content and its own version.
    """

    kind: ChangeKind
    key: str
    item: Shown
    resource_version: int
    before: Shown | None = None


Since: TypeAlias = Callable[[int], AsyncIterator[WatchedChange] | RequestRefused]


def response(
    request: Request, kind: str, api_version: str, now: Now, since: Since, passes: Selector
) -> StreamingResponse:
    version = versions.of_request(request)
    wants_initial = request.query_params.get("sendInitialEvents") is not None
    initial = requests.flag(request, "sendInitialEvents")
    watch = _Watch(
        kind=kind,
        api_version=api_version,
        since=since,
        passes=passes,
        bookmarks=requests.flag(request, "allowWatchBookmarks"),
        seconds=requests.seconds(request, "timeoutSeconds"),
        form=forms.of_watch(request, kind),
    )
    if initial:
        lines = watch.from_all(now, version, is_marked=True)
    elif version is not None:
        lines = watch.followed(version)
    elif wants_initial:
        lines = watch.followed(now()[0])
    else:
        lines = watch.from_all(now, None, is_marked=False)
    return StreamingResponse(lines, media_type=JSON)


@dataclass(slots=True, kw_only=True)
class _Watch:
    kind: str
    api_version: str
    since: Since
    passes: Selector
    bookmarks: bool
    seconds: float
    form: Callable[[Shown], Shown]

    async def from_all(
        self, now: Now, not_older: int | None, *, is_marked: bool
    ) -> AsyncGenerator[bytes, None]:
        """Send all objects, of this version or later, then changes."""
        version, items = now()
        # The objects are too old: skip them and let ``followed`` report the version.
        if not_older is not None and not_older > version:
            version = not_older
        else:
            for _, item in sorted(items, key=lambda each: each[0]):
                if self.passes(item.value):
                    yield self._written(ChangeKind.ADDED, item)
            if is_marked and self.bookmarks:
                yield self._bookmark(version, {INITIAL_EVENTS_END: "true"})
        async for line in self.followed(version):
            yield line

    async def followed(self, version: int) -> AsyncGenerator[bytes, None]:
        """Send changes after this version, then new ones."""
        steps = self.since(version)
        if isinstance(steps, RequestRefused):
            # As the kube-apiserver, send the error as an event, after HTTP 200.
            failure = status.of_refusal(steps, self.kind, "")
            yield watch_line("ERROR", shown(failure.document()))
            return
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        waiting: asyncio.Task[WatchedChange] | None = None
        try:
            while (left := end - loop.time()) > 0:
                # Keep the pending task over a timeout: cancelling ``anext`` would close the
                # generator.
                waiting = waiting or asyncio.ensure_future(anext(steps))
                pause = min(left, BOOKMARK_SECONDS if self.bookmarks else math.inf)
                done, _ = await asyncio.wait([waiting], timeout=_finite(pause))
                if done:
                    step, waiting = waiting.result(), None
                    version = max(version, step.resource_version)
                    line = self._line(step)
                    if line is not None:
                        yield line
                elif self.bookmarks:
                    # The final bookmark says where the next watch may resume.
                    yield self._bookmark(version)
        except StopAsyncIteration:
            return
        finally:
            # A generator cannot be closed while a task iterates it.
            if waiting is not None:
                await ended(waiting)

    def _line(self, step: WatchedChange) -> bytes | None:
        """The line for a change, if the selector matches before or after it.

        Kubernetes v1.32: ``cacher.convertToWatchEvent``. An object that no longer matches is shown
        in its old form.
        """
        before = step.before
        passed = before is not None and self.passes(before.value)
        passes = step.kind is not ChangeKind.DELETED and self.passes(step.item.value)
        if passes:
            return self._written(ChangeKind.MODIFIED if passed else ChangeKind.ADDED, step.item)
        if before is None or not passed:
            return None
        gone = step.item if step.kind is ChangeKind.DELETED else _at(before, step.resource_version)
        return self._written(ChangeKind.DELETED, gone)

    def _written(self, kind: ChangeKind, item: Shown) -> bytes:
        return watch_line(kind.value, self.form(item))

    def _bookmark(self, version: int, annotations: Mapping[str, str] | None = None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        mark = {"kind": self.kind, "apiVersion": self.api_version, "metadata": metadata}
        return watch_line("BOOKMARK", self.form(shown(mark)))


def _at(item: Shown, version: int) -> Shown:
    """The object with another version."""
    metadata = {**item.value["metadata"], "resourceVersion": str(version)}
    return shown({**item.value, "metadata": metadata})


def _finite(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds
