"""Snapshot: the whole state of a node at one moment, as one immutable value.

Everything that outlives a call is in here, also what the kubelet keeps outside its state files
(stored affinities, reusable memory, active pods, whether all pod sources were seen). Changing
means building the next snapshot; an older one stays whole for those who hold it. That is
what makes what-if, explanations, roll-back and readers without locks free.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from types import MappingProxyType
from typing import Any, Final

from numalet.core.hints.hint import Hint
from numalet.core.managers.cpu import ledger as cpu_ledger
from numalet.core.managers.cpu.ledger import CpuLedger
from numalet.core.managers.device import ledger as device_ledger
from numalet.core.managers.device.ledger import DeviceLedger
from numalet.core.managers.memory import ledger as memory_ledger
from numalet.core.managers.memory.ledger import MemoryLedger
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value, replace, without_keys
from numalet.core.snapshot import requested
from numalet.core.snapshot.requested import NOTHING_REQUESTED, Requested

NO_PODS: Final[frozenset[str]] = frozenset()


class AsRead(Value):
    """A state file as it was read at the start: its text, and the part of the ledger it became.

    A kubelet does not rewrite a file before something in it changes, so the file stays as it is,
    odd formats and checksums included, as long as the ledger still holds this very value.
    """

    text: str
    content: object


class Snapshot(Value, kw_only=True, dict=True):
    """Ledgers, stored affinities, active pods; ``revision`` counts the changes since the start.

    ``pods`` are the active pods by uid in order of admission. ``sums`` is what they ask for, kept
    up to date, or None where no predicate asks for it, and while an admission goes on. ``assumed``
    are containers that count as running although no manifest is known for their pod: they come from
    state files. ``files_as_read`` are state files by name that this kubelet read and has not
    changed. ``extra_ledgers`` are those of managers that the kubelet does not have, by the
    manager's name. ``sources_ready`` is false between a restart and the moment when every source of
    pods is ready; as long as it is false nothing stale is cleaned.
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

    def __repr__(self) -> str:
        return f"<Snapshot: pods {len(self.pods)}, revision {self.revision}>"

    def active_containers(self) -> set[ContainerKey]:
        """Every container of every active pod, and those assumed running."""
        return {*self.assumed}.union(*[pod.keys for pod in self.pods.values()])

    @property
    def may_be_stale(self) -> frozenset[str] | None:
        """The pods of which a manager may hold what it would forget; None where any may be one.

        No field, so that every change forgets it that does not say what it is from then on.
        """
        known: frozenset[str] | None = self.__dict__.get("may_be_stale")
        return known

    def with_stale(self, uids: frozenset[str] | None) -> Snapshot:
        """The same snapshot, of which that is known."""
        if uids is not None:
            self.__dict__["may_be_stale"] = uids
        return self

    def with_one_more_stale(self, uid: str) -> Snapshot:
        """The same snapshot, of which it is known that this pod left something."""
        known = self.may_be_stale
        return self if known is None else self.with_stale(known | {uid})

    def stale_without(self, uids: Collection[str]) -> frozenset[str] | None:
        """The pods of which something may be stale once these are not active, or are others."""
        known = self.may_be_stale
        if known is None or (not self.assumed and self.pods.keys().isdisjoint(uids)):
            return known
        return known.union(uids)

    def gone(self, may_be_stale: frozenset[str] | None) -> tuple[str, ...] | None:
        """The same pods in order, if no container of any of them is active; else None."""
        if may_be_stale is None or self.assumed:
            return None
        return None if may_be_stale & self.pods.keys() else tuple(sorted(may_be_stale))

    def with_devices(self, ledger: DeviceLedger) -> Snapshot:
        """The snapshot after device plugins reported something, or stopped; all records stay."""
        return replace(self, device=ledger).with_stale(self.may_be_stale)

    def with_pod(self, pod: Pod) -> Snapshot:
        """The snapshot in which this pod is active; what was assumed of it is known now."""
        return self.asked_by(pod).after_admission(self, pod)

    def _assumed_of_others(self, uids: Set[str]) -> frozenset[ContainerKey]:
        return frozenset(key for key in self.assumed if key.pod_uid not in uids)

    def asked_by(self, pod: Pod) -> Snapshot:
        """The snapshot in which this pod is active as long as its admission goes on.

        It has the next revision, whatever the decision will be. Its sums are not made yet, as they
        are not needed if it is rejected.
        """
        return replace(
            self,
            revision=self.revision + 1,
            pods={**self.pods, pod.uid: pod},
            sums=None,
            assumed=self.assumed and self._assumed_of_others({pod.uid}),
        ).with_stale(self.stale_without((pod.uid,)))

    def after_admission(self, before: Snapshot, pod: Pod) -> Snapshot:
        """The snapshot with the sums of a pod that is active from now on."""
        if before.sums is None:
            return self
        return replace(self, sums=before.requested_by_others(pod.uid).plus(pod))

    def after_rejection(self, before: Snapshot, pod_uid: str) -> Snapshot:
        """The snapshot in which this pod is not active, if it was not so before its admission.

        Its records stay in the ledgers. Its affinities do not stay: nothing asks for them any more,
        and a node that rejects pods all day would keep those of all.
        """
        pods, affinities = before.pods, self.affinities
        if pod_uid in pods:
            pods = without_keys(pods, (pod_uid,))
        if pod_uid not in before.affinities:
            affinities = before.affinities
        sums = None if before.sums is None else before.requested_by_others(pod_uid)
        return replace(self, pods=pods, sums=sums, affinities=affinities)

    def after_removal(self, uids: Set[str]) -> Snapshot:
        """The next snapshot, once the containers of these pods have stopped.

        The pods are not active and have no affinities. Their records stay in the ledgers.
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
        """What all active pods ask for together."""
        return requested.of_pods(self.pods.values()) if self.sums is None else self.sums

    def requested_by_others(self, pod_uid: str) -> Requested:
        """What all active pods but this one ask for; it need not be active."""
        pod = self.pods.get(pod_uid)
        return self.requested if pod is None else self.requested.minus(pod)

    def with_affinity(self, pod_uid: str, container: str, affinity: Hint) -> Snapshot:
        """The snapshot with the affinity chosen for a container."""
        of_pod = {**self.affinities.get(pod_uid, {}), container: affinity}
        return replace(self, affinities={**self.affinities, pod_uid: of_pod})
