"""The controller's collaborators and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, Protocol

from numalet.agent.controller.decisions import TracedDecision
from numalet.agent.controller.desired_settings import DesiredSettings
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.store import Store
from numalet.agent.host.runtime.port import NotStarted, Runtime
from numalet.agent.servers.door import OwnershipMode
from numalet.agent.telemetry.metrics import Counts
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.wording.log_line import LogLine

START_PATIENCE_SECONDS: Final = 300.0
"""How long a start is retried while the host is short of something.

It outlasts a burst of starts; later, the pod's back-off applies.
"""


class DeviceInjection(Protocol):
    """Additions of device plugins to a container."""

    def may_block(self, state: NodeState, key: ContainerKey) -> bool:
        """Whether the start calls a plugin."""

    async def before_start(
        self, state: NodeState, key: ContainerKey
    ) -> Mapping[str, str] | NotStarted:
        """The container's environment, or why it cannot start."""


class NothingHanded:
    """There are no device plugins."""

    def may_block(self, state: NodeState, key: ContainerKey) -> bool:
        return False

    async def before_start(
        self, state: NodeState, key: ContainerKey
    ) -> Mapping[str, str] | NotStarted:
        return {}


class ControllerDependencies(Value, kw_only=True):
    """``on_decision`` receives decisions after the write; ``log`` lines about starts and cpusets.

    ``plugins`` are called by decisions and may block. ``also_counted`` and ``also_noted`` are
    counters and notes of other servers. ``node_created_at`` defaults to now. ``keep_cordon`` stores
    ``unschedulable`` and raises ``BadInput``.
    """

    store: Store
    runtime: Runtime
    desired: DesiredSettings
    clock: Callable[[], datetime]
    stopwatch: Callable[[], float]
    node_name: str
    standing: OwnershipMode = OwnershipMode.ENFORCING
    notes: tuple[str, ...] = ()
    config: KubeletConfig = field(default_factory=KubeletConfig)
    on_decision: Callable[[TracedDecision], None] = field(default=lambda traced: None)
    log: Callable[[Sequence[LogLine]], None] = field(default=lambda lines: None)
    resync_seconds: float = 10.0
    start_patience_seconds: float = START_PATIENCE_SECONDS
    plugins: PreferredDevices = NO_SAY
    devices: DeviceInjection = field(default_factory=NothingHanded)
    also_counted: Sequence[Callable[[], Counts]] = ()
    also_noted: Callable[[], Sequence[str]] = field(default=lambda: ())
    node_created_at: datetime | None = None
    unschedulable: bool = False
    keep_cordon: Callable[[bool], None] = field(default=lambda unschedulable: None)
