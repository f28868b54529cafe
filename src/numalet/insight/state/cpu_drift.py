"""Changes of CPUs and reserved CPUs since ``cpu_manager_state`` was written."""

from __future__ import annotations

from collections.abc import Iterator

from numalet.core.admission.roster import Roster
from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding, Severity
from numalet.insight.state import cpu_rules
from numalet.insight.state.cpu_rules import StateContainerIds, place
from numalet.insight.state.reading import CpuState


class DriftEmptyPool(Finding):
    sentence = "the pool is empty, and {pods} pods hold CPUs"
    pods: int


class DriftCpusGone(Finding):
    sentence = "the CPUs {cpus} are missing; {containers} containers hold some of them"
    cpus: str
    containers: int


class DriftCpusNew(Finding):
    sentence = (
        "the file does not list CPUs {cpus}: they are new, now online, or were reserved with "
        "strict-cpu-reservation"
    )
    cpus: str


class DriftReservedCpusHeld(Finding):
    sentence = (
        "containers hold the reserved CPUs {cpus} ({containers} in all): the reservation "
        "has changed, or the kubelet gave away CPUs that it reserves, as it does where cores have "
        "different numbers of CPUs"
    )
    cpus: str
    containers: int


class DriftStrictReservation(Finding):
    sentence = (
        "the reserved CPUs {cpus} are in the pool; with strict-cpu-reservation they must not be"
    )
    cpus: str


def drift(staff: Roster, state: CpuState) -> Iterator[Finding]:
    policy, ledger = staff.static_cpus, state.ledger
    if policy is None or not (ledger.default or ledger.exclusive):
        return
    if not ledger.default:
        yield DriftEmptyPool(pods=len(ledger.exclusive), where=place("defaultCpuSet"))
    yield from _cpus(policy, ledger)
    yield from _reserved(policy, ledger)
    for finding in cpu_rules.breaches(state, None):
        # An empty pool is reported above.
        if finding.severity is Severity.ERROR or isinstance(finding, StateContainerIds):
            yield finding


def _held(ledger: CpuLedger) -> CpuSet:
    return cpu_set.EMPTY.union(
        *(cpus for containers in ledger.exclusive.values() for cpus in containers.values()),
        *ledger.pods.values(),
    )


def _cpus(policy: CpuStaticPolicy, ledger: CpuLedger) -> Iterator[Finding]:
    there = cpu_mask.to_set(policy.topology.cpus)
    listed = ledger.default | _held(ledger)
    gone = listed - there
    if gone:
        yield DriftCpusGone(cpus=cpu_set.text(gone), containers=_count(ledger, gone), where=place())
    unknown = policy.initial_default - listed
    if unknown:
        yield DriftCpusNew(cpus=cpu_set.text(unknown), where=place())


def _count(ledger: CpuLedger, cpus: CpuSet) -> int:
    return sum(
        bool(held & cpus)
        for containers in ledger.exclusive.values()
        for held in containers.values()
    )


def _reserved(policy: CpuStaticPolicy, ledger: CpuLedger) -> Iterator[Finding]:
    reserved = cpu_mask.to_set(policy.reserved.cpus)
    overlap = reserved & _held(ledger)
    if overlap:
        yield DriftReservedCpusHeld(
            cpus=cpu_set.text(overlap), containers=_count(ledger, overlap), where=place("entries")
        )
    if policy.rules.strict_cpu_reservation and reserved & ledger.default:
        yield DriftStrictReservation(
            cpus=cpu_set.text(reserved & ledger.default), where=place("defaultCpuSet")
        )
