"""The fields of KubeletConfiguration that numalet uses, as one frozen value.

Texts stay as written; ``validation`` and ``start`` check them in the kubelet's order. Defaults are
the kubelet's, so ``KubeletConfig()`` is an empty configuration file, except that ``eviction_hard``
is empty: the reader of documents adds the default thresholds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final

from numalet.core.model import go_text
from numalet.core.model.findings import NOWHERE, Finding, Location
from numalet.core.model.quantity import Quantity
from numalet.core.model.value import Value, field, replace


def _empty() -> Mapping[str, str]:
    return MappingProxyType({})


class ReservedMemory(Value):
    numa_node: int
    limits: Mapping[str, Quantity]


class CommandFlag(Value):
    """A flag of the command line, without dashes; ``problem`` is the kubelet's error about it.

    The name is empty if the error concerns an argument that is not a flag.
    """

    name: str
    where: Location
    problem: Finding | None = None


class UnknownFields(Value, kw_only=True):
    """Fields that a system sets outside of the file, each with two possible values.

    A name is a field or a key of a map: ``maxPods``, ``kubeReserved.cpu``. An empty value means
    unset. ``command`` prints the whole configuration of a node. ``where`` is the file. ``files``
    are not readable here and may set any field.
    """

    system: str
    fields: Mapping[str, tuple[str, str]]
    command: str
    where: Location = NOWHERE
    files: tuple[str, ...] = ()

    def without(self, names: Iterable[str]) -> UnknownFields | None:
        """Remove these fields and their keys; None if nothing remains."""
        known = frozenset(names)
        left = {
            name: values
            for name, values in self.fields.items()
            if name not in known and name.partition(".")[0] not in known
        }
        return replace(self, fields=MappingProxyType(left)) if left or self.files else None


THROTTLING_FACTOR: Final = 0.9
"""The default of ``memory_throttling_factor`` in releases that have one."""


class KubeletConfig(Value, kw_only=True):
    """The fields of a KubeletConfiguration that numalet uses.

    Policy options are None if absent, because the kubelet distinguishes an absent map from an empty
    one. ``uses_default_eviction``: the operating system's default thresholds apply. ``origins`` has
    the location of fields by path, for example ``reservedMemory[0].limits.memory``.
    ``fail_cgroup_v1`` and ``memory_throttling_factor`` are None if absent, because their
    defaults depend on the release. ``undecoded`` are values of a wrong type that were recorded
    instead of raised. ``flags`` are all flags of the command line, because an unknown flag
    stops a kubelet. ``others`` are fields that the kubelet only checks (``kubelet_fields``).
    ``unknown`` are fields that the file leaves to a vendor (``core.config.unknown``).
    """

    cpu_manager_policy: str = "none"
    cpu_manager_policy_options: Mapping[str, str] | None = None
    memory_manager_policy: str = "None"
    reserved_memory: tuple[ReservedMemory, ...] = ()
    topology_manager_policy: str = "none"
    topology_manager_scope: str = "container"
    topology_manager_policy_options: Mapping[str, str] | None = None
    kube_reserved: Mapping[str, str] = field(default_factory=_empty)
    system_reserved: Mapping[str, str] = field(default_factory=_empty)
    reserved_system_cpus: str = ""
    kube_reserved_cgroup: str = ""
    system_reserved_cgroup: str = ""
    enforce_node_allocatable: tuple[str, ...] = ("pods",)
    cgroups_per_qos: bool = True
    eviction_hard: Mapping[str, str] = field(default_factory=_empty)
    uses_default_eviction: bool = False
    ignore_hard_eviction: bool = False
    feature_gates: Mapping[str, bool] = MappingProxyType({})
    max_pods: int = 110
    pods_per_core: int = 0
    port: int = 10250
    healthz_port: int = 10248
    read_only_port: int = 0
    cpu_cfs_quota: bool = True
    cpu_cfs_quota_period_ns: int = 100 * go_text.MILLISECOND_NS
    pod_pids_limit: int = -1
    single_process_oom_kill: bool = False
    swap_behavior: str = ""
    memory_throttling_factor: float | None = None
    fail_swap_on: bool = True
    container_runtime_endpoint: str = "unix:///run/containerd/containerd.sock"
    eviction_soft: Mapping[str, str] = MappingProxyType({})
    eviction_soft_grace_period: Mapping[str, str] = MappingProxyType({})
    merge_default_eviction_settings: bool = False
    fail_cgroup_v1: bool | None = None
    memory_reservation_policy: str = "None"
    others: Mapping[str, Any] = MappingProxyType({})
    undecoded: tuple[Finding, ...] = ()
    flags: tuple[CommandFlag, ...] = ()
    origins: Mapping[str, Location] = MappingProxyType({})
    unknown: UnknownFields | None = None

    def __repr__(self) -> str:
        """Show the fields that differ from the defaults."""
        default = KubeletConfig()
        named = [(each.name, getattr(self, each.name)) for each in fields(self)]
        shown = (
            f"{name}={value!r}"
            for name, value in named
            if name not in ("origins", "flags") and value != getattr(default, name)
        )
        return f"KubeletConfig({', '.join(shown)})"

    def where(self, place: str) -> Location:
        """Return the origin of a field or of the nearest enclosing field, else its path."""
        nearest = place
        while nearest:
            if nearest in self.origins:
                return self.origins[nearest]
            nearest = nearest[: max(nearest.rfind("."), nearest.rfind("["), 0)]
        return Location("", f"$.{place}")
