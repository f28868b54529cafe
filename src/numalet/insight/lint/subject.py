"""What is checked: one configuration on one machine, with state files and pods."""

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
from numalet.core.model.device_claims import NO_CLAIMS, ClaimDocuments
from numalet.core.model.findings import NOWHERE, Findings, Location
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_identity import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value, replace
from numalet.core.node.node import NO_DEVICES, Devices
from numalet.insight.lint.claim_view import ClaimView


class Host(Value, kw_only=True):
    """What is known of a host; None for what is not.

    ``swap_areas`` are the files and devices that are swapped to, ``cgroup_version`` is 1 or 2,
    ``has_runtime`` whether a socket is where the container runtime should listen.
    """

    swap_areas: tuple[str, ...] | None = None
    cgroup_version: int | None = None
    has_runtime: bool | None = None


class LintSubject(Value, kw_only=True, dict=True):
    """What a rule may read.

    ``numa_balancing`` is the value of ``kernel.numa_balancing``, None if it is unknown.
    ``host`` is what is known of the host otherwise. ``pod_places`` says where a pod was read, by
    uid.
    """

    config: KubeletConfig
    machine: MachineInfo
    state_files: Mapping[str, str] = MappingProxyType({})
    pods: tuple[Pod, ...] = ()
    pod_places: Mapping[str, Location] = MappingProxyType({})
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
        """What must be kept back of memory; None where a part of it can not be read."""
        findings = Findings()
        parts = reservation.memory_parts(self.effective, self.machine, findings)
        return None if findings.all else parts

    @cached_property
    def gates(self) -> FeatureGates:
        """The feature gates as they are set."""
        return feature_gates.with_settings(self.config.feature_gates, self.release)

    @property
    def release(self) -> Release:
        """The release whose kubelet is asked about."""
        return self.behaviour.release

    @cached_property
    def release_rules(self) -> ReleaseRules:
        """The rules of that release, with the feature gates as they are set."""
        return self.release.rules_with(self.gates.enabled)

    @cached_property
    def claim_view(self) -> ClaimView:
        """The claims beside the pods that use them, and the devices of this node."""
        return ClaimView(self.claims, self.pods, self.identity.name)

    @property
    def pins_memory(self) -> bool:
        """Whether the Memory Manager counts memory and confines containers to NUMA nodes."""
        counting = (MemoryPolicy.STATIC.value, MemoryPolicy.BEST_EFFORT.value)
        return self.config.memory_manager_policy in counting

    @property
    def aligns(self) -> bool:
        """Whether the Topology Manager has a policy, and so reads its options."""
        return self.config.topology_manager_policy != TopologyPolicy.NONE.value

    def place_of(self, pod: Pod, container: str) -> Location:
        """Where a container of a pod was read, as far as that is known."""
        where = self.pod_places.get(pod.uid, NOWHERE)
        path = f"pod {pod}, container {container}" if container else f"pod {pod}"
        return replace(where, path=path)
