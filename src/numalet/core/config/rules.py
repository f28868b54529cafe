"""NodeRules: a configuration resolved against one machine, ready for the managers.

Only ``start.resolve`` builds it, so the kubelet's managers accept its configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.config.releases.release import V1_32_RULES, Release, ReleaseRules
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.findings import Finding
from numalet.core.model.machine_info import MachineInfo
from numalet.core.model.node_constraints import UNKNOWN_NODE, NodeIdentity
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value


class TopologyPolicy(Enum):
    NONE = "none"
    BEST_EFFORT = "best-effort"
    RESTRICTED = "restricted"
    SINGLE_NUMA_NODE = "single-numa-node"


class Scope(Enum):
    """The unit that the Topology Manager aligns."""

    CONTAINER = "container"
    POD = "pod"


class MemoryPolicy(Enum):
    NONE = "None"
    STATIC = "Static"
    BEST_EFFORT = "BestEffort"


class CpuPolicy(Enum):
    NONE = "none"
    STATIC = "static"


class TopologyRules(Value, kw_only=True):
    """Policy, scope and options of the Topology Manager; ``node_limit`` None: no limit."""

    policy: TopologyPolicy = TopologyPolicy.NONE
    scope: Scope = Scope.CONTAINER
    prefer_closest_numa_nodes: bool = False
    node_limit: int | None = 8


class MemoryRules(Value, kw_only=True):
    """Policy of the Memory Manager; reserved bytes per node id and memory type."""

    policy: MemoryPolicy = MemoryPolicy.NONE
    system_reserved: Mapping[int, Mapping[str, int]] = MappingProxyType({})


class CpuRules(Value, kw_only=True):
    """Policy and options of the CPU Manager, and three rules of a release by their names.

    Policy static reserves ``reserved_count`` CPUs; ``reserved_cpus`` None: the policy picks them
    with its own algorithm.
    """

    policy: CpuPolicy = CpuPolicy.NONE
    full_pcpus_only: bool = False
    distribute_cpus_across_numa: bool = False
    align_by_socket: bool = False
    distribute_cpus_across_cores: bool = False
    strict_cpu_reservation: bool = False
    prefer_align_cpus_by_uncore_cache: bool = False
    odd_requests_drop_one_cpu: bool = False
    kept_cpus_may_break_cores: bool = False
    one_socket_is_preferred: bool = False
    reserved_count: int = 0
    reserved_cpus: CpuSet | None = None


class NodeRules(Value, kw_only=True):
    """The rules of a node; they are constant while its kubelet runs."""

    machine: MachineInfo
    topology: TopologyRules = TopologyRules()
    memory: MemoryRules = MemoryRules()
    cpu: CpuRules = CpuRules()
    reservation: Mapping[str, Quantity] = MappingProxyType({})
    behaviour: Behaviour = EXACT
    release_rules: ReleaseRules = V1_32_RULES
    """The rules of the release under these feature gates."""
    max_pods: int = 110
    """The maximum number of pods on the node."""
    identity: NodeIdentity = UNKNOWN_NODE
    managers_are_stand_ins: bool = False
    """Windows without its feature gate: the managers align and store nothing."""

    @property
    def release(self) -> Release:
        """The release that numalet follows."""
        return self.behaviour.release

    def __repr__(self) -> str:
        return (
            f"<NodeRules: topology {self.topology.policy.value}, cpu {self.cpu.policy.value},"
            f" memory {self.memory.policy.value}, {self.behaviour.mode.value} mode>"
        )


class StartStage(Enum):
    """The stages of a kubelet's start that can fail, in order."""

    FLAGS = "flags"
    CONFIG_DECODE = "config-decode"
    CONFIG_VALIDATION = "config-validation"
    RESERVED_CPUS = "reserved-cpus"
    KUBE_RESERVED = "kube-reserved"
    SYSTEM_RESERVED = "system-reserved"
    EVICTION_HARD = "eviction-hard"
    POLICY_OPTIONS = "policy-options"
    TOPOLOGY_MANAGER = "topology-manager"
    CPU_MANAGER = "cpu-manager"
    MEMORY_MANAGER = "memory-manager"
    CPU_MANAGER_START = "cpu-manager-start"
    MEMORY_MANAGER_START = "memory-manager-start"
    NODE_ALLOCATABLE = "node-allocatable"
    NUMALET = "numalet"
    """numalet's own refusal: the kubelet would crash or hang, or numalet cannot follow it."""
    UNDECIDED = "undecided"
    """The start depends on fields that the configuration file leaves to a vendor."""


class StartRefused(Value):
    """The kubelet would not start with this configuration.

    ``findings`` make up the kubelet's own text (several only for configuration validation, which
    the kubelet joins); ``further`` are findings of later stages.
    """

    stage: StartStage
    findings: tuple[Finding, ...]
    further: tuple[Finding, ...] = ()

    def __str__(self) -> str:
        causes = "; ".join(each.located for each in (*self.findings, *self.further))
        return f"The kubelet would not start: {causes}"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            """Explain that this refusal is not a node."""
            raise AttributeError(f"this is no node, so it has no {name!r}. {self}")

    @property
    def is_undecided(self) -> bool:
        """Whether unknown fields decide if the kubelet starts."""
        return self.stage is StartStage.UNDECIDED
