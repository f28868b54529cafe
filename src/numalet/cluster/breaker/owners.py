"""The owners of pods up to the top, of any kind.

A reference has a version and a kind; the API path of a kind is read once. An owner that is
forbidden or deleted ends the chain, which is then marked as incomplete.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

import msgspec

from numalet.cluster.breaker.failed_pods import OwnerChain
from numalet.core.model.value import Value
from numalet.insight.rejections import rejected_pod
from numalet.insight.rejections.rejected_pod import OwnerLink
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient

KNOWN_SECONDS: Final = 300.0
"""How long the data of an owner is cached."""
UNKNOWN_SECONDS: Final = 30.0
"""How long an unreadable owner is not tried again."""
_LONGEST_CHAIN: Final = 10
"""A longer chain contains a cycle."""
_MOST_KNOWN: Final = 20_000


class _Metadata(msgspec.Struct, rename="camel"):
    uid: str = ""
    owner_references: list[dict[str, Any]] | None = None


class _Owner(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


class _ApiResource(msgspec.Struct):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _ApiResources(msgspec.Struct):
    resources: list[_ApiResource] = []


class _Read(Value):
    """The cached data of an owner. ``above`` is its own owner."""

    is_known: bool
    above: OwnerLink | None
    until_seconds: float


class OwnerResolver:
    """Reads and caches owners. ``say`` is called once for each unreadable kind."""

    def __init__(
        self, api: ApiClient, say: Callable[[str], None], now: Callable[[], float]
    ) -> None:
        self._api = api
        self._say = say
        self._now = now
        self._said: set[tuple[str, str, int]] = set()
        self._known: dict[OwnerLink, _Read] = {}
        self._resources: dict[str, tuple[float, Mapping[str, _ApiResource]]] = {}

    async def chain(self, metadata: Mapping[str, Any]) -> OwnerChain:
        """Return the owners of the object with this ``metadata``, the nearest first."""
        links: list[OwnerLink] = []
        link = rejected_pod.next_owner(metadata, str(metadata.get("namespace") or ""))
        while link is not None and len(links) < _LONGEST_CHAIN:
            # Before reading it: an owner that cannot be read is still the best known one for its
            # pod.
            links.append(link)
            read = await self._read(link)
            if not read.is_known:
                return OwnerChain(tuple(links), is_whole=False)
            link = read.above
        return OwnerChain(tuple(links), is_whole=link is None)

    async def _read(self, link: OwnerLink) -> _Read:
        known = self._known.get(link)
        if known is not None and self._now() < known.until_seconds:
            return known
        # Clearing everything costs some reads; tracking ages would cost memory at every read.
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        made = await self._asked(link)
        self._known[link] = made
        return made

    async def _asked(self, link: OwnerLink) -> _Read:
        try:
            path = await self._path(link)
            owner = None if path is None else _decoded(await self._api.get(path))
        except ApiRefused as refused:
            self._note(link, refused)
            owner = None
        except ApiUnreachable:
            owner = None
        # A later object of the same name is another owner.
        if owner is None or (link.uid and owner.metadata.uid != link.uid):
            return _Read(False, None, self._now() + UNKNOWN_SECONDS)
        references = {"ownerReferences": owner.metadata.owner_references}
        above = rejected_pod.next_owner(references, link.namespace)
        return _Read(True, above, self._now() + KNOWN_SECONDS)

    async def _path(self, link: OwnerLink) -> str | None:
        """Return the path of the owner, if the server has the kind."""
        base = (
            f"/apis/{link.api_version}" if "/" in link.api_version else f"/api/{link.api_version}"
        )
        until, resources = self._resources.get(base, (0.0, {}))
        # A new custom resource may appear at any time, so an unknown kind is read again, but not
        # for each of its pods.
        if link.kind not in resources and self._now() >= until:
            listed = msgspec.json.decode(await self._api.get(base), type=_ApiResources).resources
            # Subresources such as ``deployments/scale`` have kinds too.
            resources = {each.kind: each for each in listed if "/" not in each.name}
            self._resources[base] = (self._now() + UNKNOWN_SECONDS, resources)
        resource = resources.get(link.kind)
        if resource is None:
            return None
        within = f"/namespaces/{quote(link.namespace, safe='')}" if resource.namespaced else ""
        return f"{base}{within}/{resource.name}/{quote(link.name, safe='')}"

    def _note(self, link: OwnerLink, refused: ApiRefused) -> None:
        key = (link.api_version, link.kind, refused.status.code)
        if refused.status.is_absent or key in self._said:
            return
        self._said.add(key)
        self._say(
            f"{link.kind} of {link.api_version} cannot be read ({refused.status.code} "
            f"{refused.status.reason}): its pods are attributed to the nearest known owner"
        )


def _decoded(content: bytes) -> _Owner | None:
    try:
        return msgspec.json.decode(content, type=_Owner)
    except msgspec.MsgspecError:
        return None
