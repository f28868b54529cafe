"""Registers plugins that only listen on a socket below ``plugins_registry``.

The agent calls ``GetInfo`` on a new socket, connects a device plugin and sends it the result. A
removed socket disconnects it; failures are retried with growing delays. Kubelet: ``pluginmanager``,
v1.32, which uses inotify; this folder is polled once a second.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import grpc
import grpc.aio

from numalet.agent.host.device_plugins import Deadlines, Endpoint, PluginUnusable
from numalet.agent.servers.device_plugins import API_VERSION, DevicePlugins
from numalet.core.managers.device import inventory
from numalet.core.model.value import Mutable, field
from numalet.io.rpc import methods
from numalet.io.rpc import plugin_registration_v1_pb2 as messages
from numalet.io.tasks import ended
from numalet.wording import kubelet_rpc

FOLDER: Final = "plugins_registry"
TYPE: Final = "DevicePlugin"
POLL_SECONDS: Final = 1.0
_INFO_SECONDS: Final = 1.0
_NOTIFY_SECONDS: Final = 5.0
_FIRST_PAUSE_SECONDS: Final = 0.5
_LONGEST_PAUSE_SECONDS: Final = 122.0


class _Refused(Exception):  # noqa: N818 - it is an answer
    """The plugin is refused; the text is the kubelet's."""


class _RegisteredSocket(Mutable):
    """A socket, identified by its inode, with its retry state."""

    identity: tuple[int, int]
    pause_seconds: float = _FIRST_PAUSE_SECONDS
    try_at: float = 0.0
    asking: asyncio.Task[None] | None = None
    endpoint: Endpoint | None = None


class PluginFolder(Mutable):
    plugins: DevicePlugins
    deadlines: Deadlines = field(default_factory=Deadlines)
    poll_seconds: float = POLL_SECONDS
    _sockets_by_path: dict[Path, _RegisteredSocket] = field(default_factory=dict)
    _scanning: asyncio.Task[None] | None = None

    def start(self, root: Path) -> Path:
        """Start polling; return the folder."""
        folder = root / FOLDER
        folder.mkdir(mode=0o750, exist_ok=True)
        self._scanning = asyncio.create_task(self._scan_forever(folder))
        return folder

    async def stop(self) -> None:
        """Stop scanning; connected plugins stay connected."""
        if self._scanning is None:
            return
        asking = [
            known.asking for known in self._sockets_by_path.values() if known.asking is not None
        ]
        await ended(self._scanning, *asking)

    async def _scan_forever(self, folder: Path) -> None:
        while True:
            await self._scan(dict(_sockets(folder)))
            await asyncio.sleep(self.poll_seconds)

    async def _scan(self, there: dict[Path, tuple[int, int]]) -> None:
        for path, known in [*self._sockets_by_path.items()]:
            if there.get(path) != known.identity:
                del self._sockets_by_path[path]
                await self._unregister(known)
        now = asyncio.get_running_loop().time()
        for path, identity in there.items():
            known = self._sockets_by_path.setdefault(path, _RegisteredSocket(identity))
            is_due = known.endpoint is None and known.try_at <= now
            if is_due and (known.asking is None or known.asking.done()):
                # A task per socket: one that hangs must not delay the others.
                known.asking = asyncio.create_task(self._ask(path, known))

    async def _unregister(self, known: _RegisteredSocket) -> None:
        if known.asking is not None:
            await ended(known.asking)
        if known.endpoint is not None:
            await self.plugins.disconnect(known.endpoint)

    async def _ask(self, path: Path, known: _RegisteredSocket) -> None:
        """Connect the plugin, or schedule a retry."""
        # Without a local pool, gRPC would reuse a connection to the socket's previous owner.
        options = (*methods.OPTIONS, ("grpc.use_local_subchannel_pool", 1))
        async with grpc.aio.insecure_channel(f"unix:{path}", options=options) as channel:
            with suppress(TimeoutError, grpc.RpcError):
                async with asyncio.timeout(self.deadlines.connect_seconds):
                    await channel.channel_ready()
                info = await methods.GET_INFO.call_async(channel)(
                    messages.InfoRequest(), timeout=_INFO_SECONDS
                )
                refused = ""
                try:
                    known.endpoint = await self._connected(path, info)
                except _Refused as why:
                    # A refusal is sent to the plugin as well, so keep the connection open.
                    refused = str(why)
                    self.plugins.listener.plugin_refused(info.name, refused)
                status = messages.RegistrationStatus(plugin_registered=not refused, error=refused)
                await methods.NOTIFY.call_async(channel)(status, timeout=_NOTIFY_SECONDS)
        if known.endpoint is None:
            known.try_at = asyncio.get_running_loop().time() + known.pause_seconds
            known.pause_seconds = min(2 * known.pause_seconds, _LONGEST_PAUSE_SECONDS)

    async def _connected(self, path: Path, info: messages.PluginInfo) -> Endpoint:
        if info.type != TYPE:
            raise _Refused(kubelet_rpc.no_handler(info.type, str(path)))
        if API_VERSION not in info.supported_versions:
            raise _Refused(kubelet_rpc.no_common_version(info.supported_versions))
        if not inventory.is_extended_resource(info.name):
            raise _Refused(kubelet_rpc.invalid_plugin_name(info.name))
        try:
            return await self.plugins.connect(info.name, Path(info.endpoint or path))
        except PluginUnusable as unusable:
            raise _Refused(kubelet_rpc.registration_failed(str(unusable))) from None


def _sockets(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    """Yield sockets below the folder, without hidden files and folders."""
    for at, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(at, name)
            # The file may disappear during the walk.
            with suppress(OSError):
                status = path.lstat()
                if stat.S_ISSOCK(status.st_mode) and not name.startswith("."):
                    yield path, (status.st_ino, status.st_ctime_ns)
