"""Registration of device plugins, and their answers for the Device Manager.

A plugin registers on ``kubelet.sock`` and is called on its own socket. When its device list ends,
it has stopped; its resource disappears after the grace period. A new registration replaces the old
one. Kubelet: ``devicemanager/plugin/v1beta1`` and ``ManagerImpl``, v1.32.
"""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

import grpc
import grpc.aio

from numalet.agent.host.device_plugins import Deadlines, Endpoint, PluginUnusable
from numalet.agent.servers import unix_socket
from numalet.agent.telemetry.metrics import (
    ALLOCATION_BOUNDS,
    PLUGIN_ALLOCATIONS,
    PLUGIN_REGISTRATIONS,
    Counts,
)
from numalet.core.managers.device import inventory
from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.preference import (
    NO_SAY,
    AllocateAnswer,
    CallFailed,
    PreferenceQuestion,
    Preferred,
)
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable, Value, field
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages
from numalet.io.rpc import methods
from numalet.io.tasks import ended
from numalet.wording import kubelet_rpc

API_VERSION: Final = "v1beta1"
FOLDER: Final = "device-plugins"
SOCKET: Final = "kubelet.sock"
GRACE_SECONDS: Final = 300.0


class PluginListener(Protocol):
    """Receives events of plugins. Called in the event loop; must not block."""

    def plugin_registered(self, resource: str, socket: str) -> None:
        """A plugin registered or replaced the previous one of its resource."""

    def plugin_refused(self, resource: str, error: str) -> None:
        """A registration was refused with this error."""

    def plugin_reported(self, resource: str, devices: tuple[Device, ...]) -> None:
        """The plugin sent a new device list."""

    def plugin_stopped(self, resource: str) -> None:
        """The plugin ended; its devices cannot be allocated."""

    def plugin_expired(self, resource: str) -> None:
        """The grace period ended; the node no longer has the resource."""


class Settings(Value, kw_only=True):
    """Timeouts, and how long a resource outlives its plugin."""

    deadlines: Deadlines = Deadlines()
    grace_seconds: float = GRACE_SECONDS


class _Member(Mutable):
    endpoint: Endpoint | None = None
    watching: asyncio.Task[None] | None = None
    expiry: asyncio.TimerHandle | None = None


