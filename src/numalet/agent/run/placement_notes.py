"""Where a command is and what holds it there, as findings for its user."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import msgspec

from numalet.agent.findings.run import (
    RunHeldByKernel,
    RunHeldByProcess,
    RunHolderFinding,
    RunRefused,
    RunRootless,
)
from numalet.agent.keeper.holders import CONTAINER
from numalet.agent.run.options import Voice
from numalet.agent.run.placing import NoPlace
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.snapshot import placement
from numalet.insight.output.explanation_types import Explanation
from numalet.insight.output.run_document import RunDocument
from numalet.wording import numbers

_MOST_NAMED: Final = 5


def held(place: RunDocument, reason: str) -> Iterator[Finding]:
    """Where it is; ``reason`` says why the kernel does not hold it, where it does not."""
    what = _what(place)
    if place.guarantee is GuaranteeLevel.KERNEL:
        yield RunHeldByKernel(what=what)
    else:
        yield RunHeldByProcess(what=what, reason=reason)
    if os.geteuid() != 0:
        yield RunRootless()


def refused(place: RunDocument, explanation: Explanation | None, voice: Voice) -> None:
    """Why there is no place; ``explanation`` is None where there was no time for one.

    What explains is the managers' decision. Where they would admit the pod another check refused
    it, or a place came free since: then the words of the refusal are all there is to say.
    """
    if explanation is not None and explanation.admitted:
        explanation = None
    if voice.show is not None:
        voice.show(msgspec.structs.replace(place, explanation=explanation))
    elif explanation is not None:
        voice.explain(explanation)
    else:
        voice.report(RunRefused(reason=place.reason, message=place.message))


def holders(answer: NoPlace) -> str:
    """Who has what, by process and command; ``none`` without holders."""
    lines = []
    for each in answer.holders[:_MOST_NAMED]:
        held = placement.of_container(answer.node.snapshot, each.uid, CONTAINER)
        what = f"CPUs {cpu_set.text(held.cpus)}" if held.cpus else "the shared CPUs"
        lines.append(str(RunHolderFinding(pid=each.pid, command=each.command, what=what)))
    if len(answer.holders) > _MOST_NAMED:
        lines.append("...")
    return "; ".join(lines) or "none"


def _what(place: RunDocument) -> str:
    """What the command got, in one line."""
    parts = [f"CPUs {place.cpus}" if place.cpus else "the shared CPUs"]
    for each in place.memory:
        nodes = cpu_set.text(each.numa_nodes)
        parts.append(f"{numbers.size(each.size_bytes)} {each.type} of NUMA nodes {nodes}")
    if not place.memory and place.numa_nodes:
        parts.append(f"memory of NUMA nodes {cpu_set.text(place.numa_nodes)} without a size")
    parts += [f"{name} {','.join(ids)}" for name, ids in place.devices.items()]
    return ", ".join(parts)
