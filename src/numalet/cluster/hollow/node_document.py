"""The Node and Lease objects of a hollow node in the API server: their content and their requests.

Leases of many nodes are renewed one after the other, so that requests are spread over time.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

import msgspec

import numalet
from numalet.core.model import input_error, moments
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.io.kube_api import paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.tasks import together
from numalet.shared.kubernetes import node_object

HOLLOW: Final = "numalet.dev/hollow"
"""The label of hollow nodes; its value is the prefix of their names."""
POOL: Final = "numalet.dev/pool"
KIND: Final = "node.kubernetes.io/instance-type"
FAULT: Final = "numalet.dev/hollow-fault"
"""The annotation that requests a fault of a hollow node."""
NOT_READY: Final = "node.kubernetes.io/not-ready"
ARCHITECTURE: Final = "amd64"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
LEASE_SECONDS: Final = 40

_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class NodeNaming(Value, kw_only=True):
    name: str
    prefix: str
    kind: str
    pool: str = ""
    labels: Mapping[str, str] = MappingProxyType({})

    def all_labels(self, node: Node) -> dict[str, str]:
        """Return every label of the Node; the user's own override the others."""
        return {
            **node_object.labels(self.name, node.rules.machine.os, ARCHITECTURE),
            KIND: self.kind,
            HOLLOW: self.prefix,
            **({POOL: self.pool} if self.pool else {}),
            **self.labels,
        }


def whole(node: Node, naming: NodeNaming, boots: int, now: datetime) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": naming.name, "labels": naming.all_labels(node)},
        "status": status(node, naming, boots, now),
    }


def status(node: Node, naming: NodeNaming, boots: int, now: datetime) -> dict[str, Any]:
    """Return the ``status`` of a ready Node. ``boots`` counts its starts."""
    facts = node_object.NodeFacts(
        name=naming.name,
        created_at=now,
        started_at=now,
        version=numalet.__version__,
        architecture=ARCHITECTURE,
        machine_id=naming.name,
        boot_id=f"{naming.name}-{boots}",
        os_image="hollow",
    )
    shown: dict[str, Any] = node_object.node_object(node, facts)["status"]
    version = f"hollow://{numalet.__version__}"
    shown["nodeInfo"] |= {
        "containerRuntimeVersion": version,
        "kernelVersion": "hollow",
        "kubeProxyVersion": "",
    }
    return {**shown, "conditions": conditions(now)}


def conditions(now: datetime) -> list[dict[str, str]]:
    at = moments.seconds(now)
    beats = {"lastHeartbeatTime": at, "lastTransitionTime": at}
    ready = ("Ready", "KubeletReady", "the hollow node is running")
    return [
        {
            "type": name,
            "status": "True" if name == "Ready" else "False",
            "reason": reason,
            "message": message,
            **beats,
        }
        for name, reason, message in (*_PRESSURES, ready)
    ]


