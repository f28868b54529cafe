"""A sample device plugin, for tests and demonstrations.

It sets allocated device ids in an environment variable. Control lines: ``unhealthy ID``, ``healthy
ID``, ``remove ID``, ``add ID@NODES``.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, Final

import grpc
import grpc.aio

from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.value import Mutable, field, replace
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages
from numalet.io.rpc import methods

_NODE_SOCKET: Final = "kubelet.sock"
_API_VERSION: Final = "v1beta1"
_POLL_SECONDS: Final = 0.5


def environment_name(resource: str) -> str:
    """The variable for device ids: ``EXAMPLE_COM_GPU`` for example.com/gpu."""
    return re.sub(r"[^A-Za-z0-9]", "_", resource).upper()


class SamplePlugin(Mutable):
    """``report`` receives log lines."""

    folder: Path
    resource: str
    devices: dict[str, Device]
    report: Callable[[str], None] = lambda line: None
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _changes: int = 0

    @property
    def socket(self) -> Path:
        """Unique per resource, so that several plugins can run."""
        return self.folder / f"sample-{environment_name(self.resource).lower()}.sock"

    async def run(self) -> None:
        """Serve and stay registered until cancelled."""
        registered: tuple[int, int] | None = None
        while True:
            server = await self._serve()
            own = _identity(self.socket)
            try:
                # The node removes all sockets when it starts, so then serve and register again.
                while self.socket.exists():
                    now = _identity(self.folder / _NODE_SOCKET)
                    if now is not None and now != registered and await self._register():
                        registered = now
                    await asyncio.sleep(_POLL_SECONDS)
            finally:
                await server.stop(0)
                # During an update, the next instance may already use this name.
                if _identity(self.socket) == own:
                    self.socket.unlink(missing_ok=True)
            registered = None

    async def obey(self, line: str) -> None:
        """Execute a control line. Raises ``ValueError``."""
        match line.split():
            case ["unhealthy", name] if name in self.devices:
                self.devices[name] = replace(self.devices[name], health=Health.UNHEALTHY)
            case ["healthy", name] if name in self.devices:
                self.devices[name] = replace(self.devices[name], health=Health.HEALTHY)
            case ["remove", name] if name in self.devices:
                del self.devices[name]
            case ["add", text]:
                device = parse_device(text)
                self.devices[device.device_id] = device
            case _:
                raise ValueError(line)
        async with self._changed:
            self._changes += 1
            self._changed.notify_all()

    async def _serve(self) -> grpc.aio.Server:
        server = grpc.aio.server(options=methods.OPTIONS)
        unary = methods.services(
            [
                (methods.PLUGIN_OPTIONS, self._options),
                (methods.PREFERRED, self._preferred),
                (methods.ALLOCATE, self._allocate),
                (methods.PRE_START, self._pre_start),
            ]
        )
        watch = grpc.unary_stream_rpc_method_handler(
            self._list_and_watch,
            request_deserializer=messages.Empty.FromString,
            response_serializer=messages.ListAndWatchResponse.SerializeToString,
        )
        streaming = {methods.LIST_AND_WATCH.name: watch}
        server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(methods.LIST_AND_WATCH.service, streaming),
                *unary,
            )
        )
        # gRPC removes the path that it bound when it stops; the public name must survive.
        fresh = self.socket.with_name(f".{self.socket.name}.{os.getpid()}")
        server.add_insecure_port(f"unix:{fresh}")
        await server.start()
        fresh.rename(self.socket)
        return server

    async def _register(self) -> bool:
        target = f"unix:{self.folder / _NODE_SOCKET}"
        request = messages.RegisterRequest(
            version=_API_VERSION, endpoint=self.socket.name, resource_name=self.resource
        )
        async with grpc.aio.insecure_channel(target, options=methods.OPTIONS) as channel:
            try:
                await methods.REGISTER.call_async(channel)(request, timeout=15)
            except grpc.aio.AioRpcError as error:
                self.report(f"not registered: {error.details()}")
                return False
        self.report(f"registered {self.resource}")
        return True

    async def _options(self, _request: object, _call: object) -> messages.DevicePluginOptions:
        return messages.DevicePluginOptions(get_preferred_allocation_available=True)

    async def _list_and_watch(
        self, _request: object, _call: object
    ) -> AsyncIterator[messages.ListAndWatchResponse]:
        sent: int | None = None
        while True:
            async with self._changed:
                # Devices may have changed while the previous list was sent.
                while sent == self._changes:
                    await self._changed.wait()
                sent = self._changes
                listed = messages.ListAndWatchResponse(devices=map(_sent, self.devices.values()))
            yield listed

    async def _preferred(
        self, request: messages.PreferredAllocationRequest, _call: object
    ) -> messages.PreferredAllocationResponse:
        """Prefer the lowest ids after the mandatory ones."""
        answer = messages.PreferredAllocationResponse()
        for asked in request.container_requests:
            must = list(asked.must_include_deviceIDs)
            others = sorted(set(asked.available_deviceIDs) - set(must))
            chosen = [*must, *others][: asked.allocation_size]
            answer.container_responses.add(deviceIDs=chosen)
        return answer

    async def _allocate(
        self, request: messages.AllocateRequest, _call: object
    ) -> messages.AllocateResponse:
        answer = messages.AllocateResponse()
        for asked in request.container_requests:
            names = ",".join(sorted(asked.devices_ids))
            self.report(f"allocated {names}")
            answer.container_responses.add(envs={environment_name(self.resource): names})
        return answer

    async def _pre_start(self, _request: object, _call: object) -> Any:
        return messages.PreStartContainerResponse()


def parse_device(text: str) -> Device:
    """Parse ``ID``, ``ID@NODE`` or ``ID@NODE+NODE``. Raises ``ValueError``."""
    name, _, nodes = text.partition("@")
    if not name:
        raise ValueError(text)
    return Device(name, tuple(int(node) for node in nodes.split("+")) if nodes else ())


def by_id(devices: Iterable[Device]) -> dict[str, Device]:
    return {device.device_id: device for device in devices}


def _sent(device: Device) -> messages.Device:
    nodes = [messages.NUMANode(ID=node) for node in device.numa_nodes]
    topology = messages.TopologyInfo(nodes=nodes) if nodes else None
    return messages.Device(ID=device.device_id, health=device.health.value, topology=topology)


def _identity(path: Path) -> tuple[int, int] | None:
    """Identity of the file, if it exists; a new socket has another one."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_ctime_ns
