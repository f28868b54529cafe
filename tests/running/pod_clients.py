"""Clients that create and delete pods at random, of which the scheduler places every other one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient

CLIENTS: Final = 8
GPU: Final = "example.com/gpu"

Strike = Callable[[], Awaitable[None]]


def pod_document(name: str, rng: random.Random) -> dict[str, Any]:
    """A pod of 1, 2, 4 or 8 GPUs, now and then without, that runs for ever or for a moment."""
    gpus = rng.choice([0, 1, 2, 4, 8])
    amounts = {"cpu": str(rng.choice([1, 2, 3])), "memory": rng.choice(["1Gi", "3Gi", "500Mi"])}
    if gpus:
        amounts[GPU] = str(gpus)
    notes = {} if rng.random() < 0.6 else {"numalet.dev/runs-for": "300ms"}
    resources = {"requests": amounts, "limits": amounts}
    container = {"name": "app", "image": "any", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": notes},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
        },
    }


class PodClients:
    """Eight clients with pods of their own. What the server refuses meanwhile is left."""

    def __init__(self, api: ApiClient, nodes: Sequence[str], namespace: str, seed: int) -> None:
        self._api = api
        self._nodes = nodes
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._rng = random.Random(seed)
        self._made = 0

    async def work(self, steps: int, strikes: Sequence[Strike] = ()) -> None:
        """So many steps of every client; after every other one something strikes."""
        async with asyncio.TaskGroup() as group:
            for number in range(CLIENTS):
                group.create_task(self._client(number, steps, strikes))

    async def _client(self, number: int, steps: int, strikes: Sequence[Strike]) -> None:
        own: list[str] = []
        for _ in range(steps):
            self._made += 1
            name = f"pod-{number}-{self._made}"
            body = pod_document(name, self._rng)
            if self._rng.random() < 0.5:
                body["spec"]["nodeName"] = self._rng.choice(self._nodes)
            try:
                await self._api.create(self._path, body)
                own.append(name)
                if self._rng.random() < 0.4:
                    gone = own.pop(self._rng.randrange(len(own)))
                    await self._api.delete(f"{self._path}/{gone}")
            except (ApiRefused, ApiUnreachable):
                await asyncio.sleep(0.1)
            if strikes and self._rng.random() < 0.5:
                await self._rng.choice(strikes)()
