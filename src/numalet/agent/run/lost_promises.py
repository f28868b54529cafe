"""Runs whose allocation is partly lost, because the machine changed."""

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
    """Mark a run that lost allocations; without its CPUs it uses the shared pool."""
    of_it = [each for each in lost if each.key == holder.key]
    if not of_it:
        return holder
    shares = holder.is_shared or any(each.file == cpu_file.FILE_NAME for each in of_it)
    causes = tuple(Cause.of(each.why) for each in of_it)
    return replace(holder, causes=causes, unpromised="", is_shared=shares)


def why(holder: RunHolder) -> str:
    """Why the state does not cover everything that the run uses; empty if it does."""
    return recorded.sentences(_CLASSES, holder.causes) or holder.unpromised
