"""The subject of a check: one configuration on one machine, with state files and pods."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType

from numalet.core.config import feature_gates, node_allocatable, reservation
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.feature_gates import FeatureGates
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases.release import Release, ReleaseRules
from numalet.core.config.reservation import MemoryParts
from numalet.core.config.rules import MemoryPolicy, TopologyPolicy
from numalet.core.model.device_claims import NO_CLAIMS, ClaimDocuments, PlaceOf
from numalet.core.model.findings import NOWHERE, Findings, Location
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import NO_DEVICES, Devices
from numalet.insight.lint.claim_view import ClaimView


class Host(Value, kw_only=True):
    """Facts about a host; a fact that is not set is unknown.

    ``swap_areas`` are the files and devices used for swap, ``cgroup_version`` is 1 or 2,
    ``has_runtime`` is whether the socket of the container runtime exists.
    """

    swap_areas: tuple[str, ...] | None = None
    cgroup_version: int | None = None
    has_runtime: bool | None = None


class LintSubject(Value, kw_only=True, dict=True):
    """The input of a rule.

    ``numa_balancing`` is the value of ``kernel.numa_balancing``, if known. ``pod_places`` gives
    by the uid of a pod the location of a path such as ``.spec`` in its manifest.
    """

    config: KubeletConfig
    machine: MachineInfo
    state_files: Mapping[str, str] = MappingProxyType({})
    pods: tuple[Pod, ...] = ()
    pod_places: Mapping[str, PlaceOf] = MappingProxyType({})
    numa_balancing: int | None = None
    host: Host = Host()
    behaviour: Behaviour = EXACT
    devices: Devices = NO_DEVICES
    identity: NodeIdentity = UNKNOWN_NODE
    claims: ClaimDocuments = NO_CLAIMS

    @cached_property
    def effective(self) -> KubeletConfig:
        """The configuration with the default thresholds that the kubelet fills in."""
        return node_allocatable.with_default_eviction(
            self.config, self.release_rules, self.machine.os
        )

    @cached_property
    def memory_parts(self) -> MemoryParts | None:
        """The summands of reserved memory, if all of them can be read."""
        findings = Findings()
        parts = reservation.memory_parts(self.effective, self.machine, findings)
        return None if findings.all else parts

    @cached_property
    def gates(self) -> FeatureGates:
        return feature_gates.with_settings(self.config.feature_gates, self.release)

    @property
    def release(self) -> Release:
        return self.behaviour.release

    @cached_property
    def release_rules(self) -> ReleaseRules:
        return self.release.rules_with(self.gates.enabled)

    @cached_property
    def claim_view(self) -> ClaimView:
        return ClaimView(self.claims, self.pods, self.identity.name)

    @property
    def pins_memory(self) -> bool:
        """True if the Memory Manager accounts memory and confines containers to NUMA nodes."""
        counting = (MemoryPolicy.STATIC.value, MemoryPolicy.BEST_EFFORT.value)
        return self.config.memory_manager_policy in counting

    @property
    def aligns(self) -> bool:
        """True if the Topology Manager has a policy, and therefore reads its options."""
        return self.config.topology_manager_policy != TopologyPolicy.NONE.value

    def place_of(self, pod: Pod, container: str) -> Location:
        """Return file and line of a container of a pod, or of the pod, as far as known."""
        path = f"pod {pod}, container {container}" if container else f"pod {pod}"
        at = self.pod_places.get(pod.uid)
        return replace(at(_field(pod, container)) if at is not None else NOWHERE, path=path)


def _field(pod: Pod, container: str) -> str:
    """Return the path of a container in a manifest; of the name of the pod without one."""
    lists = {"containers": pod.app_containers, "initContainers": pod.init_containers}
    found = (
        f".spec.{name}[{index}]"
        for name, containers in lists.items()
        for index, each in enumerate(containers)
        if each.name == container
    )
    return next(found, ".metadata.name")
