"""The shared pool: CPUs on which every container without exclusive CPUs may run, on any NUMA node.

Its load is a sum of requests, because the kernel and not the kubelet decides who runs where.
"""

from __future__ import annotations

from typing import Final

from numalet.core.model import cpu_set, grammar, resources
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKind
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.core.snapshot import snapshot as snapshots
from numalet.wording import numbers

_MOST_NAMED: Final = 12


class PooledPod(Value):
    """A pod with a container in the pool. ``cpu_milli`` is its request without exclusive CPUs."""

    title: str
    cpu_milli: int

    @property
    def request(self) -> str:
        return _cpus(self.cpu_milli)


def _cpus(milli: int) -> str:
    return grammar.singular(f"{numbers.amount(resources.CPU, milli)} CPUs")


class SharedPool(Value):
    """CPUs and pods of the pool; no CPUs if it is not known, as in state files of a kubelet."""

    cpus: CpuSet = cpu_set.EMPTY
    pods: tuple[PooledPod, ...] = ()

    @property
    def cpu_milli(self) -> int:
        return sum(pod.cpu_milli for pod in self.pods)

    @property
    def overlap(self) -> str:
        """Why free and requested CPUs together can be more than the node has."""
        if not (self.cpus and self.cpu_milli):
            return ""
        return f"Free CPUs include the shared pool, on which pods request {_cpus(self.cpu_milli)}."

    @property
    def sentence(self) -> str:
        """The CPUs, the sum of requests, and the first pods by request."""
        if not self.cpus:
            return ""
        listed = numbers.cpus(self.cpus).replace(",", ", ")
        if not self.pods:
            return f"Shared pool: {listed}. No pod runs on them."
        first = sorted(self.pods, key=lambda pod: (-pod.cpu_milli, pod.title))
        names = numbers.some((pod.title for pod in first), _MOST_NAMED)
        runs = "1 pod runs" if len(self.pods) == 1 else f"{len(self.pods)} pods run"
        asks = "requests" if len(self.pods) == 1 else "request"
        return f"Shared pool: {listed}. {runs} on them and {asks} {_cpus(self.cpu_milli)}: {names}."


NO_POOL: Final = SharedPool()


def of_node(node: Node) -> SharedPool:
    snapshot = node.snapshot
    has_manager = node.roster.static_cpus is not None
    pods = []
    for pod in snapshot.pods.values():
        held = snapshot.cpu.exclusive.get(pod.uid, {}) if has_manager else {}
        kept = [each for each in pod.containers() if each.kind is not ContainerKind.INIT]
        if all(each.name in held for each in kept):
            continue
        exclusive = len(frozenset[int]().union(*held.values()))
        milli = snapshots.sum_of_pods((pod,)).amounts.get(resources.CPU, 0) - 1000 * exclusive
        pods.append(PooledPod(str(pod), max(milli, 0)))
    cpus = snapshot.cpu.default if has_manager else frozenset(node.rules.machine.cpu_ids)
    return SharedPool(cpus, tuple(pods))
