"""The CPUs of a container: from its affinity first, then from any node.

The options alone select the assignment:

    no option below                        packed
    prefer-align-cpus-by-uncorecache       packed, by whole caches
    distribute-cpus-across-cores           packed, spread over cores
    distribute-cpus-across-numa            distributed, in single CPUs
    the same and full-pcpus-only           distributed, in whole cores

Kubelet: ``staticPolicy.allocateCPUs``, ``takeByTopology``, v1.32.
"""

from __future__ import annotations

from numalet.core.config.rules import CpuRules
from numalet.core.managers.cpu import cpu_mask, take_distributed, take_packed
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.reasons import Unpickable
from numalet.core.managers.cpu.take_packed import Packing, Reach
from numalet.core.managers.cpu.topology import CpuTopology
from numalet.core.model.numa_mask import NumaMask
from numalet.core.model.value import Value


class Picker(Value):
    """The assignment that the options select, on one machine."""

    topology: CpuTopology
    rules: CpuRules

    def take(self, available: CpuMask, count: int) -> CpuMask | Unpickable:
        rules = self.rules
        if rules.distribute_cpus_across_numa:
            group_size = self.topology.cpus_per_core if rules.full_pcpus_only else 1
            new = rules.one_socket_is_preferred
            halves = take_distributed.Sockets(new, new and rules.align_by_socket)
            return take_distributed.take(
                self.topology, available, count, group_size, sockets=halves
            )
        return take_packed.take(self.topology, available, count, self._packing())

    def _packing(self) -> Packing:
        if self.rules.distribute_cpus_across_cores:
            return Packing.SPREAD_OVER_CORES
        if self.rules.prefer_align_cpus_by_uncore_cache:
            odd_too = self.rules.odd_requests_drop_one_cpu
            return Packing.BY_UNCORE_CACHE_ODD_TOO if odd_too else Packing.BY_UNCORE_CACHE
        return Packing.PLAIN

    def pick(
        self, available: CpuMask, count: int, affinity: NumaMask | None
    ) -> CpuMask | Unpickable:
        """Pick as many CPUs as possible from the affinity, and the rest from all nodes.

        With an affinity to several NUMA nodes they may still come from fewer.
        """
        aligned: CpuMask | Unpickable = cpu_mask.EMPTY
        if affinity is not None:
            reach = Reach.SOCKETS if self.rules.align_by_socket else Reach.NODES
            near = available & take_packed.cpus_of_affinity(self.topology, affinity, reach)
            # Never ask for more than the affinity has: the assignment would refuse, and the CPUs of
            # the affinity would not be taken first.
            aligned = self.take(near, min(count, near.bit_count()))
        if not isinstance(aligned, int):
            return aligned
        if aligned.bit_count() == count:
            return aligned
        # The merged hint is not binding. Under best-effort it may lack CPUs, and the kubelet then
        # takes the rest from all nodes instead of a rejection.
        rest = self.take(available & ~aligned, count - aligned.bit_count())
        return aligned | rest if isinstance(rest, int) else rest
