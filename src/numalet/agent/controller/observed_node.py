"""The node of a kubelet without an agent, for the dashboard.

Runs an observing agent in a temporary folder and without a socket. Nothing of the kubelet is
written.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from numalet.agent.controller import settings, wiring
from numalet.agent.controller.observing import KubeletPlaces
from numalet.agent.controller.settings import AgentOptions, OwnerChoice, RuntimeKind
from numalet.agent.controller.wiring import Hooks
from numalet.agent.servers.dashboard import AgentNode
from numalet.core.model.findings import Finding
from numalet.core.model.value import replace
from numalet.io import kubelets
from numalet.io.files import state_directory
from numalet.shared.findings.agent import AgentOtherRoot

THIS_MACHINE: Final = KubeletPlaces()
EVERY_SECONDS: Final = 1.0
"""Interval for cgroups and PodResources; changes of state files are noticed at once."""


def is_there(root: Path, proc: Path = kubelets.PROC) -> bool:
    """Whether a kubelet runs in this root directory or has left state files. Blocks."""
    has_files = bool(state_directory.signatures(root))
    return has_files or kubelets.at_work_in(root, proc) is not None


@asynccontextmanager
async def observed_node(
    options: AgentOptions,
    say: Callable[[Sequence[Finding]], None],
    report_bug: Callable[[Exception], None],
    places: KubeletPlaces = THIS_MACHINE,
    every_seconds: float = EVERY_SECONDS,
) -> AsyncIterator[AgentNode]:
    """Observe the kubelet in the options' root directory during the block.

    ``say`` receives notes before the first page. Raises ``BadInput`` for an unusable machine or
    file.
    """
    is_described = options.machine.text is not None
    with tempfile.TemporaryDirectory(prefix="numalet-") as folder:
        options = replace(
            options,
            root=Path(folder),
            ownership=OwnerChoice.OBSERVE,
            runtime=RuntimeKind.FAKE if is_described else RuntimeKind.PROCESS,
        )
        resolved = settings.observing(settings.resolve(options), places.proc)
        # An observer allocates nothing, so other agents' allocations are irrelevant.
        say([each for each in resolved.notes if not isinstance(each, AgentOtherRoot)])
        hooks = Hooks(report_bug=report_bug, resync_seconds=every_seconds, kubelet=places)
        async with wiring.opened(resolved, hooks) as controller:
            while not controller.view().ready:
                await controller.changed()
            yield AgentNode(controller, wiring.utc_now)
