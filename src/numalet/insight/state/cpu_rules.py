"""Rules for the content of ``cpu_manager_state``.

The rule that the sets contain all CPUs needs the machine. Containers of one pod may share CPUs (an
init container and later ones); the kubelet does not check whether containers of two pods do.
"""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.checkpoint import cpu_file
from numalet.core.config.rules import CpuPolicy
from numalet.core.findings.phrases import ALONE, MACHINE, PODS, POLICY, READABLE
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding, Location, WarningFinding
from numalet.core.model.machine_info import MachineInfo
from numalet.insight.state.reading import CpuState


class StateCpuPolicy(Finding):
    sentence = "the policy is {policy!r}; the CPU Manager knows {known}"
    why = POLICY
    policy: str
    known: str


class StateNoneHoldsCpus(Finding):
    sentence = "the policy is none, but the pool is {default!r} and {pods} pods hold CPUs"
    why = POLICY
    default: str
    pods: int


class StateContainerIds(WarningFinding):
    sentence = (
        "containers that are known by their ID hold the CPUs {cpus} ({count} in all, "
        "{container_id!r} first); the kubelet starts only if the container runtime knows these IDs"
    )
    why = READABLE
    count: int
    cpus: str
    container_id: str


class StateEmptyDefault(WarningFinding):
    sentence = (
        "the pool is empty, and {pods} pods hold CPUs; the next start of the kubelet fails. The "
        "kubelet itself writes this if strict-cpu-reservation is on and all other CPUs are "
        "allocated"
    )
    why = "Under the policy static the pool is never empty while containers have exclusive CPUs."
    pods: int


class StateCpuPodWithoutContainers(Finding):
    sentence = "pod {pod} has an entry without containers"
    why = PODS
    pod: str


class StateNoCpus(Finding):
    sentence = "container {container} of pod {pod} has an entry without CPUs"
    why = PODS
    pod: str
    container: str


class StateCpusInPool(Finding):
    sentence = (
        "container {container} of pod {pod} holds the CPUs {cpus}, and {shared} are in the pool too"
    )
    why = ALONE
    container: str
    pod: str
    cpus: str
    shared: str


class StateCpusOfTwoPods(Finding):
    sentence = (
        "container {container} of pod {pod} holds the CPUs {cpus}, and {shared} are held by "
        "{other} too; the kubelet does not notice"
    )
    why = ALONE
    container: str
    pod: str
    cpus: str
    shared: str
    other: str


class StateAbsentCpus(Finding):
    sentence = "the CPUs {cpus} are in the file; the machine has {known}"
    why = MACHINE
    cpus: str
    known: str


class StateCpusInNoSet(WarningFinding):
    sentence = (
        "the CPUs {cpus} of {known} are in no set: offline when the file was written, or reserved "
        "with strict-cpu-reservation"
    )
    why = MACHINE
    cpus: str
    known: str


def breaches(state: CpuState, machine: MachineInfo | None) -> Iterator[Finding]:
    """Yield all violations; without a machine, the CPUs are not compared with it."""
    # The first format has container IDs instead of pods.
    by_id = state.ledger.exclusive.get("", {})
    if by_id:
        yield StateContainerIds(
            count=len(by_id),
            cpus=cpu_set.text(cpu_set.EMPTY.union(*by_id.values())),
            container_id=min(by_id),
            where=place("entries"),
        )
    known = [policy.value for policy in CpuPolicy]
    if state.policy_name not in known:
        yield StateCpuPolicy(
            policy=state.policy_name, known=", ".join(known), where=place("policyName")
        )
    elif state.policy_name == CpuPolicy.NONE.value:
        yield from _none(state.ledger)
        return
    yield from _pool(state.ledger)
    yield from _containers(state.ledger)
    if machine is not None and (state.ledger.default or state.ledger.exclusive):
        yield from _machine(state.ledger, machine)


def place(path: str = "") -> Location:
    """Return the place of a member, or of the file."""
    return Location(cpu_file.FILE_NAME, f"$.{path}" if path else "")


def _none(ledger: CpuLedger) -> Iterator[Finding]:
    """Under this policy the kubelet writes only the policy's name."""
    if ledger.default or ledger.exclusive:
        yield StateNoneHoldsCpus(
            default=cpu_set.text(ledger.default),
            pods=len(ledger.exclusive),
            where=place("policyName"),
        )


def _pool(ledger: CpuLedger) -> Iterator[Finding]:
    if ledger.exclusive and not ledger.default:
        yield StateEmptyDefault(pods=len(ledger.exclusive), where=place("defaultCpuSet"))


def _containers(ledger: CpuLedger) -> Iterator[Finding]:
    holder: dict[int, str] = {}
    for uid, containers in sorted(ledger.exclusive.items()):
        if not containers:
            yield StateCpuPodWithoutContainers(pod=uid, where=place(f"entries.{uid}"))
        for name, cpus in sorted(containers.items()):
            at = place(f"entries.{uid}.{name}")
            if not cpus:
                yield StateNoCpus(pod=uid, container=name, where=at)
            shared = cpus & ledger.default
            if shared:
                yield StateCpusInPool(
                    pod=uid,
                    container=name,
                    cpus=cpu_set.text(cpus),
                    shared=cpu_set.text(shared),
                    where=at,
                )
            # Containers of one pod may share CPUs.
            others = sorted({holder[cpu] for cpu in cpus if holder.get(cpu, uid) != uid})
            if others:
                both = cpu_set.text(cpu for cpu in cpus if holder.get(cpu, uid) != uid)
                yield StateCpusOfTwoPods(
                    pod=uid,
                    container=name,
                    cpus=cpu_set.text(cpus),
                    shared=both,
                    other=", ".join(others),
                    where=at,
                )
            for cpu in cpus:
                holder.setdefault(cpu, uid)


def _machine(ledger: CpuLedger, machine: MachineInfo) -> Iterator[Finding]:
    there = frozenset(machine.cpu_ids)
    listed = ledger.default.union(
        *(cpus for containers in ledger.exclusive.values() for cpus in containers.values()),
        *ledger.pods.values(),
    )
    if listed - there:
        yield StateAbsentCpus(
            cpus=cpu_set.text(listed - there), known=cpu_set.text(there), where=place()
        )
    if there - listed:
        yield StateCpusInNoSet(
            cpus=cpu_set.text(there - listed), known=cpu_set.text(there), where=place()
        )
