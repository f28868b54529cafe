"""Pods that run for a while, end, and are made again, as jobs that fill a cluster are."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from numalet.io.kube_api.client import ApiClient
from running.fleet_observer import FleetObserver
from running.hollow_program import GPU

_GLANCE_SECONDS = 0.2
_AT_ONCE = 16
_MOST_UNDECIDED = 64
"""A cluster that is slower, because its machine is busy, is given pods more slowly."""


def job_pod(name: str, gpus: int, runs_for: str = "forever") -> dict[str, Any]:
    """A Guaranteed pod of so many GPUs, 2 CPUs and 4Gi each, that nothing makes again."""
    size = max(1, gpus)
    amounts = {"cpu": str(2 * size), "memory": f"{4 * size}Gi"} | ({GPU: str(gpus)} if gpus else {})
    resources = {"requests": amounts, "limits": amounts}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": {"numalet.dev/runs-for": runs_for}},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "train", "image": "any", "resources": resources}],
        },
    }


@dataclass
class JobStream:
    """So many jobs of some GPUs at any moment, each for ``runs_for``; ``made`` counts them."""

    api: ApiClient
    observer: FleetObserver
    namespace: str
    gpus: int
    runs_for: str
    made: int = 0
    _there: set[str] = field(default_factory=set)

    @contextlib.asynccontextmanager
    async def kept(self, jobs: int, over_seconds: float) -> AsyncIterator[None]:
        """So many jobs from now on, the first ones spread over this time; what fails ends it."""
        async with asyncio.TaskGroup() as group:
            keeping = group.create_task(self._keep(jobs, over_seconds))
            yield
            keeping.cancel()

    async def _keep(self, jobs: int, over_seconds: float) -> None:
        now = asyncio.get_running_loop().time
        began = now()
        while True:
            over = [name for name in self._there if self._is_over(name)]
            wanted = min(jobs, int(jobs * (now() - began) / over_seconds))
            missing = wanted - len(self._there) + len(over)
            missing = max(0, min(missing, _MOST_UNDECIDED - self._undecided))
            work = [*over, *[None] * missing]
            for at in range(0, len(work), _AT_ONCE):
                async with asyncio.TaskGroup() as group:
                    for name in work[at : at + _AT_ONCE]:
                        group.create_task(self._added() if name is None else self._removed(name))
            await asyncio.sleep(_GLANCE_SECONDS)

    @property
    def _undecided(self) -> int:
        return self.made - len(self.observer.decided)

    def _is_over(self, name: str) -> bool:
        times = self.observer.pods.get(name)
        return times is not None and times.is_over

    async def _added(self) -> None:
        self.made += 1
        name = f"job-{self.made}"
        self._there.add(name)
        await self.api.create(self._path, job_pod(name, self.gpus, self.runs_for))

    async def _removed(self, name: str) -> None:
        self._there.discard(name)
        await self.api.delete(f"{self._path}/{name}")

    @property
    def _path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"
