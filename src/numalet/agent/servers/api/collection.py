"""Lists and watches of one kind of object.

Lists are sorted by namespace and name, and may be chunked. All chunks, and lists of an exact
version, show one moment: later changes are undone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from numalet.agent.servers.api import forms, requests, status, versions, watching
from numalet.agent.servers.api.objects import Shown
from numalet.agent.servers.api.selectors import Selector, is_selecting
from numalet.agent.servers.api.status import Failure
from numalet.agent.servers.api.versions import Match, Token
from numalet.agent.servers.api.watching import WatchedChange
from numalet.agent.servers.door import ChangeKind, Door, RequestRefused
from numalet.core.model.value import Value
from numalet.wording import kubernetes_api as words

FRESH_SECONDS: Final = 3.0
"""How long a request waits for a resource version that does not exist yet."""


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
        await _until_there(of.door, versions.of_request(request))
        return watching.response(request, of.kind, of.api_version, of.now, of.since, passes)
    wanted = versions.of_list(request)
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
