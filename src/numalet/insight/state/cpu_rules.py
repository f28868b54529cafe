"""What must hold inside ``cpu_manager_state``, and where it does not.

A breach is a finding, as in ``state_memory_rules``. That the sets make up all CPUs can be said
only where the machine is known. Containers of one pod may share CPUs (an init container and
those after it); v1.32 does not look whether those of two pods do.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.checkpoint import cpu_file
from numalet.core.config.rules import CpuPolicy
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.machine_info import MachineInfo
from numalet.insight.state.reading import CpuState


def breaches(state: CpuState, machine: MachineInfo | None) -> Iterator[Finding]:
    """Every broken rule; ``machine`` is None if it is not known."""
    ids = sorted(state.reading.document.container_ids)
    if ids:
        fields = {"count": len(ids), "container_id": ids[0]}
        yield Finding("state/container-ids", fields, place("entries"), Severity.WARNING)
    known = [policy.value for policy in CpuPolicy]
    if state.policy_name not in known:
        fields_of_policy = {"policy": state.policy_name, "known": ", ".join(known)}
        yield Finding("state/cpu-policy", fields_of_policy, place("policyName"))
    elif state.policy_name == CpuPolicy.NONE.value:
        yield from _none(state.ledger)
        return
    yield from _pool(state.ledger)
    yield from _containers(state.ledger)
    if machine is not None and (state.ledger.default or state.ledger.exclusive):
        yield from _machine(state.ledger, machine)


def place(path: str = "") -> Location:
    """A member of the file; without a path the file."""
    return Location(cpu_file.FILE_NAME, f"$.{path}" if path else "")


def _none(ledger: CpuLedger) -> Iterator[Finding]:
    """Policy none writes nothing but its name."""
    if ledger.default or ledger.exclusive:
        fields = {"default": cpu_set.text(ledger.default), "pods": len(ledger.exclusive)}
        yield Finding("state/none-holds-cpus", fields, place("policyName"))


def _pool(ledger: CpuLedger) -> Iterator[Finding]:
    if ledger.exclusive and not ledger.default:
        fields = {"pods": len(ledger.exclusive)}
        yield Finding("state/empty-default", fields, place("defaultCpuSet"), Severity.WARNING)


def _containers(ledger: CpuLedger) -> Iterator[Finding]:
    holder: dict[int, str] = {}
    for uid, containers in sorted(ledger.exclusive.items()):
        if not containers:
            yield Finding("state/cpu-pod-without-containers", {"pod": uid}, place(f"entries.{uid}"))
        for name, cpus in sorted(containers.items()):
            at = place(f"entries.{uid}.{name}")
            who = {"pod": uid, "container": name, "cpus": cpu_set.text(cpus)}
            if not cpus:
                yield Finding("state/no-cpus", {"pod": uid, "container": name}, at)
            shared = cpus & ledger.default
            if shared:
                yield Finding("state/cpus-in-pool", {**who, "shared": cpu_set.text(shared)}, at)
            others = sorted({holder[cpu] for cpu in cpus if holder.get(cpu, uid) != uid})
            if others:
                both = cpu_set.text(cpu for cpu in cpus if holder.get(cpu, uid) != uid)
                fields = {**who, "shared": both, "other": ", ".join(others)}
                yield Finding("state/cpus-of-two-pods", fields, at)
            for cpu in cpus:
                holder.setdefault(cpu, uid)


def _machine(ledger: CpuLedger, machine: MachineInfo) -> Iterator[Finding]:
    there = frozenset(machine.cpu_ids)
    listed = ledger.default.union(
        *(cpus for containers in ledger.exclusive.values() for cpus in containers.values())
    )
    if listed - there:
        fields = {"cpus": cpu_set.text(listed - there), "known": cpu_set.text(there)}
        yield Finding("state/absent-cpus", fields, place())
    if there - listed:
        fields = {"cpus": cpu_set.text(there - listed), "known": cpu_set.text(there)}
        yield Finding("state/cpus-in-no-set", fields, place(), Severity.WARNING)
