"""The one writer of a collection, who knows what there is although connections break."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any, Final

from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from running.followed import PATIENCE_SECONDS, History, Written, value_of

_NAMES: Final = tuple(f"item-{number}" for number in range(12))
_MISSING: Final = 404


class Writer:
    """Creates, replaces, patches, applies and deletes at random; ``history`` is what came of it."""

    def __init__(self, api: ApiClient, path: str, random: Random) -> None:
        self.history = History()
        self._api = api
        self._path = path
        self._random = random
        self._last = 0

    async def write(self) -> None:
        """One more change, which is in the history when this returns."""
        name = self._random.choice(_NAMES)
        self._last += 1
        value: int | None = self._last
        before = self.history.state().get(name)
        if before is None:
            kind = self._random.choice(["create", "apply"])
        else:
            kind = self._random.choice(["replace", "patch", "apply", "delete", "patch"])
            value = None if kind == "delete" else value
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                try:
                    await self._send(kind, name, value)
                    break
                except ApiUnreachable:
                    # It may have been done, and the answer lost.
                    if await self._stored(name) == value:
                        break
                    await asyncio.sleep(0.05)
        self.history.changes.append(Written(name, value))

    async def _send(self, kind: str, name: str, value: int | None) -> None:
        api, path = self._api, f"{self._path}/{name}"
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"value": str(value)},
        }
        match kind:
            case "create":
                await api.create(self._path, body)
            case "replace":
                await api.replace(path, body)
            case "patch":
                await api.patch(path, {"data": {"value": str(value)}})
            case "apply":
                await api.apply(path, body, "law", force=True)
            case _:
                await api.delete(path)

    async def _stored(self, name: str) -> int | None:
        while True:
            try:
                return value_of(await self._api.get(f"{self._path}/{name}"))
            except ApiUnreachable:
                await asyncio.sleep(0.05)
            except ApiRefused as refused:
                # A server that is just starting refuses with other codes.
                if refused.status.code == _MISSING:
                    return None
                await asyncio.sleep(0.05)
