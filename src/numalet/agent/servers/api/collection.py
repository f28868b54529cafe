"""Lists and watches of one kind of object.

Lists are sorted by namespace and name, and may be chunked. All chunks, and lists of an exact
version, show one moment: later changes are undone. A watch is a stream of changes, one JSON object
per line.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from numalet.agent.servers.api import forms, list_options, requests, status
from numalet.agent.servers.api.forms import JSON, Shown, shown, watch_line
from numalet.agent.servers.api.list_options import Match, Selector, Token, is_selecting
from numalet.agent.servers.api.status import Failure
from numalet.agent.servers.door import ChangeKind, Door, RequestRefused
from numalet.core.model.value import Value
from numalet.io.tasks import ended
from numalet.wording import kubernetes_api as words

BOOKMARK_SECONDS: Final = 60.0
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""This bookmark follows the last initial object."""

Now: TypeAlias = Callable[[], tuple[int, Iterable[tuple[str, Shown]]]]

FRESH_SECONDS: Final = 3.0
"""How long a request waits for a resource version that does not exist yet."""


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


def watch_response(
    request: Request, kind: str, api_version: str, now: Now, since: Since, passes: Selector
) -> StreamingResponse:
    """Without a version, or with 0, the stream starts with all objects.

    A forgotten version yields one ERROR with ``Status`` 410, a future one 504; the client then
    lists again.
    """
    version = list_options.version_of(request)
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
                timeout = None if math.isinf(pause) else pause
                done, _ = await asyncio.wait([waiting], timeout=timeout)
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
        if step.kind is ChangeKind.DELETED:
            return self._written(ChangeKind.DELETED, step.item)
        metadata = {**before.value["metadata"], "resourceVersion": str(step.resource_version)}
        return self._written(ChangeKind.DELETED, shown({**before.value, "metadata": metadata}))

    def _written(self, kind: ChangeKind, item: Shown) -> bytes:
        return watch_line(kind.value, self.form(item))

    def _bookmark(self, version: int, annotations: Mapping[str, str] | None = None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        mark = {"kind": self.kind, "apiVersion": self.api_version, "metadata": metadata}
        return watch_line("BOOKMARK", self.form(shown(mark)))


class Collection(Value, kw_only=True):
    """Objects by key: ``namespace/name``, or the name of a cluster-scoped object.

    ``now`` returns objects and version, ``since`` changes from a version on, ``past`` those up to
    now. ``since`` is unset where watches are not supported.
    """

    kind: str
    api_version: str
    now: Callable[[], tuple[int, Iterable[tuple[str, Shown]]]]
    past: Callable[[int], Sequence[WatchedChange] | RequestRefused]
    door: Door
    since: Callable[[int], AsyncIterator[WatchedChange] | RequestRefused] | None = None


def key_of(item: Mapping[str, Any]) -> str:
    """``namespace/name``, or only the name."""
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


async def response(request: Request, of: Collection, passes: Selector) -> Response:
    """Answer a list or watch request. Raises ``Failure``.

    Waits for a version that does not exist yet.
    """
    if requests.flag(request, "watch"):
        if of.since is None:
            raise Failure(405, words.METHOD)
        await _until_there(of.door, list_options.version_of(request))
        return watch_response(request, of.kind, of.api_version, of.now, of.since, passes)
    wanted = list_options.wanted_versions(request)
    limit = requests.whole_number(request, "limit") or 0
    if wanted.match is Match.NOT_OLDER:
        await _until_there(of.door, wanted.version)
    version, items = of.now()
    at, after = version, ""
    if wanted.token is not None:
        at, after = wanted.token.version or version, wanted.token.after
    elif wanted.version is not None and (wanted.match is Match.EXACT or wanted.version > version):
        at = wanted.version
    entries = dict(items)
    if at != version:
        changes = of.past(at)
        if isinstance(changes, RequestRefused):
            raise _refused(changes, of.kind, wanted.token)
        entries = _as_before(entries, changes)
    chosen = [entries[key] for key in sorted(entries) if key > after and passes(entries[key].value)]
    goes_on = 0 < limit < len(chosen)
    more: dict[str, Any] = {}
    if goes_on:
        # The token has the version, so that the next chunk shows the same moment.
        more["continue"] = Token(key_of(chosen[limit - 1].value), at).text()
        # As the kube-apiserver: with a selector the remaining count would need a full scan.
        if not is_selecting(request):
            more["remainingItemCount"] = len(chosen) - limit
    shown = chosen[:limit] if goes_on else chosen
    return forms.of_list(request, of.kind, of.api_version, at, shown, more)


async def _until_there(door: Door, version: int | None) -> None:
    """Wait for this version, or for the timeout.

    Kubernetes v1.32: ``watchCache.waitUntilFreshAndList``, ``blockTimeout``.
    """
    if version is None:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(FRESH_SECONDS):
            while door.view().resource_version < version:
                await door.changed()


def _as_before(now: Mapping[str, Shown], changes: Sequence[WatchedChange]) -> dict[str, Shown]:
    """Undo these changes, newest first."""
    entries = dict(now)
    for change in reversed(changes):
        if change.kind is ChangeKind.ADDED or change.before is None:
            entries.pop(change.key, None)
        else:
            entries[change.key] = change.before
    return entries


def _refused(refused: RequestRefused, kind: str, token: Token | None) -> Failure:
    """Build the error; its token lets a client continue with current objects."""
    failure = status.of_refusal(refused, kind, "")
    if token is None or failure.code != 410:
        return failure
    metadata = {"continue": Token(token.after).text()}
    return Failure(410, words.CONTINUE_TOO_OLD, metadata=metadata)
