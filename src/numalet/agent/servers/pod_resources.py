"""The kubelet's PodResources API on a Unix socket, v1 and v1alpha1.

Each response shows one moment and is cached until a change. In exact mode ``List`` includes
rejected and finished pods in v1.32 and only active ones in later releases; in native mode, pods
with allocations. Both versions share one rate limit.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias

import grpc
import grpc.aio

from numalet.agent.servers import unix_socket
from numalet.agent.servers.door import AgentView
from numalet.agent.servers.endpoints import PodResourcesSettings
from numalet.agent.telemetry.metrics import (
    POD_RESOURCES_ALLOCATABLE,
    POD_RESOURCES_GET_ERRORS,
    POD_RESOURCES_GETS,
    POD_RESOURCES_LISTS,
    POD_RESOURCES_REQUESTS,
    Counts,
)
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.core.workload.records import PodRecord
from numalet.io.rpc import methods
from numalet.io.rpc import pod_resources_v1_pb2 as v1
from numalet.io.rpc import pod_resources_v1alpha1_pb2 as v1alpha1
from numalet.io.rpc.methods import A
from numalet.shared.kubernetes import pod_resources
from numalet.shared.kubernetes.pod_resources import (
    ContainerEntry,
    PodEntry,
    PodResourcesDevice,
)
from numalet.wording import kubelet_rpc

BURST: Final = 10
FOLDER: Final = "pod-resources"
SOCKET: Final = "kubelet.sock"
_Call: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"


@dataclass(slots=True)
class TokenBucket:
    """Adds ``per_second`` tokens each second up to ``burst``; starts full."""

    per_second: float
    burst: int
    clock: Callable[[], float] = time.monotonic
    _tokens: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._tokens, self._at = float(self.burst), self.clock()

    def acquire(self) -> bool:
        """Use a token; False if the bucket is empty."""
        now = self.clock()
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_second)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class PodResourcesServer:
    def __init__(self, view: Callable[[], AgentView], settings: PodResourcesSettings) -> None:
        self.counts = Counts()
        self._view = view
        self._settings = settings
        self._server: grpc.aio.Server | None = None
        self._socket: Path | None = None
        self._lists = _Latest(_list_of)
        self._old_lists = _Latest(_old_list_of)
        self._has = _Latest(_allocatable_of)

    async def start(self, root: Path) -> Path:
        """Listen below the root folder; return the socket's path. Replaces an old socket."""
        folder = root / FOLDER
        folder.mkdir(mode=0o750, exist_ok=True)
        per_second = self._settings.requests_per_second
        limits = [] if per_second is None else [_Limit(TokenBucket(per_second, BURST))]
        self._server = grpc.aio.server(interceptors=limits, options=methods.OPTIONS)
        self._server.add_generic_rpc_handlers(methods.services(self._handlers()))
        self._socket = folder / SOCKET
        await unix_socket.serve(self._server, self._socket)
        return self._socket

    async def stop(self, grace_seconds: float = 1.0) -> None:
        """Finish running calls, then close."""
        if self._server is not None and self._socket is not None:
            await self._server.stop(grace_seconds)
            self._socket.unlink(missing_ok=True)

    def _handlers(self) -> Iterable[tuple[methods.Method[Any, Any], methods.Handler]]:
        yield methods.LIST, self._list
        yield methods.GET_ALLOCATABLE, self._get_allocatable
        yield methods.GET, self._get
        yield methods.OLD_LIST, self._old_list

    async def _list(self, _request: object, _call: object) -> v1.ListPodResourcesResponse:
        self._count("v1", POD_RESOURCES_LISTS)
        return self._lists.of(self._view())

    async def _get_allocatable(
        self, _request: object, _call: object
    ) -> v1.AllocatableResourcesResponse:
        self._count("v1", POD_RESOURCES_ALLOCATABLE)
        return self._has.of(self._view())

    async def _get(
        self, request: v1.GetPodResourcesRequest, call: _Call
    ) -> v1.GetPodResourcesResponse:
        self._count("v1")
        if not self._settings.get_is_enabled:
            await call.abort(grpc.StatusCode.UNKNOWN, kubelet_rpc.POD_RESOURCES_GET_DISABLED)
        self._count("v1", POD_RESOURCES_GETS, total=False)
        view = self._view()
        asked = (request.pod_namespace, request.pod_name)
        pod = next((p for p in _known(view) if (p.namespace, p.name) == asked), None)
        if pod is None:
            self._count("v1", POD_RESOURCES_GET_ERRORS, total=False)
            text = kubelet_rpc.pod_resources_not_found(request.pod_name, request.pod_namespace)
            await call.abort(grpc.StatusCode.UNKNOWN, text)
        entry = pod_resources.pod_entry(view.node, pod)
        return v1.GetPodResourcesResponse(pod_resources=_pod(entry))

    async def _old_list(self, _request: object, _call: object) -> v1alpha1.ListPodResourcesResponse:
        self._count("v1alpha1")
        return self._old_lists.of(self._view())

    def _count(self, version: str, name: str | None = None, *, total: bool = True) -> None:
        labels = (("server_api_version", version),)
        if total:
            self.counts = self.counts.plus(POD_RESOURCES_REQUESTS, labels)
        if name is not None:
            self.counts = self.counts.plus(name, labels)


