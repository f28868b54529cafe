"""Snapshot: the whole state of a node at one moment, as one immutable value.

It includes all state that outlives a call, even state that the kubelet keeps outside its state
files (stored affinities, reusable memory, active pods, whether all pod sources are ready). It keeps
the sum of all active pods' requests up to date: the kubelet adds up all pods at every admission,
while here a query takes the same time with any number of pods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any, ClassVar, Final, TypeAlias

from numalet.core.hints.provider import Hint
from numalet.core.managers.cpu import ledger as cpu_ledger
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory import ledger as memory_ledger
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model import pod_demand
from numalet.core.model.node_constraints import HostPort
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value, replace, without_keys

Ports: TypeAlias = Mapping[tuple[int, str], tuple[HostPort, ...]]
"""Host ports by number and protocol, one entry for each pod's port."""

NO_PODS: Final[frozenset[str]] = frozenset()


class Requested(Value):
    """The sums. ``amounts`` are by resource: milli-CPUs for CPU, whole units for the rest.

    ``unknown_ports`` is the number of pods that may have unknown ports.
    """

    pods: int = 0
    amounts: Mapping[str, int] = MappingProxyType({})
    ports: Ports = MappingProxyType({})
    unknown_ports: int = 0

    def plus(self, pod: Pod) -> Requested:
        amounts = dict(self.amounts)
        for name, amount in pod_demand.amounts(pod).items():
            amounts[name] = amounts.get(name, 0) + amount
        ports = self.ports
        for port in _ports(pod):
            key = (port.number, port.protocol)
            ports = {**ports, key: (*ports.get(key, ()), port)}
        unknown = self.unknown_ports + (pod.constraints is None)
        return Requested(self.pods + 1, amounts, ports, unknown)

    def minus(self, pod: Pod) -> Requested:
        amounts = dict(self.amounts)
        for name, amount in pod_demand.amounts(pod).items():
            amounts[name] -= amount
            if not amounts[name]:
                del amounts[name]
        ports = self.ports
        for port in _ports(pod):
            key = (port.number, port.protocol)
            left = list(ports[key])
            left.remove(port)
            ports = without_keys(ports, (key,))
            if left:
                ports[key] = tuple(left)
        unknown = self.unknown_ports - (pod.constraints is None)
        return Requested(self.pods - 1, amounts, ports, unknown)

    def has_free(self, port: HostPort) -> bool:
        """Return whether no pod has a conflicting port."""
        held = self.ports.get((port.number, port.protocol), ())
        return not any(port.conflicts_with(other) for other in held)


NOTHING_REQUESTED = Requested()


def sum_of_pods(pods: Iterable[Pod]) -> Requested:
    sums = NOTHING_REQUESTED
    for pod in pods:
        sums = sums.plus(pod)
    return sums


def _ports(pod: Pod) -> tuple[HostPort, ...]:
    return () if pod.constraints is None else pod.constraints.ports


class AsRead(Value):
    """A state file from the start: its text, and the part of the ledger that it became.

    A kubelet rewrites a file only when its content changes. The file therefore stays unchanged,
    including odd formats and checksums, while the ledger still holds this very value.
    """

    text: str
    content: object


