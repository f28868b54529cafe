"""Device plugins and the controller: what plugins do becomes facts, what they hand out is applied.

A program here is one of the host, with the host's files. So the environment that a plugin hands
out is given to it; a device node or a mount is there already if it has the same path on the
host, and can not be had under another one, which refuses the start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.requests import (
    PluginExpired,
    PluginNews,
    PluginReported,
    PluginStopped,
)
from numalet.agent.host import device_injection
from numalet.agent.host.runtime.port import NotStarted
from numalet.agent.servers.device_plugins import DevicePlugins
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.managers.device.ledger import DeviceRecord
from numalet.core.managers.device.preference import CallFailed
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Mutable, Value, field
from numalet.shared.findings.runtime import RuntimePluginMount, RuntimePluginRefused
from numalet.wording.log_line import LogLine


class Relay(Mutable):
    """Gives a controller, once there is one, facts about plugins, and writes them to the log."""

    enqueue: Callable[[PluginNews], None] = field(default=lambda news: None)
    log: Callable[[LogLine], None] = field(default=lambda line: None)
    _counts: dict[str, tuple[int, int]] = field(default_factory=dict)

    def plugin_registered(self, resource: str, socket: str) -> None:
        """The plugin is connected."""
        self._counts.pop(resource, None)
        self.log(LogLine("Device plugin registered", {"resourceName": resource, "socket": socket}))

    def plugin_refused(self, resource: str, error: str) -> None:
        """The plugin was not registered."""
        keys = {"resourceName": resource, "err": error}
        self.log(LogLine("Registration of a device plugin refused", keys, is_error=True))

    def plugin_reported(self, resource: str, devices: tuple[Device, ...]) -> None:
        """The plugin's devices are these now."""
        counts = len(devices), sum(each.health is Health.HEALTHY for each in devices)
        # A plugin may send its list as often as it likes; the log has what is different.
        if self._counts.get(resource) != counts:
            self._counts[resource] = counts
            keys = {"resourceName": resource, "totalCount": counts[0], "healthyCount": counts[1]}
            self.log(LogLine("Processed device updates for resource", keys, level=2))
        self.enqueue(PluginReported(resource, devices))

    def plugin_stopped(self, resource: str) -> None:
        """The plugin went."""
        self._counts.pop(resource, None)
        message = "Device plugin stopped; its devices are not given out"
        self.log(LogLine(message, {"resourceName": resource}, is_error=True))
        self.enqueue(PluginStopped(resource))

    def plugin_expired(self, resource: str) -> None:
        """The plugin went long ago."""
        message = "Device plugin did not come back; the node has its resource no more"
        self.log(LogLine(message, {"resourceName": resource}, is_error=True))
        self.enqueue(PluginExpired(resource))


class FromPlugins(Value):
    """What containers are started with because of their devices."""

    plugins: DevicePlugins

    def may_block(self, state: NodeState, key: ContainerKey) -> bool:
        """Whether a plugin is asked: it may take its time, and others are not to wait for it."""
        records = state.node.snapshot.device.records.get(key.pod_uid, {}).get(key.container, {})
        return any(map(self.plugins.asks_before_start, records))

    async def before_start(
        self, state: NodeState, key: ContainerKey
    ) -> Mapping[str, str] | NotStarted:
        """The environment for a container that is about to start, after its plugins agreed."""
        records = state.node.snapshot.device.records.get(key.pod_uid, {}).get(key.container, {})
        for resource, record in sorted(records.items()):
            refused = await self.plugins.pre_start(resource, record.device_ids)
            if isinstance(refused, CallFailed):
                return NotStarted(RuntimePluginRefused(error=refused.error))
        return _environment(state, key, records)


def _environment(
    state: NodeState, key: ContainerKey, records: Mapping[str, DeviceRecord]
) -> Mapping[str, str] | NotStarted:
    given = device_injection.merged(record.response for _, record in sorted(records.items()))
    for path, host_path in sorted({**given.device_nodes, **given.mounts}.items()):
        if path != host_path:
            return NotStarted(RuntimePluginMount(path=path, host_path=host_path))
    own = dict(state.records[key.pod_uid].workload.container(key.container).env)
    return {name: text for name, text in given.environment.items() if name not in own}
