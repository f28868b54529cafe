"""Clients that let a scheduler place pods of many shapes, and take some of them away again."""

from __future__ import annotations

import asyncio
import random
from typing import Any, Final

from numalet.io.kube_api.answers import ApiRefused
from numalet.io.kube_api.client import ApiClient
from running.fleet_observer import FleetObserver

GPU: Final = "example.com/gpu"
_CLIENTS: Final = 8
_GPUS: Final = (0, 1, 1, 2, 2, 4, 4, 8)


def pod_document(name: str, rng: random.Random) -> dict[str, Any]:
    """A pod of up to 8 GPUs and two containers; every seventh is none that managers care for."""
    gpus = rng.choice(_GPUS)
    containers = [_container("app", gpus, rng)]
    if rng.random() < 0.2:
        containers.append(_container("beside", 0, rng))
    if rng.random() < 0.15:
        containers = [{"name": "app", "image": "any", "resources": {"requests": {"cpu": "500m"}}}]
    notes = {"numalet.dev/runs-for": f"{rng.randint(200, 3000)}ms"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": notes if rng.random() < 0.3 else {}},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": rng.choice([0, 1]),
            "containers": containers,
        },
    }


def _container(name: str, gpus: int, rng: random.Random) -> dict[str, Any]:
    amounts = {"cpu": str(rng.choice([1, 2, 3])), "memory": rng.choice(["500Mi", "1Gi", "3Gi"])}
    if gpus:
        amounts |= {GPU: str(gpus), "cpu": str(gpus * rng.choice([1, 2, 3])), "memory": f"{gpus}Gi"}
    return {"name": name, "image": "any", "resources": {"requests": amounts, "limits": amounts}}


class SentPods:
    """Eight clients, each with pods of its own, of which ``waiting`` at most wait for a node."""

    def __init__(
        self, api: ApiClient, seen: FleetObserver, namespace: str, seed: int, waiting: int = 4
    ) -> None:
        self._api = api
        self._seen = seen
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._seed = seed
        self._most_waiting = waiting

    async def send(self, count: int) -> None:
        """Send so many pods altogether, and wait until each was decided or taken away."""
        async with asyncio.TaskGroup() as group:
            for number in range(_CLIENTS):
                group.create_task(self._client(number, count // _CLIENTS))

    async def _client(self, number: int, count: int) -> None:
        rng = random.Random(self._seed * _CLIENTS + number)
        own: list[str] = []
        for at in range(count):
            name = f"pod-{number}-{at}"
            await self._api.create(self._path, pod_document(name, rng))
            own.append(name)
            if rng.random() < 0.4:
                await self._take_away(own, rng)
            await self._until_few_wait(own, rng, self._most_waiting)
        await self._until_few_wait(own, rng, 0)

    async def _until_few_wait(self, own: list[str], rng: random.Random, most: int) -> None:
        """Wait until no more of the client's pods wait; for room others of them have to go."""
        loop = asyncio.get_running_loop()
        gone_at = loop.time() + 2.0
        while len([each for each in own if not self._is_decided(each)]) > most:
            if loop.time() > gone_at:
                await self._take_away(own, rng)
                gone_at = loop.time() + 1.0
            await asyncio.sleep(0.02)

    async def _take_away(self, own: list[str], rng: random.Random) -> None:
        """Delete one of those that were decided."""
        decided = [each for each in own if self._is_decided(each)]
        gone = rng.choice(decided or own)
        own.remove(gone)
        try:
            await self._api.delete(f"{self._path}/{gone}")
        except ApiRefused as refused:
            if not refused.status.is_absent:
                raise

    def _is_decided(self, name: str) -> bool:
        times = self._seen.pods.get(name)
        return times is not None and times.decided_at is not None
