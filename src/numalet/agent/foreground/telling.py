"""Where a command is and what holds it there, as findings for its user."""

from __future__ import annotations

import os
from collections.abc import Iterator

from numalet.adapters.run_document import RunDocument
from numalet.enforcement.levels import GuaranteeLevel
from numalet.model import cpu_set
from numalet.model.findings import Finding, Severity
from numalet.wording import english


def held(place: RunDocument, reason: str) -> Iterator[Finding]:
    """Where it is; ``reason`` says why the kernel does not hold it, where it does not."""
    what = _what(place)
    if place.guarantee is GuaranteeLevel.KERNEL:
        yield Finding("run/held-by-kernel", {"what": what}, severity=Severity.NOTE)
    else:
        fields = {"what": what, "reason": reason}
        yield Finding("run/held-by-process", fields, severity=Severity.NOTE)
    if os.geteuid() != 0:
        yield Finding("run/rootless", severity=Severity.WARNING)


def _what(place: RunDocument) -> str:
    """What the command got, in one line."""
    parts = [f"CPUs {place.cpus}" if place.cpus else "the shared CPUs"]
    for each in place.memory:
        nodes = cpu_set.text(each.numa_nodes)
        parts.append(f"{english.size(each.size_bytes)} {each.type} of NUMA nodes {nodes}")
    parts += [f"{name} {','.join(ids)}" for name, ids in place.devices.items()]
    return ", ".join(parts)