class _Limit(grpc.aio.ServerInterceptor):
    """Refuses calls while the bucket is empty; unknown methods use no token."""

    def __init__(self, bucket: TokenBucket) -> None:
        self._bucket = bucket

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[Any, Any] | None]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        # As in Go, where interceptors run for registered methods only.
        handler = await continuation(handler_call_details)
        return handler if handler is None or self._bucket.acquire() else _REFUSING


async def _refuse(_request: object, call: _Call) -> None:
    await call.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, kubelet_rpc.RATE_LIMITED)


_REFUSING: Final[grpc.RpcMethodHandler[Any, Any]] = grpc.unary_unary_rpc_method_handler(_refuse)


class _Latest(Generic[A]):
    """Caches the response of the latest view, which depends only on node and records."""

    def __init__(self, make: Callable[[AgentView], A]) -> None:
        self._make = make
        self._kept: tuple[Node, Mapping[str, PodRecord], A] | None = None

    def of(self, view: AgentView) -> A:
        """Return the response for this view; callers must not change it."""
        kept = self._kept
        if kept is None or kept[0] is not view.node or kept[1] is not view.records:
            kept = (view.node, view.records, self._make(view))
            self._kept = kept
        return kept[2]


def _list_of(view: AgentView) -> v1.ListPodResourcesResponse:
    entries = pod_resources.pods(view.node, listed(view))
    return v1.ListPodResourcesResponse(pod_resources=map(_pod, entries))


def _old_list_of(view: AgentView) -> v1alpha1.ListPodResourcesResponse:
    listed = pod_resources.pods(view.node, _known(view))
    return v1alpha1.ListPodResourcesResponse(pod_resources=map(_old_pod, listed))


def _allocatable_of(view: AgentView) -> v1.AllocatableResourcesResponse:
    has = pod_resources.allocatable(view.node)
    return v1.AllocatableResourcesResponse(
        devices=map(_device, has.devices), cpu_ids=has.cpus, memory=map(_memory, has.memory)
    )


def listed(view: AgentView) -> list[Pod]:
    """Pods for ``List``."""
    return _active(view) if pod_resources.lists_active_pods_alone(view.node) else _known(view)


def _known(view: AgentView) -> list[Pod]:
    """Pods for ``Get`` and for v1alpha1."""
    if view.node.rules.behaviour.release_at_once:
        return _active(view)
    return [record.workload.pod for record in view.records.values()]


def _active(view: AgentView) -> list[Pod]:
    pods = (record.workload.pod for record in view.records.values())
    return [pod for pod in pods if pod.uid in view.node.snapshot.pods]


def _pod(entry: PodEntry) -> v1.PodResources:
    return v1.PodResources(
        name=entry.name,
        namespace=entry.namespace,
        containers=map(_container, entry.containers),
        cpu_ids=entry.cpus,
        memory=map(_memory, entry.memory),
    )


def _container(entry: ContainerEntry) -> v1.ContainerResources:
    return v1.ContainerResources(
        name=entry.name,
        devices=map(_device, entry.devices),
        cpu_ids=entry.cpus,
        memory=map(_memory, entry.memory),
    )


def _device(entry: PodResourcesDevice) -> v1.ContainerDevices:
    nodes = None if entry.node_id is None else _topology((entry.node_id,))
    return v1.ContainerDevices(
        resource_name=entry.resource, device_ids=[entry.device_id], topology=nodes
    )


def _memory(block: MemoryBlock) -> v1.ContainerMemory:
    return v1.ContainerMemory(
        memory_type=block.resource, size=block.size_bytes, topology=_topology(block.nodes)
    )


def _topology(node_ids: Iterable[int]) -> v1.TopologyInfo:
    return v1.TopologyInfo(nodes=[v1.NUMANode(ID=node_id) for node_id in node_ids])


def _old_pod(entry: PodEntry) -> v1alpha1.PodResources:
    # v1alpha1 of the kubelet has no sidecars.
    apps = [each for each in entry.containers if each.name in entry.app_containers]
    return v1alpha1.PodResources(
        name=entry.name,
        namespace=entry.namespace,
        containers=[
            v1alpha1.ContainerResources(
                name=each.name,
                devices=[
                    v1alpha1.ContainerDevices(
                        resource_name=device.resource, device_ids=[device.device_id]
                    )
                    for device in each.devices
                ],
            )
            for each in apps
        ],
    )
