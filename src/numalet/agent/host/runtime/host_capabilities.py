"""Determines how this machine can enforce allocations."""

from __future__ import annotations

from numalet.agent.host.cgroup_v2 import root
from numalet.agent.host.cgroup_v2.root import Place, Unusable
from numalet.agent.host.cgroup_v2.tree import CgroupTree
from numalet.agent.host.runtime.port import Capabilities
from numalet.agent.host.runtime.shim import begin
from numalet.core.enforcement.levels import GuaranteeLevel
from numalet.core.model.value import Value
from numalet.shared.findings.runtime import (
    RuntimeCanBeUndone,
    RuntimeNoMemoryPolicy,
    RuntimeSizesNotLimited,
)


class HostCapabilities(Value):
    """``tree`` is set if cgroups can be used; ``binds_memory`` if memory policies can be set."""

    capabilities: Capabilities
    tree: CgroupTree | None = None
    binds_memory: bool = True


def ground(place: Place | None = None) -> HostCapabilities:
    """Detect the strongest means; ``place`` skips the search for a cgroup tree."""
    usable = root.find() if place is None else place
    if not isinstance(usable, Unusable):
        capabilities = Capabilities(GuaranteeLevel.KERNEL, usable.shortfalls)
        return HostCapabilities(capabilities, usable.tree)
    binds = begin.can_bind_memory()
    lacking = (
        usable.why.code,
        RuntimeSizesNotLimited.code,
        RuntimeCanBeUndone.code,
        *(() if binds else (RuntimeNoMemoryPolicy.code,)),
    )
    return HostCapabilities(Capabilities(GuaranteeLevel.PROCESS, lacking), None, binds)
