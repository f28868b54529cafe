"""Cgroup settings that follow from the node state, for the worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from numalet.agent.controller.node_state import NodeState
from numalet.core.enforcement import cgroup_paths, comparison, desired
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import Audit, Reality
from numalet.core.enforcement.limits import Limits
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.value import Value
from numalet.core.snapshot.snapshot import Snapshot
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerPhase

_UP: Final = (ContainerPhase.STARTING, ContainerPhase.RUNNING)
_MOST_BRANCHES: Final = 64
"""Bounds the cache; pods with concurrently starting containers."""


class _Branch(Value):
    """A pod's cgroup and its inputs."""

    pod: Pod
    holds_cpus: bool
    cgroups: Mapping[str, CgroupSettings]


@dataclass(frozen=True, slots=True)
class DesiredSettings:
    """Settings by the kubelet's formulas; ``limits`` apply to all pods."""

    limits: Limits
    _branches: dict[str, _Branch] = field(default_factory=dict, compare=False, repr=False)
    """Each is requested once per container of its pod."""

    def tree(self, state: NodeState) -> Mapping[str, CgroupSettings]:
        """Cgroups above the containers, of every pod that runs or may run."""
        snapshot = state.node.snapshot
        pods = [
            record.workload.pod
            for uid, record in state.records.items()
            if uid in snapshot.pods
            or any(run.phase in _UP for run in record.run.containers.values())
        ]
        return desired.tree(self.limits, snapshot, pods)

    def branch(self, state: NodeState, pod_uid: str) -> Mapping[str, CgroupSettings]:
        """The cgroup of one pod by path; not its parents, which are sums over all pods."""
        pod, snapshot = state.records[pod_uid].workload.pod, state.node.snapshot
        holds = bool(snapshot.cpu.exclusive.get(pod_uid))
        known = self._branches.get(pod_uid)
        # These are all inputs of the pod's own settings: the manifest, and whether it has exclusive
        # CPUs, which decides about its quota.
        if known is not None and known.pod is pod and known.holds_cpus is holds:
            return known.cgroups
        if len(self._branches) >= _MOST_BRANCHES:
            self._branches.clear()
        path = cgroup_paths.of_pod(pod)
        branch = _Branch(pod, holds, {path: desired.pod(self.limits, snapshot, pod)})
        self._branches[pod_uid] = branch
        return branch.cgroups

    def container(self, state: NodeState, key: ContainerKey) -> ContainerSettings:
        return self.settings(state.records, state.node.snapshot, key)

    def settings(
        self, records: Mapping[str, PodRecord], snapshot: Snapshot, key: ContainerKey
    ) -> ContainerSettings:
        """As ``container``, from only the required parts of the state."""
        workload = records[key.pod_uid].workload
        return desired.container(
            self.limits, snapshot, workload.pod, key.container, workload.priority_class
        )

    def cpus(self, state: NodeState, key: ContainerKey) -> CpuSet | None:
        """The CPUs; no other setting changes while a container runs."""
        return desired.cpus(state.node.snapshot, key.pod_uid, key.container)

    def audit(self, state: NodeState, key: ContainerKey, seen: Reality, now: datetime) -> Audit:
        """Compare the kernel's report with the allocation."""
        return comparison.audit(self.container(state, key).cgroup, seen, now)
