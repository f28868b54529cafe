"""Watches: a stream of changes, one JSON object a line, until the client or the time ends it.

A watch without a resource version, or with 0, begins with everything that is there. One from a
version that is forgotten gets a single ERROR with a ``Status`` 410, as a kube-apiserver answers;
the client then lists anew. Bookmarks tell a client that asked for them how far it has come, and
with ``sendInitialEvents`` when it has seen all there was.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import StreamingResponse

from numalet.servers.api import forms, requests, status
from numalet.servers.api.objects import JSON, Shown, shown, watch_line
from numalet.servers.api.selectors import Selector
from numalet.servers.api.status import bad_query
from numalet.servers.door import ChangeKind, Refused

BOOKMARK_SECONDS: Final = 60.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark after which everything that was there has been sent."""

_BEGINNING: Final = ("", "0")


@dataclass(frozen=True, slots=True)
class Step:
    """One change of an object that is watched."""

    kind: ChangeKind
    key: str
    item: Shown
    resource_version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """What is watched: all objects now, their version, and their changes since a version."""

    kind: str
    api_version: str
    now: Callable[[], tuple[int, Iterable[tuple[str, Shown]]]]
    since: Callable[[int], AsyncIterator[Step] | Refused]


def is_wanted(request: Request) -> bool:
    """Whether a request for a list is one for a watch."""
    return requests.flag(request, "watch")


def response(request: Request, watched: Watched, passes: Selector) -> StreamingResponse:
    """The stream that answers this request."""
    text = request.query_params.get("resourceVersion", "")
    if text not in _BEGINNING and not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise bad_query("resourceVersion", text[:40], "a whole number is expected")
    watch = _Watch(
        watched,
        passes,
        bookmarks=requests.flag(request, "allowWatchBookmarks"),
        initial=requests.flag(request, "sendInitialEvents"),
        seconds=requests.seconds(request, "timeoutSeconds"),
        form=forms.of_watch(request, watched.kind),
    )
    since = None if text in _BEGINNING or watch.initial else int(text)
    return StreamingResponse(watch.lines(since), media_type=JSON)


class _Watch:
    """One watch: which objects its client has been shown, and how far it has come."""

    def __init__(
        self,
        watched: Watched,
        passes: Selector,
        *,
        bookmarks: bool,
        initial: bool,
        seconds: float,
        form: Callable[[Shown], Shown],
    ) -> None:
        self.initial = initial
        self._form = form
        self._watched = watched
        self._passes = passes
        self._bookmarks = bookmarks
        self._seconds = seconds
        self._shown: set[str] = set()
        self._all_known = False

    async def lines(self, since: int | None) -> AsyncGenerator[bytes, None]:
        version = since
        if version is None:
            version, items = self._watched.now()
            self._all_known = True
            for key, item in items:
                if self._passes(item.value):
                    self._shown.add(key)
                    yield self._written(ChangeKind.ADDED, item)
            if self.initial and self._bookmarks:
                yield self._bookmark(version, {INITIAL_EVENTS_END: "true"})
        steps = self._watched.since(version)
        if isinstance(steps, Refused):
            failure = status.of_refusal(steps, self._watched.kind, "")
            yield watch_line("ERROR", shown(failure.document()))
            return
        async for line in self._followed(steps, version):
            yield line

    async def _followed(
        self, steps: AsyncIterator[Step], version: int
    ) -> AsyncGenerator[bytes, None]:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        waiting: asyncio.Task[Step] | None = None
        try:
            while (left := end - loop.time()) > 0:
                waiting = waiting or asyncio.ensure_future(anext(steps))
                pause = min(left, BOOKMARK_SECONDS if self._bookmarks else math.inf)
                done, _ = await asyncio.wait([waiting], timeout=_finite(pause))
                if done:
                    step, waiting = waiting.result(), None
                    version = max(version, step.resource_version)
                    line = self._line(step)
                    if line is not None:
                        yield line
                elif self._bookmarks:
                    yield self._bookmark(version)
        except StopAsyncIteration:
            return
        finally:
            if waiting is not None:
                waiting.cancel()

    def _line(self, step: Step) -> bytes | None:
        """The line of a step; an object that begins or ceases to pass comes or goes for it."""
        passes = self._passes(step.item.value)
        was_shown = step.key in self._shown or not self._all_known
        if step.kind is ChangeKind.DELETED or not passes:
            self._shown.discard(step.key)
            if was_shown and (passes or step.kind is not ChangeKind.ADDED):
                return self._written(ChangeKind.DELETED, step.item)
            return None
        kind = step.kind
        if self._all_known:
            kind = ChangeKind.MODIFIED if step.key in self._shown else ChangeKind.ADDED
        self._shown.add(step.key)
        return self._written(kind, step.item)

    def _written(self, kind: ChangeKind, item: Shown) -> bytes:
        return watch_line(kind.value, self._form(item))

    def _bookmark(self, version: int, annotations: Mapping[str, str] | None = None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        mark = {
            "kind": self._watched.kind,
            "apiVersion": self._watched.api_version,
            "metadata": metadata,
        }
        return watch_line("BOOKMARK", self._form(shown(mark)))


def _finite(seconds: float) -> float | None:
    return None if math.isinf(seconds) else seconds
