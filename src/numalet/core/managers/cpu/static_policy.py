"""The CPU Manager's policy static: who gets exclusive CPUs, and which ledger fits the machine.

``CpuStaticPolicy`` implements ``core.hints.provider.ResourceManager``. Kubelet: ``staticPolicy``,
v1.32.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from numalet.core.config.rules import CpuRules
from numalet.core.findings.state_files import (
    CpuStateEmptyDefault,
    CpuStateOtherCpus,
    CpuStateOverlap,
    CpuStateReservedInDefault,
    CpuStateReservedNotInDefault,
)
from numalet.core.hints.provider import (
    NO_HINTS,
    ActiveContainers,
    Hint,
    Impossible,
    ProviderHints,
    Refused,
)
from numalet.core.managers.cpu import cpu_mask, hints, reserved
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.hints import NodeSets
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.picking import Picker
from numalet.core.managers.cpu.reasons import NotWholeCores, OtherSize, TooFewWholeCores
from numalet.core.managers.cpu.reserved import ReservedCpus
from numalet.core.managers.cpu.take_packed import Reach
from numalet.core.managers.cpu.topology import CpuTopology
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value

CPU = "cpu"


# The number of exclusive CPUs of a container or pod; 0 means that it stays in the shared pool.
# Kubelet: ``staticPolicy.guaranteedCPUs``, ``podGuaranteedCPUs``, v1.32.


def of_container(pod: Pod, container: Container) -> int:
    """Return the request if its pod is Guaranteed and the number is whole, else 0.

    Both sides of the comparison round up, so ``1999.5m`` gives 2 CPUs and ``1500m`` gives 0.
    """
    if pod.qos_class is not QosClass.GUARANTEED or CPU not in container.requests:
        return 0
    return _if_whole(container.requests[CPU])


def of_pod(pod: Pod) -> int:
    """Return max(apps + sidecars, each init container + the sidecars before it), in CPUs."""
    sidecars = init_peak = apps = 0
    for container in pod.containers():
        cpus = of_container(pod, container)
        if container.kind is ContainerKind.SIDECAR:
            sidecars += cpus
        elif container.kind is ContainerKind.INIT:
            init_peak = max(init_peak, sidecars + cpus)
        else:
            apps += cpus
    return max(apps + sidecars, init_peak)


def of_pod_level(pod: Pod) -> int:
    """Return the whole CPUs of the pod-level request, which includes its containers' CPUs.

    Kubelet: ``staticPolicy.podGuaranteedCPUs``, v1.36.
    """
    asked = pod.pod_level
    if pod.qos_class is not QosClass.GUARANTEED or asked is None or CPU not in asked.requests:
        return 0
    return _if_whole(asked.requests[CPU])


def _if_whole(request: Quantity) -> int:
    whole = request.value
    return whole if whole * 1000 == request.milli_value else 0


class CpuStaticPolicy(Value):
    """Rules, machine and reserved CPUs of one kubelet. Made by ``build``."""

    picker: Picker
    reserved: ReservedCpus
    sets: NodeSets

    @property
    def rules(self) -> CpuRules:
        return self.picker.rules

    @property
    def topology(self) -> CpuTopology:
        return self.picker.topology

    @property
    def allocatable(self) -> CpuSet:
        return cpu_mask.to_set(self.topology.cpus & ~self.reserved.cpus)

    @property
    def initial_default(self) -> CpuSet:
        """The shared pool of an empty node: all CPUs; strictly without the reserved ones."""
        if self.rules.strict_cpu_reservation:
            return self.allocatable
        return cpu_mask.to_set(self.topology.cpus)

    def most_at_once(self, pool: CpuSet) -> int:
        """Return how many CPUs of a shared pool the options allow one container."""
        return (cpu_mask.of(pool) & ~self._kept).bit_count()

    @property
    def _kept(self) -> CpuMask:
        """CPUs that are reserved, or on a core with reserved CPUs if whole cores are required."""
        return self.reserved.whole_cores if self.rules.full_pcpus_only else self.reserved.cpus

    def container_hints(
        self, ledger: CpuLedger, pod: Pod, container: Container
    ) -> ProviderHints | Refused:
        """Return hints for one container; no preference if it stays in the shared pool."""
        count = of_container(pod, container)
        if not count:
            return NO_HINTS
        held = ledger.cpus_of(pod.uid, container.name)
        if held is None:
            reusable = cpu_mask.of_set(ledger.reusable.of_pod(pod.uid))
            return self.offered(self.free(ledger), reusable, count)
        # A container that already has CPUs gets hints for exactly these.
        if len(held) != count:
            # The kubelet returns an empty list of hints here, which the Topology Manager treats as
            # a preference that cannot be satisfied.
            return {CPU: Impossible(OtherSize(container.name, count, len(held)))}
        return self.offered(cpu_mask.of_set(held), cpu_mask.EMPTY, count)

    def pod_hints(self, ledger: CpuLedger, pod: Pod) -> ProviderHints | Refused:
        """Return hints for the whole pod; CPUs that its containers hold are part of them."""
        return self.hints_for(ledger, pod, of_pod(pod))

    def hints_for(self, ledger: CpuLedger, pod: Pod, count: int) -> ProviderHints:
        """Return hints for a total of ``count`` CPUs; no preference for 0."""
        if not count:
            return NO_HINTS
        assigned = cpu_mask.EMPTY
        for container in pod.containers():
            held = ledger.cpus_of(pod.uid, container.name)
            if held is None:
                continue
            asked = of_container(pod, container)
            if len(held) != asked:
                return {CPU: Impossible(OtherSize(container.name, asked, len(held)))}
            assigned |= cpu_mask.of_set(held)
        if assigned.bit_count() == count:
            return self.offered(assigned, cpu_mask.EMPTY, count)
        reusable = cpu_mask.of_set(ledger.reusable.of_pod(pod.uid)) | assigned
        return self.offered(self.free(ledger), reusable, count)

    def offered(self, available: CpuMask, reusable: CpuMask, count: int) -> ProviderHints:
        """Return hints for ``count`` of these CPUs; every set includes the reusable ones."""
        return {CPU: hints.offered(self.sets, available, reusable, count)}

    def free(self, ledger: CpuLedger) -> CpuMask:
        return ledger.default_mask & ~self.reserved.cpus

    def allocate(
        self, ledger: CpuLedger, pod: Pod, container: Container, affinity: Hint
    ) -> CpuLedger | Refused:
        """Move this container's CPUs out of the shared pool."""
        count = of_container(pod, container)
        if not count:
            return ledger
        held = ledger.cpus_of(pod.uid, container.name)
        # As in the kubelet, this check ignores CPUs that the pod may reuse. In some releases it
        # runs even for a container that already has its CPUs.
        if held is None or not self.rules.kept_cpus_may_break_cores:
            broken = self.breaks_cores(ledger, container.name, count)
            if broken is not None:
                return broken
        if held is None:
            available = self.free(ledger) | cpu_mask.of_set(ledger.reusable.of_pod(pod.uid))
            picked = self.picker.pick(available, count, affinity.mask)
            if not isinstance(picked, int):
                return Refused(picked)
            held = cpu_mask.to_set(picked)
            reusable = ledger.reusable.after(pod, container, held)
            return ledger.with_cpus(ContainerKey(pod.uid, container.name), held, picked, reusable)
        return ledger.with_reusable(ledger.reusable.after(pod, container, held))

    def breaks_cores(self, ledger: CpuLedger, container: str, count: int) -> Refused | None:
        """Return why full-pcpus-only refuses this number of CPUs, if it does."""
        if not self.rules.full_pcpus_only:
            return None
        per_core = self.topology.cpus_per_core
        if count % per_core:
            return Refused(NotWholeCores(container, count, per_core))
        available = (ledger.default_mask & ~self._kept).bit_count()
        if count > available:
            return Refused(TooFewWholeCores(container, count, available, per_core))
        return None

    def forget_stale(self, ledger: CpuLedger, active: ActiveContainers) -> CpuLedger:
        """Remove inactive containers. The reusable CPUs stay.

        Kubelet: ``manager.removeStaleState``, v1.32.
        """
        for key in ledger.stale(active):
            ledger = ledger.without(key)
        return ledger

    def forget_pods(self, ledger: CpuLedger, pod_uids: Sequence[str]) -> CpuLedger:
        for uid in pod_uids:
            ledger = ledger.without_pod(uid)
        return ledger

    def holders(self, ledger: CpuLedger, pod_uid: str | None = None) -> Collection[ContainerKey]:
        return ledger.holders(pod_uid)

    def container_started(self, ledger: CpuLedger, pod: Pod, container: Container) -> CpuLedger:
        return ledger


def build(rules: CpuRules, topology: CpuTopology) -> CpuStaticPolicy | Finding:
    """Build the manager, or return why the kubelet would not start on this machine."""
    picker = Picker(topology, rules)
    chosen = reserved.choose(picker)
    if isinstance(chosen, Finding):
        return chosen
    reach = Reach.SOCKETS if rules.align_by_socket else Reach.NODES
    return CpuStaticPolicy(picker, chosen, hints.node_sets(topology, reach))


# A ledger from a state file: the pool and all records together must equal the CPUs of the machine
# (with strict-cpu-reservation: the unreserved ones), and must be disjoint. Kubelet:
# ``staticPolicy.validateState``, v1.32.


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
