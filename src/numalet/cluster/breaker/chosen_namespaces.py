"""The namespaces that match a label selector, followed from the API server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Final

from numalet.io.kube_api import follow
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Connected, Deleted, Disconnected, Replaced
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.pace import PACE, Pace

NAMESPACES: Final = "/api/v1/namespaces"


class ChosenNamespaces:
    """Kept current by ``follow``; without a selector every namespace matches."""

    def __init__(self, selector: str, changed: asyncio.Event, pace: Pace = PACE) -> None:
        self.is_listed = not selector
        self.problem = ""
        """Why the namespaces may be out of date; empty while they are current."""
        self._selector = selector
        self._changed = changed
        self._pace = pace
        self._names: set[str] = set()

    def has(self, name: str) -> bool:
        return not self._selector or name in self._names

    async def follow(self, api: ApiClient) -> None:
        """Keep the namespaces current until this is cancelled.

        Raises ``BadInput`` if the credentials could never be read.
        """
        if not self._selector:
            return
        collection = ApiCollection(NAMESPACES, label_selector=self._selector)
        news = follow.follow(api, collection, _name, pace=self._pace)
        async with contextlib.aclosing(news):
            async for each in news:
                match each:
                    case Replaced(items):
                        self._names = {*items}
                        self.is_listed, self.problem = True, ""
                    case Changed(name):
                        self._names.add(name)
                    case Deleted(name):
                        self._names.discard(name)
                    case Connected():
                        self.problem = ""
                    case Disconnected(why=why):
                        self.problem = why
                self._changed.set()


def _name(content: bytes) -> str:
    return str(json.loads(content)["metadata"]["name"])
