"""The resource settings that the container runtime would get for a container, by API field.

An empty field is not set, and the container may use everything. Kubelet: ``PreCreateContainer``,
``groupMasks``, v1.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from numalet.core.admission.decision import Decision
from numalet.core.model import cpu_set
from numalet.core.model.value import Value
from numalet.core.snapshot import runtime_sets

CPUS_PER_GROUP = 64


class LinuxSettings(Value):
    """``linux.resources``: a CPU list such as ``0-3,8``, and node ids such as ``0,1``."""

    cpuset_cpus: str
    cpuset_mems: str


class GroupMask(NamedTuple):
    cpu_group: int
    cpu_mask: int


class WindowsSettings(Value):
    """``windows.resources``: CPUs by ascending group, where the kubelet has no order."""

    affinity_cpus: tuple[GroupMask, ...]


Settings: TypeAlias = LinuxSettings | WindowsSettings


def of_decision(decision: Decision) -> Mapping[str, Settings]:
    """Return the settings of each container of the pod; empty for a rejected pod."""
    if not decision.admitted:
        return {}
    names = [container.name for container in decision.pod.containers()]
    affinity = decision.windows_affinity
    if affinity is None:
        return {name: _linux(decision, name) for name in names}
    return {name: WindowsSettings(group_masks(affinity.get(name, ()))) for name in names}


def _linux(decision: Decision, container: str) -> LinuxSettings:
    uid, after = decision.pod.uid, decision.after
    return LinuxSettings(
        cpuset_cpus=cpu_set.text(runtime_sets.cpus(after, uid, container)),
        cpuset_mems=",".join(map(str, runtime_sets.memory_nodes(after, uid, container))),
    )


def group_masks(cpus: Iterable[int]) -> tuple[GroupMask, ...]:
    masks: dict[int, int] = {}
    for cpu in cpus:
        # Windows numbers CPUs by groups of 64, with one mask per group.
        group, position = divmod(cpu, CPUS_PER_GROUP)
        masks[group] = masks.get(group, 0) | 1 << position
    return tuple(GroupMask(group, masks[group]) for group in sorted(masks))
