"""CpuLedger: the shared pool, the exclusive CPUs of containers, and what may be used again."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cached_property

from numalet.core.managers.cpu import cpu_mask
from numalet.core.managers.cpu.cpu_mask import CpuMask
from numalet.core.model import cpu_set
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Container, ContainerKey, ContainerKind, Pod, container_keys
from numalet.core.model.value import Value, field, replace, without_keys


class ReusableCpus(Value):
    """CPUs of one pod's init containers that its later containers may take."""

    pod_uid: str
    cpus: CpuSet

    def of_pod(self, pod_uid: str) -> CpuSet:
        """What this pod may use again."""
        return self.cpus if pod_uid == self.pod_uid else cpu_set.EMPTY

    def after(self, pod: Pod, container: Container, cpus: CpuSet) -> ReusableCpus:
        """What may be used again after this container got these CPUs. Other pods' is forgotten.

        An init container's CPUs become free for reuse; a sidecar or an app container keeps what
        it took. Kubelet: ``staticPolicy.updateCPUsToReuse``, v1.32.
        """
        before = self.of_pod(pod.uid)
        is_init = any(
            init.name == container.name and init.kind is ContainerKind.INIT
            for init in pod.init_containers
        )
        return ReusableCpus(pod.uid, before | cpus if is_init else before - cpus)


NOTHING_REUSABLE = ReusableCpus("", cpu_set.EMPTY)


class CpuLedger(Value, dict=True):
    """Everything that the CPU Manager remembers: CPU ids by pod uid and container.

    Containers of one pod may hold the same CPU: an init container and those after it. ``pods`` has
    the CPUs of pods that were placed as a whole, by uid: their containers divide these, and those
    that share have records too.
    """

    default: CpuSet = frozenset()
    exclusive: Mapping[str, Mapping[str, CpuSet]] = field(default_factory=dict)
    reusable: ReusableCpus = NOTHING_REUSABLE
    pods: Mapping[str, CpuSet] = field(default_factory=dict)

    @cached_property
    def default_mask(self) -> CpuMask:
        """The shared pool as a mask."""
        return cpu_mask.of(self.default)

    def _with_mask(self, mask: CpuMask) -> CpuLedger:
        """The same ledger, which need not compute the mask of its shared pool."""
        self.__dict__["default_mask"] = mask
        return self

    def cpus_of(self, pod_uid: str, container: str) -> CpuSet | None:
        """Exclusive CPUs of a container; None if it has no record."""
        return self.exclusive.get(pod_uid, {}).get(container)

    def holders(self, pod_uid: str | None = None) -> list[ContainerKey]:
        """Every container that has a record; of one pod, or of all."""
        return container_keys(self.exclusive, pod_uid)

    def stale(self, active: Set[ContainerKey]) -> list[ContainerKey]:
        """The containers that have a record and are not active, in order."""
        return sorted({*self.holders()} - active)

    def with_cpus(
        self, key: ContainerKey, cpus: CpuSet, mask: CpuMask, reusable: ReusableCpus
    ) -> CpuLedger:
        """The ledger in which the container holds these CPUs and the pool has lost them.

        ``mask`` are the same CPUs, ``reusable`` is what may be used again then.
        """
        of_pod = {**self.exclusive.get(key.pod_uid, {}), key.container: cpus}
        after = CpuLedger(
            self.default - cpus,
            {**self.exclusive, key.pod_uid: of_pod},
            reusable,
            self.pods,
        )
        return after._with_mask(self.default_mask & ~mask)

    def with_reusable(self, reusable: ReusableCpus) -> CpuLedger:
        """The ledger in which this may be used again."""
        return replace(self, reusable=reusable)._with_mask(self.default_mask)

    def with_pod(
        self, pod_uid: str, cpus: CpuSet, containers: Mapping[str, CpuSet] | None
    ) -> CpuLedger:
        """The ledger in which a pod as a whole has these CPUs, its containers their parts of them.

        None keeps the records that the containers have.
        """
        kept = {} if containers is None else {pod_uid: containers}
        return CpuLedger(
            self.default - cpus,
            {**self.exclusive, **kept},
            self.reusable,
            {**self.pods, pod_uid: cpus},
        )

    def without(self, key: ContainerKey) -> CpuLedger:
        """The ledger without a container that has a record.

        What no other container of its pod holds goes back into the pool. What a pod has as a whole
        goes back with the record of its last container.
        Kubelet: ``staticPolicy.RemoveContainer``, v1.32 and v1.36.
        """
        of_pod = self.exclusive[key.pod_uid]
        others = without_keys(of_pod, (key.container,))
        if not others:
            return self.without_pod(key.pod_uid)
        released = of_pod[key.container].difference(*others.values())
        if key.pod_uid in self.pods:
            released = cpu_set.EMPTY
        return self._released(released, {**self.exclusive, key.pod_uid: others}, self.pods)

    def without_pod(self, pod_uid: str) -> CpuLedger:
        """The ledger without all containers of a pod; the same one if it has no records."""
        of_pod = self.exclusive.get(pod_uid)
        if not of_pod:
            return self
        exclusive, pods = without_keys(self.exclusive, (pod_uid,)), self.pods
        if pod_uid not in pods:
            return self._released(cpu_set.EMPTY.union(*of_pod.values()), exclusive, pods)
        return self._released(pods[pod_uid], exclusive, without_keys(pods, (pod_uid,)))

    def _released(
        self,
        cpus: CpuSet,
        exclusive: Mapping[str, Mapping[str, CpuSet]],
        pods: Mapping[str, CpuSet],
    ) -> CpuLedger:
        """The ledger with these records, and these CPUs back in the pool."""
        after = CpuLedger(self.default | cpus, exclusive, self.reusable, pods)
        return after._with_mask(self.default_mask | cpu_mask.of(cpus))


EMPTY_LEDGER = CpuLedger()
