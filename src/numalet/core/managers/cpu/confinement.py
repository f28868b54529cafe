"""Pods without exclusive CPUs that run on the shared CPUs of one NUMA node. Not in the kubelet.

Such a pod requests ``SHARED_CPU``, an amount without names of CPUs. The sum of these requests on a
NUMA node never exceeds its shared CPUs, reserved ones excluded: a confined pod goes to a node with
room, and exclusive CPUs are taken only where the confined pods keep enough.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from typing import Final

from numalet.core.hints.provider import (
    NO_HINTS,
    ActiveContainers,
    Candidates,
    Hint,
    Impossible,
    ProviderHints,
    Refused,
)
from numalet.core.managers.cpu import cpu_mask, static_policy
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.cpu.reasons import ConfinedPodsNeedThem, NoRoomToShare
from numalet.core.managers.cpu.static_policy import CpuStaticPolicy
from numalet.core.model import numa_mask, pod_demand
from numalet.core.model.pod import Container, ContainerKey, Pod
from numalet.core.model.value import Value, replace, without_keys

SHARED_CPU: Final = "numalet.dev/shared-cpu"
"""Resource that a confined pod requests, a quantity like that of ``cpu``; it may be 0."""
PROVIDER: Final = "shared-cpu"


class Spread(Enum):
    """The NUMA nodes that a confined pod is offered."""

    ANY = "any"
    ROOMIEST = "roomiest"
    """Only those with the most room."""


class Confined(Value):
    """The NUMA node of a pod, and its request in thousandths of a CPU."""

    node_id: int
    milli: int


class SharedLedger(Value):
    """The CPU Manager's ledger, and the confined pods by uid."""

    cpu: CpuLedger
    confined: Mapping[str, Confined]


def requested_milli(pod: Pod) -> int | None:
    """Return the pod's request of shared CPUs; None if it is not confined."""
    asked = pod_demand.effective_requests(pod).get(SHARED_CPU)
    return None if asked is None else asked.milli_value


class Confinement(Value):
    """The manager. A pod is placed as a whole, so it needs a single NUMA node and pod scope."""

    policy: CpuStaticPolicy
    spread: Spread = Spread.ANY

    def container_hints(
        self, ledger: SharedLedger, pod: Pod, container: Container
    ) -> ProviderHints:
        if requested_milli(pod) is not None:
            return self.pod_hints(ledger, pod)
        if ledger.cpu.cpus_of(pod.uid, container.name) is not None:
            return NO_HINTS
        return self._sparing(ledger, pod, static_policy.of_container(pod, container))

    def pod_hints(self, ledger: SharedLedger, pod: Pod) -> ProviderHints:
        asked = requested_milli(pod)
        if asked is None:
            if ledger.cpu.holders(pod.uid):
                return NO_HINTS
            return self._sparing(ledger, pod, static_policy.of_pod(pod))
        held = ledger.confined.get(pod.uid)
        if held is not None:
            return {SHARED_CPU: _only([held.node_id])}
        rooms = self._rooms(ledger)
        most = max(rooms.values())
        if most < asked:
            return {SHARED_CPU: Impossible(NoRoomToShare(asked, max(most, 0)))}
        least = most if self.spread is Spread.ROOMIEST else asked
        return {SHARED_CPU: _only([node for node, room in rooms.items() if room >= least])}

    def _sparing(self, ledger: SharedLedger, pod: Pod, count: int) -> ProviderHints:
        """Return the sets that give exclusive CPUs without those that confined pods need."""
        # A pod that is no longer confined gives its own room up.
        ledger = self.forget_pods(ledger, (pod.uid,))
        if not count or not ledger.confined:
            return NO_HINTS
        free, held = self.policy.free(ledger.cpu), _sums(ledger)
        for node_id, cpus, _ in self.policy.topology.nodes:
            needed = -(-held.get(node_id, 0) // 1000)
            free &= ~cpu_mask.of(cpu_mask.ids(free & cpus)[:needed])
        reusable = cpu_mask.of_set(ledger.cpu.reusable.of_pod(pod.uid))
        return self.policy.offered(free, reusable, count)

    def _rooms(self, ledger: SharedLedger) -> dict[int, int]:
        """Return by NUMA node with CPUs how many thousandths no confined pod requested."""
        free, held = self.policy.free(ledger.cpu), _sums(ledger)
        return {
            node_id: (cpus & free).bit_count() * 1000 - held.get(node_id, 0)
            for node_id, cpus, _ in self.policy.topology.nodes
        }

    def allocate(
        self, ledger: SharedLedger, pod: Pod, container: Container, affinity: Hint
    ) -> SharedLedger | Refused:
        """Confine the pod; or refuse exclusive CPUs, which the CPU Manager has just given."""
        asked, held = requested_milli(pod), ledger.confined.get(pod.uid)
        if asked is not None:
            nodes = numa_mask.ids(affinity.mask or numa_mask.EMPTY)
            if held is None and not nodes:
                return Refused(NoRoomToShare(asked, 0))
            node_id = nodes[0] if held is None else held.node_id
            after = Confined(node_id, asked)
            if after == held:
                return ledger
            return replace(ledger, confined={**ledger.confined, pod.uid: after})
        ledger = self.forget_pods(ledger, (pod.uid,))
        if ledger.confined and static_policy.of_container(pod, container):
            node_id, room = min(self._rooms(ledger).items(), key=lambda each: each[1])
            if room < 0:
                return Refused(ConfinedPodsNeedThem(node_id, -room))
        return ledger

    def forget_stale(self, ledger: SharedLedger, active: ActiveContainers) -> SharedLedger:
        alive = {key.pod_uid for key in active}
        return self.forget_pods(ledger, [uid for uid in ledger.confined if uid not in alive])

    def forget_pods(self, ledger: SharedLedger, pod_uids: Sequence[str]) -> SharedLedger:
        if ledger.confined.keys().isdisjoint(pod_uids):
            return ledger
        return replace(ledger, confined=without_keys(ledger.confined, pod_uids))

    def holders(self, ledger: SharedLedger, pod_uid: str | None = None) -> Collection[ContainerKey]:
        """Return nothing: a confined pod holds an amount and no CPU."""
        return ()

    def container_started(
        self, ledger: SharedLedger, pod: Pod, container: Container
    ) -> SharedLedger:
        return ledger


def _only(node_ids: Sequence[int]) -> Candidates:
    return Candidates(tuple(Hint(1 << node_id, True) for node_id in sorted(node_ids)))


def _sums(ledger: SharedLedger) -> dict[int, int]:
    sums: dict[int, int] = {}
    for each in ledger.confined.values():
        sums[each.node_id] = sums.get(each.node_id, 0) + each.milli
    return sums


def cpus_of(policy: CpuStaticPolicy, node_id: int) -> CpuMask:
    """Return all CPUs of a NUMA node."""
    return next((cpus for each, cpus, _ in policy.topology.nodes if each == node_id), 0)