def lease(name: str, node_uid: str, now: datetime) -> dict[str, Any]:
    """Return the Lease of a node, which is deleted with its Node."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node_uid}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"leaseDurationSeconds": LEASE_SECONDS, **renewal(name, now)["spec"]},
    }


def renewal(name: str, now: datetime) -> dict[str, Any]:
    return {"spec": {"holderIdentity": name, "renewTime": moments.microseconds(now)}}


class _Metadata(msgspec.Struct, frozen=True):
    uid: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    name: str = ""


class _Spec(msgspec.Struct, frozen=True):
    taints: list[dict[str, Any]] = []


class RegisteredNode(msgspec.Struct, frozen=True):
    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()


class Registrar(Value):
    """Registers nodes; ``untaints``: removes the not-ready taint from new nodes."""

    api: ApiClient
    untaints: bool = False

    async def register(self, node: Node, naming: NodeNaming, boots: int = 1) -> str:
        """Create a ready Node, and return its uid.

        Raises ``BadInput`` if a node of this name exists and is not hollow, and the client's
        errors.
        """
        now = datetime.now(UTC)
        body = whole(node, naming, boots, now)
        try:
            answer = await self.api.create(paths.NODES, body)
        except ApiRefused as refused:
            if not refused.status.is_conflict:
                raise
            answer = await self._again(body, naming)
        registered = decoded(answer)
        kept = [each for each in registered.spec.taints if each["key"] != NOT_READY]
        if self.untaints and len(kept) < len(registered.spec.taints):
            await self.api.patch(paths.node(naming.name), {"spec": {"taints": kept or None}})
        return registered.metadata.uid

    async def report(self, node: Node, naming: NodeNaming, boots: int) -> None:
        """Write the status of an existing node, as a kubelet does regularly."""
        body = {"status": status(node, naming, boots, datetime.now(UTC))}
        await self.api.patch(f"{paths.node(naming.name)}/status", body)

    async def remove(self, name: str) -> None:
        """Delete a Node; its lease and other dependents are deleted with it."""
        try:
            await self.api.delete(paths.node(name))
        except ApiRefused as refused:
            if not refused.status.is_absent:
                raise

    async def _again(self, body: dict[str, Any], naming: NodeNaming) -> bytes:
        path = paths.node(naming.name)
        there = decoded(await self.api.get(path))
        if there.metadata.labels.get(HOLLOW) is None:
            raise input_error.Duplicate(
                f"node {naming.name!r} exists and is not a hollow node; choose another "
                "--name-prefix"
            ).bad_input()
        await self.api.patch(f"{path}/status", {"status": body["status"]})
        labels = body["metadata"]["labels"]
        notes = {FAULT: None}
        return await self.api.patch(path, {"metadata": {"labels": labels, "annotations": notes}})


def decoded(answer: bytes) -> RegisteredNode:
    """Decode a Node. Raises ``msgspec.DecodeError``."""
    return msgspec.json.decode(answer, type=RegisteredNode)


RENEW_SECONDS: Final = 15.0
"""Period for a lease of 40 s.

A kubelet renews every 10 s; this makes a third fewer requests, and two may be lost.
"""


class Leases:
    """The leases of these nodes; those of nodes that are not alive expire.

    ``uid_of`` is the uid of a Node object.
    """

    def __init__(
        self,
        api: ApiClient,
        names: Iterable[str],
        is_alive: Callable[[str], bool],
        uid_of: Callable[[str], str],
        period_seconds: float = RENEW_SECONDS,
        refused: Callable[[ApiRefused], None] = lambda refused: None,
    ) -> None:
        self.renewed = 0
        self.failed = 0
        self._api = api
        self._is_alive = is_alive
        self._uid_of = uid_of
        self._refused = refused
        self._period_seconds = period_seconds
        self._names = tuple(names)
        self._due: list[tuple[float, str]] = []

    async def keep(self, workers: int = 16) -> None:
        """Renew forever. Each node has its own offset in every period."""
        began = asyncio.get_running_loop().time()
        step = self._period_seconds / max(1, len(self._names))
        self._due = [(began + at * step, name) for at, name in enumerate(self._names)]
        async with together() as group:
            for _ in range(workers):
                group.create_task(self._work())

    async def renew(self, name: str) -> bool:
        """Renew or create one lease; return whether that succeeded."""
        now = datetime.now(UTC)
        path = LEASES
        try:
            try:
                await self._api.patch(f"{path}/{name}", renewal(name, now))
            except ApiRefused as refused:
                if not refused.status.is_absent:
                    raise
                await self._api.create(path, lease(name, self._uid_of(name), now))
        except ApiRefused as refused:
            self.failed += 1
            self._refused(refused)
            return False
        except ApiUnreachable:
            self.failed += 1
            return False
        self.renewed += 1
        return True

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._due:
                # Each of the others is renewing a node.
                await asyncio.sleep(self._period_seconds)
                continue
            due, name = heapq.heappop(self._due)
            await asyncio.sleep(max(0.0, due - loop.time()))
            renewed = await self.renew(name) if self._is_alive(name) else True
            # Missed renewals are not repeated: the next one is at the node's own offset in a
            # period, half a period from now at the earliest. Failed ones are repeated soon.
            period, now = self._period_seconds, loop.time()
            periods = math.ceil((now - due) / period + 0.5)
            following = due + period * periods if renewed else now + period / 10
            heapq.heappush(self._due, (following, name))


def fault_of(content: bytes) -> str | None:
    """Return the text of the annotation that requests a fault, unless the Node is unreadable."""
    try:
        return decoded(content).metadata.annotations.get(FAULT, "")
    except msgspec.MsgspecError:
        return None
