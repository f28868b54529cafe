"""Plugins that answer as a test wants them to, and a listener that remembers what it was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from numalet.agent.host.device_plugins import Deadlines
from numalet.agent.servers.device_plugins import DevicePlugins, Settings
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.pod import ContainerKey
from numalet.io.rpc import device_plugin_v1beta1_pb2 as messages
from numalet.io.rpc import methods
from numalet.io.rpc import plugin_registration_v1_pb2 as registration

GPU = "example.com/gpu"
KEY = ContainerKey("u", "c")
PATIENT = Deadlines(connect_seconds=100.0, call_seconds=100.0)
"""A test shortens what it wants to see missed, since what answers is slow on a busy machine."""
_USUAL = Settings(deadlines=PATIENT)


@dataclass
class Heard:
    """What the listener was told, in order; a test waits until something is in it."""

    told: list[tuple[str, str, tuple[str, ...]]] = field(default_factory=list)
    registered: list[tuple[str, str]] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def plugin_registered(self, resource: str, socket: str) -> None:
        self.registered.append((resource, Path(socket).name))

    def plugin_refused(self, resource: str, error: str) -> None:
        self.refused.append((resource, error))

    def plugin_reported(self, resource: str, devices: tuple[Device, ...]) -> None:
        shown = tuple(
            f"{each.device_id}{'' if each.health is Health.HEALTHY else '!'}" for each in devices
        )
        self._add("reported", resource, shown)

    def plugin_stopped(self, resource: str) -> None:
        self._add("stopped", resource, ())

    def plugin_expired(self, resource: str) -> None:
        self._add("expired", resource, ())

    def _add(self, what: str, resource: str, ids: tuple[str, ...]) -> None:
        self.told.append((what, resource, ids))
        self.changed.set()

    async def until(self, what: str, ids: Sequence[str] = (), times: int = 1) -> None:
        """Return when this was told so often."""
        wanted = (what, tuple(ids))
        async with asyncio.timeout(120):
            while [(t[0], t[2]) for t in self.told].count(wanted) < times:
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def registry(
    root: Path, settings: Settings = _USUAL, known: Sequence[str] = ()
) -> AsyncIterator[tuple[DevicePlugins, Heard]]:
    heard = Heard()
    plugins = DevicePlugins(heard, settings)
    await plugins.start(root, known)
    try:
        yield plugins, heard
    finally:
        await plugins.stop()


@dataclass
class Liar:
    """A plugin that answers as a test wants it to."""

    root: Path
    name: str = "liar"
    options: Callable[[], Awaitable[messages.DevicePluginOptions]] | None = None
    allocation: Callable[[], Awaitable[messages.AllocateResponse]] | None = None
    starting: Callable[[], Awaitable[messages.PreStartContainerResponse]] | None = None
    preference: Callable[[], Awaitable[messages.PreferredAllocationResponse]] | None = None
    socket: str = ""
    folder: str = "device-plugins"
    info: registration.PluginInfo | None = None
    told: list[tuple[bool, str]] = field(default_factory=list)
    allocated: int = 0
    more_lists: int = 0
    server: grpc.aio.Server | None = None

    async def start(self) -> None:
        self.server = grpc.aio.server()
        handlers: list[tuple[methods.Method[Any, Any], methods.Handler]] = [
            (methods.PLUGIN_OPTIONS, self._options),
            (methods.ALLOCATE, self._allocate),
            (methods.PREFERRED, self._prefer),
            (methods.PRE_START, self._pre_start),
            (methods.GET_INFO, self._get_info),
            (methods.NOTIFY, self._notify),
        ]
        watch = grpc.unary_stream_rpc_method_handler(
            self._watch,
            request_deserializer=messages.Empty.FromString,
            response_serializer=messages.ListAndWatchResponse.SerializeToString,
        )
        self.server.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler(
                    "v1beta1.DevicePlugin", {"ListAndWatch": watch}
                ),
                *methods.services(handlers),
            )
        )
        name = self.socket or self.name
        self.server.add_insecure_port(f"unix:{self.root}/{self.folder}/{name}.sock")
        await self.server.start()

    async def stop(self) -> None:
        assert self.server is not None
        await self.server.stop(0)

    async def register(self, **changes: str) -> None:
        asked = {"version": "v1beta1", "endpoint": f"{self.socket or self.name}.sock"}
        asked["resource_name"] = GPU
        request = messages.RegisterRequest()
        for name, text in {**asked, **changes}.items():
            setattr(request, name, text)
        target = f"unix:{self.root}/device-plugins/kubelet.sock"
        async with grpc.aio.insecure_channel(target, options=methods.OPTIONS) as channel:
            await methods.REGISTER.call_async(channel)(request, timeout=120)

    async def _options(self, _request: object, _call: object) -> messages.DevicePluginOptions:
        if self.options is not None:
            return await self.options()
        return messages.DevicePluginOptions(
            get_preferred_allocation_available=True, pre_start_required=True
        )

    async def _watch(
        self, _request: object, _call: object
    ) -> AsyncIterator[messages.ListAndWatchResponse]:
        named = messages.Device(ID=self.name, health="Healthy")
        yield messages.ListAndWatchResponse(devices=[named])
        for number in range(self.more_lists):
            numbered = messages.Device(ID=str(number), health="Healthy")
            yield messages.ListAndWatchResponse(devices=[named, numbered])
        await asyncio.Event().wait()

    async def _allocate(self, _request: object, _call: object) -> messages.AllocateResponse:
        self.allocated += 1
        if self.allocation is not None:
            return await self.allocation()
        return messages.AllocateResponse(container_responses=[{}])

    async def _prefer(
        self, _request: object, _call: object
    ) -> messages.PreferredAllocationResponse:
        if self.preference is not None:
            return await self.preference()
        return messages.PreferredAllocationResponse()

    async def _pre_start(self, _request: object, call: Any) -> messages.PreStartContainerResponse:
        if self.starting is not None:
            return await self.starting()
        await call.abort(grpc.StatusCode.INTERNAL, "device is on fire")
        raise AssertionError

    async def _get_info(self, _request: object, _call: object) -> registration.PluginInfo:
        return self.info or registration.PluginInfo()

    async def _notify(
        self, status: registration.RegistrationStatus, _call: object
    ) -> registration.RegistrationStatusResponse:
        self.told.append((status.plugin_registered, status.error))
        return registration.RegistrationStatusResponse()