class DevicePlugins(Mutable):
    """All plugins of a node; implements ``PreferredDevices``.

    ``described`` are resources from the administrator, which need no plugin.
    """

    listener: PluginListener
    settings: Settings = field(default_factory=Settings)
    described: frozenset[str] = frozenset()
    _registrations: Counts = field(default_factory=Counts)
    _allocations: Counts = field(default_factory=Counts)
    _members: dict[str, _Member] = field(default_factory=dict)
    _server: grpc.aio.Server | None = None
    _folder: Path = Path()

    def counted(self) -> Counts:
        """Registrations and allocations for metrics."""
        return self._registrations.and_also([self._allocations])

    async def start(self, root: Path, known: Iterable[str] = ()) -> Path:
        """Listen below the root folder; return the socket's path.

        ``known`` are the resources in the checkpoint; their grace period starts now.
        """
        self._folder = root / FOLDER
        self._folder.mkdir(mode=0o750, exist_ok=True)
        # Plugins watch the folder: the removal makes them register again.
        for entry in self._folder.iterdir():
            if stat.S_ISSOCK(entry.lstat().st_mode):
                entry.unlink()
        for resource in known:
            self._expire_later(resource, self._members.setdefault(resource, _Member()))
        self._server = grpc.aio.server(options=methods.OPTIONS)
        registering = methods.services([(methods.REGISTER, self._register)])
        self._server.add_generic_rpc_handlers(registering)
        await unix_socket.serve(self._server, self._folder / SOCKET)
        return self._folder / SOCKET

    async def stop(self) -> None:
        """Disconnect all plugins; they register with the next agent."""
        if self._server is not None:
            await self._server.stop(0)
            (self._folder / SOCKET).unlink(missing_ok=True)
        for member in self._members.values():
            await _disconnect(member)

    def preferred(self, question: PreferenceQuestion) -> Preferred | CallFailed:
        """The devices that the plugin prefers. Blocks until a deadline."""
        if self._is_described(question.resource):
            return NO_SAY.preferred(question)
        if question.resource not in self._members:
            return CallFailed(kubelet_rpc.endpoint_missing(question.resource))
        endpoint = self._endpoint(question.resource)
        # A plugin known only from the checkpoint has not reported whether it has preferences.
        return Preferred() if endpoint is None else endpoint.preferred(question)

    def allocate(
        self, container: ContainerKey, resource: str, device_ids: tuple[str, ...]
    ) -> AllocateAnswer:
        """Call ``Allocate``. Blocks until a deadline."""
        if self._is_described(resource):
            return NO_SAY.allocate(container, resource, device_ids)
        endpoint = self._endpoint(resource)
        if endpoint is None:
            return CallFailed(kubelet_rpc.endpoint_stopped(resource))
        began = time.monotonic()
        try:
            return endpoint.allocate(device_ids)
        finally:
            self._allocations = self._allocations.observed(
                PLUGIN_ALLOCATIONS,
                ALLOCATION_BOUNDS,
                time.monotonic() - began,
                (("resource_name", resource),),
            )

    def asks_before_start(self, resource: str) -> bool:
        """Whether the plugin requires ``PreStartContainer``."""
        endpoint = None if self._is_described(resource) else self._endpoint(resource)
        return endpoint is not None and endpoint.wants_pre_start

    async def pre_start(self, resource: str, device_ids: Iterable[str]) -> CallFailed | None:
        """Call ``PreStartContainer`` if the plugin requires it."""
        if self._is_described(resource):
            return None
        endpoint = self._endpoint(resource)
        if endpoint is None:
            return CallFailed(kubelet_rpc.endpoint_missing(resource))
        return await endpoint.pre_start(device_ids) if endpoint.wants_pre_start else None

    async def connect(self, resource: str, socket: Path) -> Endpoint:
        """Connect a plugin and replace the previous one. Raises ``PluginUnusable``."""
        endpoint = Endpoint(resource, socket, self.settings.deadlines)
        await endpoint.open()
        # The first device list may arrive immediately.
        self.listener.plugin_registered(resource, str(socket))
        await self._replace(endpoint)
        return endpoint

    async def disconnect(self, endpoint: Endpoint) -> None:
        """Disconnect a plugin, unless it was replaced or has ended."""
        member = self._members.get(endpoint.resource)
        if member is None or member.endpoint is not endpoint or endpoint.stopped:
            return
        await _disconnect(member)
        self.listener.plugin_stopped(endpoint.resource)
        self._expire_later(endpoint.resource, member)

    async def _register(
        self, request: messages.RegisterRequest, call: grpc.aio.ServicerContext[object, object]
    ) -> messages.Empty:
        labels = (("resource_name", request.resource_name),)
        self._registrations = self._registrations.plus(PLUGIN_REGISTRATIONS, labels)
        complaint = _complaint(request)
        if complaint:
            self.listener.plugin_refused(request.resource_name, complaint)
            await call.abort(grpc.StatusCode.UNKNOWN, complaint)
        try:
            await self.connect(request.resource_name, self._folder / request.endpoint)
        except PluginUnusable as unusable:
            self.listener.plugin_refused(request.resource_name, str(unusable))
            await call.abort(grpc.StatusCode.UNKNOWN, str(unusable))
        return messages.Empty()

    async def _replace(self, endpoint: Endpoint) -> None:
        """Replace the endpoint; ignore the list of the previous one."""
        member = self._members.setdefault(endpoint.resource, _Member())
        before = _Member(member.endpoint, member.watching, member.expiry)
        member.endpoint, member.expiry = endpoint, None
        member.watching = asyncio.create_task(self._watch(endpoint, member))
        # The cancelled task does not report ``plugin_stopped``: the resource has a plugin.
        await _disconnect(before)

    async def _watch(self, endpoint: Endpoint, member: _Member) -> None:
        async for devices in endpoint.device_lists():
            self.listener.plugin_reported(endpoint.resource, devices)
        await endpoint.close()
        self.listener.plugin_stopped(endpoint.resource)
        self._expire_later(endpoint.resource, member)

    def _expire_later(self, resource: str, member: _Member) -> None:
        loop = asyncio.get_running_loop()
        member.expiry = loop.call_later(self.settings.grace_seconds, self._expire, resource)

    def _expire(self, resource: str) -> None:
        del self._members[resource]
        self.listener.plugin_expired(resource)

    def _is_described(self, resource: str) -> bool:
        return resource in self.described and resource not in self._members

    def _endpoint(self, resource: str) -> Endpoint | None:
        member = self._members.get(resource)
        return None if member is None else member.endpoint


def _complaint(request: messages.RegisterRequest) -> str:
    """The reason to refuse a registration; empty to accept it."""
    if request.version != API_VERSION:
        return kubelet_rpc.unsupported_version(request.version)
    if not inventory.is_extended_resource(request.resource_name):
        return kubelet_rpc.invalid_resource(request.resource_name)
    # A path would let a plugin redirect the agent to a socket elsewhere.
    if Path(request.endpoint).name != request.endpoint or request.endpoint in ("", ".", ".."):
        return kubelet_rpc.invalid_endpoint(request.endpoint)
    return ""


async def _disconnect(member: _Member) -> None:
    if member.expiry is not None:
        member.expiry.cancel()
    if member.watching is not None:
        await ended(member.watching)
    if member.endpoint is not None:
        await member.endpoint.close()
