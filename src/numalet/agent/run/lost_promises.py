"""Runs that go on with what the state can not promise them any more, since the machine changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from numalet.agent.controller.holders import RunHolder
from numalet.core.checkpoint import cpu_file
from numalet.core.model.value import replace
from numalet.core.workload.run import Cause
from numalet.insight.state import rebase
from numalet.insight.state.rebase import Lost
from numalet.shared.findings import recorded

_CLASSES: Final = recorded.by_code(vars(rebase).values())


def marked(holder: RunHolder, lost: Sequence[Lost]) -> RunHolder:
    """The run after the machine changed; one whose CPUs were lost shares CPUs from then on."""
    of_it = [each for each in lost if each.key == holder.key]
    if not of_it:
        return holder
    shares = holder.is_shared or any(each.file == cpu_file.FILE_NAME for each in of_it)
    causes = tuple(Cause.of(each.why) for each in of_it)
    return replace(holder, causes=causes, unpromised="", is_shared=shares)


def why(holder: RunHolder) -> str:
    """Why the state does not hold all that it runs with; empty if it does."""
    return recorded.sentences(_CLASSES, holder.causes) or holder.unpromised