class Snapshot(Value, kw_only=True, dict=True):
    """Ledgers, stored affinities, active pods; ``revision`` counts the changes since the start.

    ``pods`` are the active pods by uid in order of admission. ``sums`` is the sum of their
    requests, absent if no predicate uses it, and during an admission. ``assumed`` are containers
    from state files that are treated as running although their pods have no known manifest.

    ``files_as_read`` are state files by name that this kubelet read and has not changed.
    ``extra_ledgers`` are the ledgers of managers that the kubelet does not have, by the manager's
    name. ``sources_ready`` is False between a restart and the moment when every source of pods is
    ready; until then nothing stale is released.
    """

    device: DeviceLedger = device_ledger.EMPTY_LEDGER
    cpu: CpuLedger = cpu_ledger.EMPTY_LEDGER
    memory: MemoryLedger = memory_ledger.EMPTY_LEDGER
    affinities: Mapping[str, Mapping[str, Hint]] = MappingProxyType({})
    pods: Mapping[str, Pod] = MappingProxyType({})
    sums: Requested | None = NOTHING_REQUESTED
    assumed: frozenset[ContainerKey] = frozenset()
    files_as_read: Mapping[str, AsRead] = MappingProxyType({})
    extra_ledgers: Mapping[str, Any] = MappingProxyType({})
    sources_ready: bool = True
    revision: int = 0

    may_be_stale: ClassVar[frozenset[str] | None] = None
    """The pods that may have stale records; None: any pod.

    Not a field, so every change that does not set it in ``__dict__`` resets it.
    """

    def __repr__(self) -> str:
        return f"<Snapshot: pods {len(self.pods)}, revision {self.revision}>"

    def active_containers(self) -> set[ContainerKey]:
        """Return every container of every active pod, and the assumed ones."""
        return {*self.assumed}.union(*[pod.keys for pod in self.pods.values()])

    def with_stale(self, uids: frozenset[str] | None) -> Snapshot:
        """Set the pods that may have stale records, if they are known."""
        if uids is not None:
            self.__dict__["may_be_stale"] = uids
        return self

    def with_one_more_stale(self, uid: str) -> Snapshot:
        """Add a pod with stale records."""
        known = self.may_be_stale
        return self if known is None else self.with_stale(known | {uid})

    def stale_without(self, uids: Collection[str]) -> frozenset[str] | None:
        """Return the pods that may have stale records after these become inactive or change."""
        known = self.may_be_stale
        if known is None or (not self.assumed and self.pods.keys().isdisjoint(uids)):
            return known
        return known.union(uids)

    def gone(self, may_be_stale: frozenset[str] | None) -> tuple[str, ...] | None:
        """Return these pods sorted, if all their containers are inactive."""
        if may_be_stale is None or self.assumed:
            return None
        return None if may_be_stale & self.pods.keys() else tuple(sorted(may_be_stale))

    def with_devices(self, ledger: DeviceLedger) -> Snapshot:
        """Replace the device ledger after a report or a stop of a plugin; all records stay."""
        return replace(self, device=ledger).with_stale(self.may_be_stale)

    def with_pod(self, pod: Pod) -> Snapshot:
        """Make this pod active; its own containers replace the assumed ones."""
        return self.asked_by(pod).after_admission(self, pod, {})

    def _assumed_of_others(self, uids: Set[str]) -> frozenset[ContainerKey]:
        return frozenset(key for key in self.assumed if key.pod_uid not in uids)

    def asked_by(self, pod: Pod) -> Snapshot:
        """Make this pod active for the time of its admission, in the next revision."""
        # Without the sums, because a rejected pod does not need them.
        return replace(
            self,
            revision=self.revision + 1,
            pods={**self.pods, pod.uid: pod},
            sums=None,
            assumed=self.assumed and self._assumed_of_others({pod.uid}),
        ).with_stale(self.stale_without((pod.uid,)))

    def after_admission(
        self, before: Snapshot, pod: Pod, affinities: Mapping[str, Hint]
    ) -> Snapshot:
        """Add the sums and the affinities of a pod that is active from now on."""
        of_pods = {**self.affinities, pod.uid: affinities} if affinities else self.affinities
        if before.sums is None:
            return self if of_pods is self.affinities else replace(self, affinities=of_pods)
        sums = before.requested_by_others(pod.uid).plus(pod)
        return replace(self, sums=sums, affinities=of_pods)

    def after_rejection(
        self, before: Snapshot, pod_uid: str, affinities: Mapping[str, Hint]
    ) -> Snapshot:
        """Make this pod inactive; its records stay in the ledgers."""
        pods, of_pods = before.pods, before.affinities
        if pod_uid in pods:
            pods = without_keys(pods, (pod_uid,))
        # The affinities of a new pod do not stay: no step reads them any more, and on a node that
        # rejects pods all day they would accumulate.
        if pod_uid in of_pods:
            of_pods = {**of_pods, pod_uid: affinities}
        sums = None if before.sums is None else before.requested_by_others(pod_uid)
        return replace(self, pods=pods, sums=sums, affinities=of_pods)

    def after_removal(self, uids: Set[str]) -> Snapshot:
        """Return the next snapshot, after the containers of these pods stopped.

        The pods become inactive and lose their affinities. Their records stay in the ledgers.
        """
        sums, affinities = self.sums, self.affinities
        if sums is not None:
            for uid in uids & self.pods.keys():
                sums = sums.minus(self.pods[uid])
        if not affinities.keys().isdisjoint(uids):
            affinities = without_keys(affinities, uids)
        return replace(
            self,
            pods=without_keys(self.pods, uids),
            sums=sums,
            affinities=affinities,
            assumed=self.assumed and self._assumed_of_others(uids),
            revision=self.revision + 1,
        ).with_stale(self.stale_without(uids))

    @property
    def requested(self) -> Requested:
        """The sum of all active pods' requests."""
        return sum_of_pods(self.pods.values()) if self.sums is None else self.sums

    def requested_by_others(self, pod_uid: str) -> Requested:
        """Return the sum of all active pods' requests without this pod, which may be inactive."""
        pod = self.pods.get(pod_uid)
        return self.requested if pod is None else self.requested.minus(pod)
