"""The CPU Manager's ledger: shared pool, exclusive CPUs of containers, reusable CPUs."""

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
        return self.cpus if pod_uid == self.pod_uid else cpu_set.EMPTY

    def after(self, pod: Pod, container: Container, cpus: CpuSet) -> ReusableCpus:
        """Return the reusable CPUs after this container got ``cpus``; forget those of other pods.

        Kubelet: ``staticPolicy.updateCPUsToReuse``, v1.32.
        """
        before = self.of_pod(pod.uid)
        is_init = any(
            init.name == container.name and init.kind is ContainerKind.INIT
            for init in pod.init_containers
        )
        # An init container has ended when the next one runs, so its CPUs become reusable. A
        # sidecar or an app container keeps its CPUs.
        return ReusableCpus(pod.uid, before | cpus if is_init else before - cpus)


NOTHING_REUSABLE = ReusableCpus("", cpu_set.EMPTY)


class CpuLedger(Value, dict=True):
    """The CPU Manager's state: CPU ids by pod uid and container.

    Containers of one pod may hold the same CPU: an init container and later ones. ``pods`` has, by
    uid, the CPUs of pods that were placed as a whole. Their containers divide these CPUs;
    containers that share them have records too.
    """

    default: CpuSet = frozenset()
    exclusive: Mapping[str, Mapping[str, CpuSet]] = field(default_factory=dict)
    reusable: ReusableCpus = NOTHING_REUSABLE
    pods: Mapping[str, CpuSet] = field(default_factory=dict)

    @cached_property
    def default_mask(self) -> CpuMask:
        return cpu_mask.of(self.default)

    def _with_mask(self, mask: CpuMask) -> CpuLedger:
        self.__dict__["default_mask"] = mask
        return self

    def cpus_of(self, pod_uid: str, container: str) -> CpuSet | None:
        """Return the exclusive CPUs of a container, if it has a record."""
        return self.exclusive.get(pod_uid, {}).get(container)

    def holders(self, pod_uid: str | None = None) -> list[ContainerKey]:
        """Return every container with a record, of one pod or of all."""
        return container_keys(self.exclusive, pod_uid)

    def stale(self, active: Set[ContainerKey]) -> list[ContainerKey]:
        """Return the inactive containers with a record, sorted."""
        return sorted({*self.holders()} - active)

    def with_cpus(
        self, key: ContainerKey, cpus: CpuSet, mask: CpuMask, reusable: ReusableCpus
    ) -> CpuLedger:
        """Assign these CPUs to the container and remove them from the pool.

        ``mask`` is ``cpus`` as a mask; ``reusable`` replaces the reusable CPUs.
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
        return replace(self, reusable=reusable)._with_mask(self.default_mask)

    def with_pod(
        self, pod_uid: str, cpus: CpuSet, containers: Mapping[str, CpuSet] | None
    ) -> CpuLedger:
        """Assign these CPUs to a whole pod, and parts of them to its containers.

        Without ``containers`` the containers keep their records.
        """
        kept = {} if containers is None else {pod_uid: containers}
        return CpuLedger(
            self.default - cpus,
            {**self.exclusive, **kept},
            self.reusable,
            {**self.pods, pod_uid: cpus},
        )

    def without(self, key: ContainerKey) -> CpuLedger:
        """Remove a container that has a record.

        Kubelet: ``staticPolicy.RemoveContainer``, v1.32 and v1.36.
        """
        of_pod = self.exclusive[key.pod_uid]
        others = without_keys(of_pod, (key.container,))
        if not others:
            return self.without_pod(key.pod_uid)
        # Only CPUs that no other container of the pod holds return to the pool. A whole pod's
        # CPUs return with its last container.
        released = of_pod[key.container].difference(*others.values())
        if key.pod_uid in self.pods:
            released = cpu_set.EMPTY
        return self._released(released, {**self.exclusive, key.pod_uid: others}, self.pods)

    def without_pod(self, pod_uid: str) -> CpuLedger:
        """Remove all containers of a pod; return the same ledger if it has no records."""
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
        after = CpuLedger(self.default | cpus, exclusive, self.reusable, pods)
        return after._with_mask(self.default_mask | cpu_mask.of(cpus))


EMPTY_LEDGER = CpuLedger()
