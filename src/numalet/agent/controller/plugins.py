"""Device plugins: their gRPC servers, and what the controller gets from them.

Registrations, device lists and injections reach the controller; the PodResources server runs next
to them. Programs run on the host, so a plugin's environment is passed on. A device node or mount
must have the same path in the container and on the host; otherwise the start is refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import (
    PluginExpired,
    PluginNews,
    PluginReported,
    PluginStopped,
)
from numalet.agent.host import device_plugins
from numalet.agent.host.runtime.port import NotStarted
from numalet.agent.servers.device_plugins import DevicePlugins
from numalet.agent.servers.door import Door
from numalet.agent.servers.endpoints import PodResourcesSettings
from numalet.agent.servers.plugin_folder import PluginFolder
from numalet.agent.servers.pod_resources import PodResourcesServer
from numalet.agent.telemetry.metrics import Counts
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.managers.device.ledger import DeviceRecord
from numalet.core.managers.device.preference import CallFailed
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable, Value, field
from numalet.shared.findings.runtime import RuntimePluginMount, RuntimePluginRefused
from numalet.wording.log_line import LogLine


class Relay(Mutable):
    """Forwards events of plugins to a controller and to the log."""

    enqueue: Callable[[PluginNews], None] = field(default=lambda news: None)
    log: Callable[[LogLine], None] = field(default=lambda line: None)
    _counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def plugin_registered(self, resource: str, socket: str) -> None:
        self._counts.pop(resource, None)
        self.log(LogLine("Device plugin registered", {"resourceName": resource, "socket": socket}))

    def plugin_refused(self, resource: str, error: str) -> None:
        keys = {"resourceName": resource, "err": error}
        self.log(LogLine("Registration of a device plugin refused", keys, is_error=True))

    def plugin_reported(self, resource: str, devices: tuple[Device, ...]) -> None:
        counts = len(devices), sum(each.health is Health.HEALTHY for each in devices)
        # A plugin may resend an equal list often; log differences only.
        if self._counts.get(resource) != counts:
            self._counts[resource] = counts
            keys = {"resourceName": resource, "totalCount": counts[0], "healthyCount": counts[1]}
            self.log(LogLine("Processed device updates for resource", keys, level=2))
        self.enqueue(PluginReported(resource, devices))

    def plugin_stopped(self, resource: str) -> None:
        self._counts.pop(resource, None)
        message = "Device plugin stopped; its devices are not given out"
        self.log(LogLine(message, {"resourceName": resource}, is_error=True))
        self.enqueue(PluginStopped(resource))

    def plugin_expired(self, resource: str) -> None:
        message = "Device plugin did not come back; the node has its resource no more"
        self.log(LogLine(message, {"resourceName": resource}, is_error=True))
        self.enqueue(PluginExpired(resource))


class FromPlugins(Value):
    """Device injection from plugins."""

    plugins: DevicePlugins

    def may_block(self, state: NodeState, key: ContainerKey) -> bool:
        """Whether a start calls a plugin, which must not delay other starts."""
        records = state.node.snapshot.device.records.get(key.pod_uid, {}).get(key.container, {})
        return any(map(self.plugins.asks_before_start, records))

    async def before_start(
        self, state: NodeState, key: ContainerKey
    ) -> Mapping[str, str] | NotStarted:
        """Call the plugins, then return the environment of a container."""
        records = state.node.snapshot.device.records.get(key.pod_uid, {}).get(key.container, {})
        for resource, record in sorted(records.items()):
            refused = await self.plugins.pre_start(resource, record.device_ids)
            if isinstance(refused, CallFailed):
                return NotStarted(RuntimePluginRefused(error=refused.error))
        return _environment(state, key, records)


def _environment(
    state: NodeState, key: ContainerKey, records: Mapping[str, DeviceRecord]
) -> Mapping[str, str] | NotStarted:
    given = device_plugins.merged_responses(
        record.response for _, record in sorted(records.items())
    )
    for path, host_path in sorted({**given.device_nodes, **given.mounts}.items()):
        if path != host_path:
            return NotStarted(RuntimePluginMount(path=path, host_path=host_path))
    own = dict(state.records[key.pod_uid].workload.container(key.container).env)
    # The pod's own variables win.
    return {name: text for name, text in given.environment.items() if name not in own}


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
        # Resources of the checkpoint have a grace period to register again; those that the
        # administrator described have no plugin.
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
