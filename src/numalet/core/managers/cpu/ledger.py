"""The CPU Manager's ledger: shared pool, exclusive CPUs of containers, reusable CPUs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
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
    containers that share them have records too. A container's baseline is its first record;
    ``other_baselines`` has those that differ from the present one, None for one without a baseline.
    """

    default: CpuSet = frozenset()
    exclusive: Mapping[str, Mapping[str, CpuSet]] = field(default_factory=dict)
    reusable: ReusableCpus = NOTHING_REUSABLE
    pods: Mapping[str, CpuSet] = field(default_factory=dict)
    other_baselines: Mapping[str, Mapping[str, CpuSet | None]] = field(default_factory=dict)

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
            self._baselines_after(key.pod_uid, {key.container: cpus}),
        )
        return after._with_mask(self.default_mask & ~mask)

    def baselines(self) -> dict[str, dict[str, CpuSet]]:
        """Return the first CPUs of every container, by pod uid and container."""
        others = self.other_baselines
        return {
            uid: {name: cpus for name, cpus in all_.items() if cpus is not None}
            for uid in {**self.exclusive, **others}
            for all_ in [{**self.exclusive.get(uid, {}), **others.get(uid, {})}]
            if uid not in others or any(cpus is not None for cpus in all_.values())
        }

    def with_baselines(self, baselines: Mapping[str, Mapping[str, CpuSet]]) -> CpuLedger:
        """Return the ledger with these baselines, which need not be complete."""
        others: dict[str, dict[str, CpuSet | None]] = {}
        for uid in {**self.exclusive, **baselines}:
            now, first = self.exclusive.get(uid, {}), baselines.get(uid, {})
            of_pod = {n: first.get(n) for n in {**now, **first} if now.get(n) != first.get(n)}
            if of_pod:
                others[uid] = of_pod
        return replace(self, other_baselines=others)

    def _baselines_after(
        self, pod_uid: str, records: Mapping[str, CpuSet]
    ) -> Mapping[str, Mapping[str, CpuSet | None]]:
        """Return the differing baselines after the containers get these records."""
        now, others = self.exclusive.get(pod_uid, {}), self.other_baselines
        if not now and pod_uid not in others:
            return others
        before = others.get(pod_uid, {})
        of_pod = {name: first for name, first in before.items() if name not in records}
        for name, cpus in records.items():
            first = before.get(name, now.get(name))
            if first is not None and first != cpus:
                of_pod[name] = first
        return _with_pod(others, pod_uid, of_pod)

    def _baselines_without(
        self, pod_uid: str, names: Iterable[str]
    ) -> Mapping[str, Mapping[str, CpuSet | None]]:
        if pod_uid not in self.other_baselines:
            return self.other_baselines
        of_pod = without_keys(self.other_baselines[pod_uid], tuple(names))
        return _with_pod(self.other_baselines, pod_uid, of_pod)

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
            self._baselines_after(pod_uid, containers or {}),
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
        exclusive = {**self.exclusive, key.pod_uid: others}
        baselines = self._baselines_without(key.pod_uid, (key.container,))
        return self._released(released, exclusive, self.pods, baselines)

    def without_pod(self, pod_uid: str) -> CpuLedger:
        """Remove all containers of a pod; return the same ledger if it has no records."""
        of_pod = self.exclusive.get(pod_uid)
        if not of_pod:
            return self
        exclusive, pods = without_keys(self.exclusive, (pod_uid,)), self.pods
        baselines = self._baselines_without(pod_uid, of_pod)
        if pod_uid not in pods:
            cpus = cpu_set.EMPTY.union(*of_pod.values())
            return self._released(cpus, exclusive, pods, baselines)
        pods = without_keys(pods, (pod_uid,))
        return self._released(self.pods[pod_uid], exclusive, pods, baselines)

    def _released(
        self,
        cpus: CpuSet,
        exclusive: Mapping[str, Mapping[str, CpuSet]],
        pods: Mapping[str, CpuSet],
        baselines: Mapping[str, Mapping[str, CpuSet | None]],
    ) -> CpuLedger:
        after = CpuLedger(self.default | cpus, exclusive, self.reusable, pods, baselines)
        return after._with_mask(self.default_mask | cpu_mask.of(cpus))


def _with_pod(
    others: Mapping[str, Mapping[str, CpuSet | None]],
    pod_uid: str,
    of_pod: Mapping[str, CpuSet | None],
) -> Mapping[str, Mapping[str, CpuSet | None]]:
    return {**others, pod_uid: of_pod} if of_pod else without_keys(others, (pod_uid,))


EMPTY_LEDGER = CpuLedger()
