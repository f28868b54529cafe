"""One number for all shown data; it grows whenever a page might change."""

from __future__ import annotations

import asyncio

from numalet.core.cluster.cluster import Cluster
from numalet.core.model.value import Mutable
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import OutOfDate
from numalet.io.tasks import ended


class Revisions(Mutable):
    shown: ShownSources
    _cluster: Cluster | None = None
    _out_of_date: OutOfDate | None = None
    _clusters: int = 0

    def now(self) -> int:
        fleet, node = self.shown.fleet, self.shown.node
        if fleet is not None:
            cluster, out_of_date = fleet.cluster(), fleet.out_of_date
            # Sources return the same object until something changes, so identity is enough.
            if cluster is not self._cluster or out_of_date is not self._out_of_date:
                self._cluster, self._out_of_date = cluster, out_of_date
                self._clusters += 1
        return self._clusters + (0 if node is None else node.view().revision)

    async def changed(self) -> None:
        """Wait until the revision may have changed."""
        sources = [each for each in (self.shown.node, self.shown.fleet) if each is not None]
        waiting = [asyncio.create_task(each.changed()) for each in sources]
        try:
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
        finally:
            await ended(*waiting)
