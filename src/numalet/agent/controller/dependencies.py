"""What a controller works with: its neighbours, its clock, and how it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from numalet.agent.controller.decisions import TracedDecision
from numalet.agent.controller.node_state import NodeState
from numalet.agent.controller.store import Store
from numalet.agent.controller.worker import (
    START_PATIENCE_SECONDS,
    DesiredSettings,
    DeviceInjection,
)
from numalet.agent.host.runtime.port import NotStarted, Runtime
from numalet.agent.servers.door import OwnershipMode
from numalet.agent.telemetry.metrics import Counts
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.managers.device.preference import NO_SAY, PreferredDevices
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, field
from numalet.wording.log_line import LogLine


class NothingHanded:
    """No plugins, nothing to hand out."""

    def may_block(self, state: NodeState, key: ContainerKey) -> bool:
        """Never."""
        return False

    async def before_start(
        self, state: NodeState, key: ContainerKey
    ) -> Mapping[str, str] | NotStarted:
        """Nothing."""
        return {}


class ControllerDependencies(Value, kw_only=True):
    """What the controller works with.

    ``on_decision`` is called with every decision that is safe on the disk, for logs and tests;
    ``log`` with the lines about containers that start and about cpusets that are written.
    ``plugins`` are asked by decisions, which may have to wait for them; ``also_counted`` are the
    counters of others that are shown with the agent's, ``also_noted`` their notes; ``devices`` is
    what devices come with.
    ``node_created_at`` is how old the node is; None if it begins now. ``unschedulable`` is whether
    it was cordoned, ``keep_cordon`` writes that down and raises ``BadInput``.
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
