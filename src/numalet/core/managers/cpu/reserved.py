"""The CPUs reserved for the system, and the cores that have such CPUs.

If the configuration only gives their number, the policy's own assignment picks them, so its options
change the choice. Kubelet: ``NewStaticPolicy``, v1.32.
"""

from __future__ import annotations

from numalet.core.findings.managers import (
    CpuManagerCanNotReserve,
    CpuManagerReservingWouldHang,
    CpuManagerUnknownReservedCpu,
)
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.picking import Picker
from numalet.core.managers.cpu.reasons import WouldHang
from numalet.core.model import cpu_set, numa_mask
from numalet.core.model.findings import Finding
from numalet.core.model.value import Value


class ReservedCpus(Value):
    cpus: CpuMask
    whole_cores: CpuMask


def choose(picker: Picker) -> ReservedCpus | Finding:
    """Return the reserved CPUs, or why the kubelet would not start with the reservation."""
    rules, topology = picker.rules, picker.topology
    if rules.reserved_cpus:
        chosen = rules.reserved_cpus
    else:
        # Each start picks from all CPUs of the machine: the same options and topology always give
        # the same CPUs, so the state file stays valid over restarts.
        picked = picker.take(topology.cpus, rules.reserved_count)
        if isinstance(picked, WouldHang):
            nodes = numa_mask.text(picked.mask)
            return CpuManagerReservingWouldHang(
                count=rules.reserved_count, nodes=nodes, group_size=picked.group_size
            )
        # The kubelet ignores any other failure; then the empty set has the wrong size below.
        chosen = cpu_mask.to_set(picked) if isinstance(picked, int) else cpu_set.EMPTY
    if len(chosen) != rules.reserved_count:
        return CpuManagerCanNotReserve(cpus=cpu_set.text(chosen), count=rules.reserved_count)
    cores = cpu_mask.EMPTY
    for cpu in sorted(chosen):
        if cpu not in topology.core_of_cpu:
            machine = cpu_set.text(cpu_mask.ids(topology.cpus))
            return CpuManagerUnknownReservedCpu(cpu=cpu, cpus=machine)
        cores |= topology.core_of_cpu[cpu]
    return ReservedCpus(cpu_mask.of_set(chosen), cores)
