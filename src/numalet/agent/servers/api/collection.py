"""Objects of one kind, as they are, were and become: what a list or a watch is asked of.

A list is sorted by namespace and name, as a kube-apiserver's is, and may come in chunks; all
chunks of one list, and a list of an exact version, are of one moment: the changes since then are
taken back from what there is now.
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
"""So long a request waits for a resource version that is yet to come."""


class Collection(Value, kw_only=True):
    """Objects of one kind by key, ``namespace/name`` or the name alone.

    ``now`` gives all objects and their version, ``since`` the changes after a version and those to
    come, ``past`` those up to now. Where nothing can be watched ``since`` is None. ``door``
    knows the version of now, and waits for others.
    """

    kind: str
    api_version: str
    now: Callable[[], tuple[int, Iterable[tuple[str, Shown]]]]
    past: Callable[[int], Sequence[WatchedChange] | RequestRefused]
    door: Door
    since: Callable[[int], AsyncIterator[WatchedChange] | RequestRefused] | None = None


def key_of(item: Mapping[str, Any]) -> str:
    """``namespace/name``, or the name alone."""
    metadata = item["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


async def response(request: Request, of: Collection, passes: Selector) -> Response:
    """The answer to a request for a list, or a watch. Raises ``Failure``.

    One for a version that is yet to come waits for it for a while.
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
        more["continue"] = Token(key_of(chosen[limit - 1].value), at).text()
        if not is_selecting(request):
            more["remainingItemCount"] = len(chosen) - limit
    shown = chosen[:limit] if goes_on else chosen
    return forms.of_list(request, of.kind, of.api_version, at, shown, more)


async def _until_there(door: Door, version: int | None) -> None:
    """Wait until there is this version, or it has been waited for long enough.

    Kubernetes v1.32: ``watchCache.waitUntilFreshAndList`` and its ``blockTimeout``.
    """
    if version is None:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(FRESH_SECONDS):
            while door.view().resource_version < version:
                await door.changed()


def _as_before(now: Mapping[str, Shown], changes: Sequence[WatchedChange]) -> dict[str, Shown]:
    """The objects as they were before these changes, which are oldest first."""
    entries = dict(now)
    for change in reversed(changes):
        if change.kind is ChangeKind.ADDED or change.before is None:
            entries.pop(change.key, None)
        else:
            entries[change.key] = change.before
    return entries


def _refused(refused: RequestRefused, kind: str, token: Token | None) -> Failure:
    """The failure for this version; its token continues with the current objects."""
    failure = status.of_refusal(refused, kind, "")
    if token is None or failure.code != 410:
        return failure
    metadata = {"continue": Token(token.after).text()}
    return Failure(410, words.CONTINUE_TOO_OLD, metadata=metadata)
