"""The manager of the policy static: implements ``core.hints.provider.ResourceManager``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from numalet.core.config.rules import CpuRules
from numalet.core.hints.hint import NO_HINTS, Hint, Impossible, ProviderHints
from numalet.core.hints.provider import ActiveContainers, Refused
from numalet.core.managers.cpu import cpu_mask, demand, hints, reserved
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.demand import CPU
from numalet.core.managers.cpu.hints import NodeSets
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.picking import Picker
from numalet.core.managers.cpu.reasons import NotWholeCores, OtherSize, TooFewWholeCores
from numalet.core.managers.cpu.reserved import ReservedCpus
from numalet.core.managers.cpu.take_aligned import Reach
from numalet.core.managers.cpu.topology import CpuTopology
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Value


class CpuStaticPolicy(Value):
    """Rules, machine and reserved CPUs of one kubelet. Made by ``build``."""

    picker: Picker
    reserved: ReservedCpus
    sets: NodeSets

    @property
    def rules(self) -> CpuRules:
        """The options and the reservation."""
        return self.picker.rules

    @property
    def topology(self) -> CpuTopology:
        return self.picker.topology

    @property
    def allocatable(self) -> CpuSet:
        """The CPUs that containers may ever hold exclusively."""
        return cpu_mask.to_set(self.topology.cpus & ~self.reserved.cpus)

    @property
    def initial_default(self) -> CpuSet:
        """The shared pool of an empty node: all CPUs; strictly without the reserved ones."""
        if self.rules.strict_cpu_reservation:
            return self.allocatable
        return cpu_mask.to_set(self.topology.cpus)

    def most_at_once(self, pool: CpuSet) -> int:
        """How many CPUs of a shared pool the options let one container have."""
        return (cpu_mask.of(pool) & ~self._kept).bit_count()

    @property
    def _kept(self) -> CpuMask:
        """What no container can have because it is reserved, or on a core with what is."""
        return self.reserved.whole_cores if self.rules.full_pcpus_only else self.reserved.cpus

    def container_hints(
        self, ledger: CpuLedger, pod: Pod, container: Container
    ) -> ProviderHints | Refused:
        """Hints for one container; no preference if it stays in the shared pool.

        A container that has CPUs already gets hints for exactly these.
        """
        count = demand.of_container(pod, container)
        if not count:
            return NO_HINTS
        held = ledger.cpus_of(pod.uid, container.name)
        if held is None:
            reusable = cpu_mask.of_set(ledger.reusable.of_pod(pod.uid))
            return self.offered(self.free(ledger), reusable, count)
        if len(held) != count:
            return {CPU: Impossible(OtherSize(container.name, count, len(held)))}
        return self.offered(cpu_mask.of_set(held), cpu_mask.EMPTY, count)

    def pod_hints(self, ledger: CpuLedger, pod: Pod) -> ProviderHints | Refused:
        """Hints for the pod as one; what its containers hold already counts as theirs."""
        return self.hints_for(ledger, pod, demand.of_pod(pod))

    def hints_for(self, ledger: CpuLedger, pod: Pod, count: int) -> ProviderHints:
        """Hints for so many CPUs in all; no preference for none."""
        if not count:
            return NO_HINTS
        assigned = cpu_mask.EMPTY
        for container in pod.containers():
            held = ledger.cpus_of(pod.uid, container.name)
            if held is None:
                continue
            asked = demand.of_container(pod, container)
            if len(held) != asked:
                return {CPU: Impossible(OtherSize(container.name, asked, len(held)))}
            assigned |= cpu_mask.of_set(held)
        if assigned.bit_count() == count:
            return self.offered(assigned, cpu_mask.EMPTY, count)
        reusable = cpu_mask.of_set(ledger.reusable.of_pod(pod.uid)) | assigned
        return self.offered(self.free(ledger), reusable, count)

    def offered(self, available: CpuMask, reusable: CpuMask, count: int) -> ProviderHints:
        """Hints for so many CPUs of these; those to be used again must be in every set."""
        return {CPU: hints.offered(self.sets, available, reusable, count)}

    def free(self, ledger: CpuLedger) -> CpuMask:
        """What of the shared pool may be given away."""
        return ledger.default_mask & ~self.reserved.cpus

    def allocate(
        self, ledger: CpuLedger, pod: Pod, container: Container, affinity: Hint
    ) -> CpuLedger | Refused:
        """The ledger with this container's CPUs taken out of the shared pool.

        The checks of full-pcpus-only come first, even for a container that has its CPUs
        already, and do not count CPUs that the pod may use again.
        """
        count = demand.of_container(pod, container)
        if not count:
            return ledger
        broken = self.breaks_cores(ledger, container.name, count)
        if broken is not None:
            return broken
        held = ledger.cpus_of(pod.uid, container.name)
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
        """Why full-pcpus-only refuses so many CPUs; None if it does not."""
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
        """The ledger without containers that are not active. What may be reused stays.

        Kubelet: ``manager.removeStaleState``, v1.32.
        """
        for key in ledger.stale(active):
            ledger = ledger.without(key)
        return ledger

    def forget_pods(self, ledger: CpuLedger, pod_uids: Sequence[str]) -> CpuLedger:
        """The ledger without these pods, of which no container is active."""
        for uid in pod_uids:
            ledger = ledger.without_pod(uid)
        return ledger

    def holders(self, ledger: CpuLedger, pod_uid: str | None = None) -> Collection[ContainerKey]:
        """Every container that has exclusive CPUs."""
        return ledger.holders(pod_uid)

    def container_started(self, ledger: CpuLedger, pod: Pod, container: Container) -> CpuLedger:
        """The same ledger: a start gives no CPUs back."""
        return ledger


def build(rules: CpuRules, topology: CpuTopology) -> CpuStaticPolicy | Finding:
    """The manager, or why the kubelet would not start with these rules on this machine."""
    picker = Picker(topology, rules)
    chosen = reserved.choose(picker)
    if isinstance(chosen, Finding):
        return chosen
    reach = Reach.SOCKETS if rules.align_by_socket else Reach.NODES
    return CpuStaticPolicy(picker, chosen, hints.node_sets(topology, reach))
