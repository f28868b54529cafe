"""The node of a kubelet beside which no agent runs, as a source of the dashboard.

It is an agent that only observes, without a socket and with a folder of its own that goes at the
end: what a page shows is what the agent would show that runs beside the same kubelet. Nothing of
the kubelet is written.
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
"""How often cgroups and PodResources are read; a state file that is written is seen at once."""


def is_there(root: Path, proc: Path = kubelets.PROC) -> bool:
    """Whether a kubelet runs in this root directory, or has left state files there. Blocks."""
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
    """The node of the kubelet whose root directory the options name, as long as this lasts.

    ``say`` gets what a user should know before the first page.

    Raises:
        BadInput: the machine, or a file that was named, can not be used.
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
        # What another agent of this machine gives out is no matter of one that gives out nothing.
        say([each for each in resolved.notes if not isinstance(each, AgentOtherRoot)])
        hooks = Hooks(report_bug=report_bug, resync_seconds=every_seconds, kubelet=places)
        async with wiring.opened(resolved, hooks) as controller:
            while not controller.view().ready:
                await controller.changed()
            yield AgentNode(controller, wiring.utc_now)
