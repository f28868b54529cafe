"""The agent's gRPC servers: registration of device plugins, and PodResources."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from numalet.agent.controller.plugins import FromPlugins, Relay
from numalet.agent.servers.device_plugins import DevicePlugins
from numalet.agent.servers.door import Door
from numalet.agent.servers.endpoints import PodResourcesSettings
from numalet.agent.servers.plugin_folder import PluginFolder
from numalet.agent.servers.pod_resources import PodResourcesServer
from numalet.agent.telemetry.metrics import Counts
from numalet.core.model.value import Mutable, field


class PluginServers(Mutable):
    """Created before the controller, because decisions call plugins."""

    plugins: DevicePlugins
    relay: Relay
    asking: PodResourcesSettings = field(default_factory=PodResourcesSettings)
    _pod_resources: PodResourcesServer | None = None

    @property
    def devices(self) -> FromPlugins:
        return FromPlugins(self.plugins)

    def counted(self) -> Counts:
        """Counters of both servers."""
        others = [] if self._pod_resources is None else [self._pod_resources.counts]
        return self.plugins.counted().and_also(others)

    @asynccontextmanager
    async def served(self, door: Door, root: Path) -> AsyncIterator[None]:
        """Listen below the root folder during the block. Raises ``BadInput``."""
        registered = door.view().node.snapshot.device.inventory.registered
        server = PodResourcesServer(door.view, self.asking)
        await self.plugins.start(root, sorted(registered.keys() - self.plugins.described))
        folder = PluginFolder(self.plugins)
        try:
            folder.start(root)
            await server.start(root)
            self._pod_resources = server
            yield
        finally:
            await folder.stop()
            await server.stop()
            await self.plugins.stop()


def make_plugin_servers(described: Iterable[str], asking: PodResourcesSettings) -> PluginServers:
    """Create the servers; ``described`` are the administrator's resources."""
    relay = Relay()
    plugins = DevicePlugins(relay, described=frozenset(described))
    return PluginServers(plugins, relay, asking)
