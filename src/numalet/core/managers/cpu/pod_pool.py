"""The CPUs of a pod that is placed as a whole, and their division among its containers.

Such a pod requests its total CPUs in ``spec.resources``. The manager picks them once, for one
merged hint; they are the pod's pool. A container that is Guaranteed by itself gets exclusive CPUs
of this pool; all others share the rest.

An example, recorded from a kubelet v1.36 (a core is the CPUs i and i+8, CPU 0 is reserved): a pod
with 4 CPUs, init containers i0 (4 CPUs) and i1 (2 CPUs), containers c0 (2 CPUs) and c1 (0).

    the pod     1-2,9-10    picked by the hint
    i0          1-2,9-10    runs alone, so it may have the whole pool
    i1          1,9         runs after i0, from the whole pool again
    c0          1,9         the init containers have ended; these CPUs are exclusive
    c1          2,10        the shared rest, here without other containers

Kubelet: ``staticPolicy.AllocatePod``, ``validatePodScopeResources``, v1.36.
"""

from __future__ import annotations

from numalet.core.hints.provider import (
    NO_HINTS,
    WHOLE_POD,
    Hint,
    Impossible,
    ProviderHints,
    Refused,
    RefusedMidway,
)
from numalet.core.managers.cpu import cpu_mask, static_policy
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.reasons import NoCpusToShare, NoCpusToShareAtStart, Unpickable
from numalet.core.managers.cpu.static_policy import CPU, CpuStaticPolicy
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKind, Pod
from numalet.core.model.value import Value


class CpuPodPools(Value):
    policy: CpuStaticPolicy
    are_placed_anew: bool
    """Kubelet bug: a restart picks CPUs for a running pod again, and forgets the first ones."""

    def hints(self, ledger: CpuLedger, pod: Pod) -> ProviderHints:
        """Return hints for the pod's CPUs; no preference unless it requests a whole number."""
        total = static_policy.of_pod_level(pod)
        if not total:
            return NO_HINTS
        if self._stays(ledger, pod, total):
            # A state file may list CPUs here that the machine does not have.
            there = ledger.pods[pod.uid] & self.policy.initial_default
            held = cpu_mask.of_set(there)
            return self.policy.offered(held, cpu_mask.EMPTY, total)
        lack = nothing_to_share(pod, total)
        if lack is not None:
            return {CPU: Impossible(lack)}
        # Kubelet bug: it compares the containers' CPUs with their own requests, without the pod's.
        return self.policy.hints_for(ledger, pod, total)

    def allocate(self, ledger: CpuLedger, pod: Pod, affinity: Hint) -> CpuLedger | Refused:
        """Assign CPUs to the pod, and parts of them to every container."""
        total = static_policy.of_pod_level(pod)
        if not total or self._stays(ledger, pod, total):
            return ledger
        lack = nothing_to_share(pod, total)
        if lack is not None:
            return Refused(lack)
        # full-pcpus-only is checked for the pod's total only; parts of containers may split cores.
        broken = self.policy.breaks_cores(ledger, WHOLE_POD, total)
        if broken is not None:
            return broken
        # Nothing is reusable here: init containers take from the pod's own pool, not from the node.
        pool = self.policy.picker.pick(self.policy.free(ledger), total, affinity.mask)
        if not isinstance(pool, int):
            return Refused(pool)
        parts = self._parts(pod, pool)
        cpus = cpu_mask.to_set(pool)
        if isinstance(parts, dict):
            return ledger.with_pod(pod.uid, cpus, parts)
        # If the parts cannot be picked, the kubelet keeps the pod's CPUs without any parts.
        if not self.are_placed_anew:
            return Refused(parts)
        return RefusedMidway(parts, ledger.with_pod(pod.uid, cpus, None))

    def _stays(self, ledger: CpuLedger, pod: Pod, total: int) -> bool:
        return not self.are_placed_anew and len(ledger.pods.get(pod.uid, ())) == total

    def _parts(self, pod: Pod, pool: CpuMask) -> dict[str, CpuSet] | Unpickable:
        take = self.policy.picker.take
        parts: dict[str, CpuMask] = {}
        left = pool
        for container in pod.containers():
            count = static_policy.of_container(pod, container)
            if not count:
                # An init container that shares runs on everything that earlier sidecars left.
                # Others that share get the final rest, below.
                if container.kind is ContainerKind.INIT:
                    parts[container.name] = left
                continue
            # No affinity here: the pool was already picked for the hint of the pod.
            picked = take(left, count)
            if not isinstance(picked, int):
                return picked
            parts[container.name] = picked
            # Init containers do not use up the pool.
            if container.kind is not ContainerKind.INIT:
                left &= ~picked
        return {
            container.name: cpu_mask.to_set(parts.get(container.name, left))
            for container in pod.containers()
        }


def nothing_to_share(pod: Pod, total: int) -> NoCpusToShare | NoCpusToShareAtStart | None:
    """Return why a container that shares would have no CPUs, if so.

    Kubelet: ``staticPolicy.validatePodScopeResources``, v1.36.
    """
    exclusive = 0
    some_share = False
    for container in pod.containers():
        count = static_policy.of_container(pod, container)
        if container.kind is not ContainerKind.INIT:
            exclusive += count
            some_share = some_share or not count
        elif not count and exclusive >= total:
            return NoCpusToShareAtStart(container.name, total, exclusive)
    if some_share and exclusive >= total:
        return NoCpusToShare(total, exclusive)
    return None
