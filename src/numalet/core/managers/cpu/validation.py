"""Whether a ledger from a state file fits this machine and this configuration.

The pool and all records together must equal the CPUs of the machine (with strict-cpu-reservation:
the unreserved ones), and must be disjoint. Kubelet: ``staticPolicy.validateState``, v1.32.
"""

from __future__ import annotations

from numalet.core.findings.state_files import (
    CpuStateEmptyDefault,
    CpuStateOtherCpus,
    CpuStateOverlap,
    CpuStateReservedInDefault,
    CpuStateReservedNotInDefault,
)
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding


def restored(ledger: CpuLedger, policy: CpuStaticPolicy) -> CpuLedger | Finding:
    """Return the ledger to start with, or why the kubelet would not start with it."""
    base = policy.initial_default
    if not ledger.default:
        if ledger.exclusive:
            return CpuStateEmptyDefault(pods=sorted(ledger.exclusive))
        return CpuLedger(base, pods=ledger.pods)
    default = cpu_set.text(ledger.default)
    misplaced = _misplaced_reserved(policy, ledger.default, default)
    if misplaced is not None:
        return misplaced
    # Like the kubelet, check neither whether records overlap nor their sizes.
    for uid, containers in sorted(ledger.exclusive.items()):
        for name, cpus in sorted(containers.items()):
            if cpus & ledger.default:
                return CpuStateOverlap(
                    pod=uid, container=name, cpus=cpu_set.text(cpus), default=default
                )
    # Include the CPUs of whole pods: their containers' parts may not cover them.
    records = [cpus for pod in ledger.exclusive.values() for cpus in pod.values()]
    union = ledger.default.union(*records, *ledger.pods.values())
    if union != base:
        return CpuStateOtherCpus(available=cpu_set.text(base), found=cpu_set.text(union))
    return ledger


def _misplaced_reserved(policy: CpuStaticPolicy, cpus: CpuSet, default: str) -> Finding | None:
    """The pool must have all reserved CPUs; with strict-cpu-reservation, not one."""
    # Compare sets: a state file may name any CPU number, and a mask would grow with it.
    reserved = cpu_mask.to_set(policy.reserved.cpus)
    if policy.rules.strict_cpu_reservation:
        if reserved & cpus:
            return CpuStateReservedInDefault(
                reserved=cpu_set.text(reserved & cpus), default=default
            )
    elif reserved - cpus:
        return CpuStateReservedNotInDefault(reserved=cpu_set.text(reserved), default=default)
    return None
