"""Named rules for the kubelet's bugs and limits. Each rule can be switched off.

One engine serves both modes; a mode is a value of ``Behaviour``. ``EXACT`` is the kubelet with its
bugs and limits; ``NATIVE`` is without them. Every rule has a test and a row in
``docs/differences.md``. Code tests a rule, never the mode; only output for people names the mode.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import BASE
from numalet.core.model.machine_info import NumaNodeInfo
from numalet.core.model.machine_queries import NodeClass, node_class
from numalet.core.model.value import Value, replace


class Mode(Enum):
    EXACT = "exact"
    NATIVE = "native"


class Behaviour(Value, kw_only=True):
    """The named rules; the defaults are those of kubelet v1.32.

    ``release``: the release that numalet follows. It sets gates, options and fields in both modes,
    and the bugs in exact mode.

    ``highest_node_id``: the largest NUMA node id that fits into a mask; None: no limit.
    ``default_node_limit``: the most NUMA nodes that an active topology policy accepts without
    max-allowable-numa-nodes; None: no limit, even if that option is set.
    ``distances_by_node_id``: a distance row is indexed by node id, not by position.
    ``release_at_once``: the allocation of a rejected or deleted pod is released at once, not at the
    next admission.
    ``groups_stay_whole``: memory is allocated only on a set of nodes that the Memory Manager
    offers, so never on a single node of a group.
    ``lack_of_memory_is_reported``: if no set of nodes can hold the memory, the Memory Manager
    reports this instead of no preference.
    ``ended_init_containers_return``: after a restart, ended init containers get memory again.
    ``held_memory_is_compared``: a running pod that is admitted again offers the nodes of its memory
    only if the sizes equal the request (in pod scope: the request of its first container).
    ``reuse_outlives_the_pod``: an init container's reusable memory stays recorded after the memory
    was released.
    ``pod_total_of_app_types``: a pod's total has only the memory types that an app container
    requests.
    ``hugepages_are_reservable``: ``reservedMemory`` may reserve huge pages, although kubeReserved
    and systemReserved cannot; only sums of ordinary memory must agree.
    ``sizes_wrap_around``: if a node has less memory than is reserved on it, the free amount wraps
    around to nearly 2^64 bytes.
    ``missing_page_size_crashes``: a NUMA node has a table only for the page sizes that it lists; a
    pod that requests another size crashes the kubelet.
    ``sizes_are_go_integers``: a memory request must be a quantity that Go stores as an int64;
    ``1.5Gi`` and ``900Ti`` are not.
    ``exclusive_cpus_have_quota``: a CPU limit is a quota even for containers with exclusive CPUs
    and for their pods.
    ``predicates_are_asked``: after the managers, the kubelet's general predicates decide: room for
    one more pod and for the sum of all requests. On in both modes; the configuration or a scenario
    can switch it off.
    ``constraints_are_asked``: the predicates include node selector, node name, operating system and
    host ports.
    ``critical_pods_evict``: other pods are evicted for a critical pod that lacks room.
    ``unknown_resources_pass``: a request for an extended resource that the node does not offer is
    ignored.
    ``state_follows_the_machine``: state files of a machine that has changed are rebased at the
    start, and a running pod stays even if its allocation no longer fits.
    ``reused_cpus_are_counted_twice``: CPU Manager gauges change with every allocation and release;
    a CPU that two containers of a pod use in turn counts twice.
    ``metrics_of_its_release_alone``: kubelet metrics that are newer than v1.32 are exported only if
    the followed release has them.
    ``fewest_nodes_together``: if resources need different numbers of NUMA nodes, the policy
    restricted admits on the largest of these numbers, if that many nodes hold all resources.
    ``a_plugin_holds_up_its_own_alone``: a call to a device plugin blocks only pods that request the
    same resource.
    ``pods_placed_whole_are_placed_anew``: a pod with pod-level CPUs and memory gets a new
    allocation when it is admitted again (after a restart); the old one is discarded.
    ``pods_placed_whole_have_no_devices``: devices of such a pod have hints at its admission but are
    not allocated then.
    ``no_memory_needs_a_node``: if some containers of such a pod have exclusive resources, a
    container that shares requests no memory, and is rejected unless NUMA nodes were chosen for it.
    ``unknown_fields_are_dropped``: a manifest field that no release has is ignored and the pod
    runs.
    ``memory_node_classes``: the classes of NUMA nodes whose memory and huge pages pods can get;
    None: all. The configuration can set others.
    """

    release: Release = BASE
    highest_node_id: int | None = 63
    default_node_limit: int | None = 8
    distances_by_node_id: bool = True
    release_at_once: bool = False
    groups_stay_whole: bool = False
    lack_of_memory_is_reported: bool = False
    ended_init_containers_return: bool = True
    held_memory_is_compared: bool = True
    reuse_outlives_the_pod: bool = True
    pod_total_of_app_types: bool = True
    hugepages_are_reservable: bool = False
    sizes_wrap_around: bool = True
    missing_page_size_crashes: bool = True
    sizes_are_go_integers: bool = True
    exclusive_cpus_have_quota: bool = True
    predicates_are_asked: bool = True
    constraints_are_asked: bool = True
    critical_pods_evict: bool = True
    unknown_resources_pass: bool = True
    state_follows_the_machine: bool = False
    a_plugin_holds_up_its_own_alone: bool = False
    reused_cpus_are_counted_twice: bool = True
    metrics_of_its_release_alone: bool = True
    fewest_nodes_together: bool = False
    pods_placed_whole_are_placed_anew: bool = True
    pods_placed_whole_have_no_devices: bool = True
    no_memory_needs_a_node: bool = True
    unknown_fields_are_dropped: bool = True
    memory_node_classes: tuple[NodeClass, ...] | None = None

    def __repr__(self) -> str:
        """Show the nearest mode and the rules that differ from it."""
        differences = [
            (name, [each for each in self.__struct_fields__ if self._differs(each, rules)])
            for name, rules in (("EXACT", EXACT), ("NATIVE", NATIVE))
        ]
        name, changed = min(differences, key=lambda each: len(each[1]))
        given = (f"{each}={getattr(self, each)!r}" for each in changed)
        return f"replace({', '.join((name, *given))})" if changed else name

    def _differs(self, name: str, other: Behaviour) -> bool:
        return bool(getattr(self, name) != getattr(other, name))

    def gives_memory(self, node: NumaNodeInfo) -> bool:
        """Return whether pods may get memory of this node."""
        return self.memory_node_classes is None or node_class(node) in self.memory_node_classes

    @property
    def mode(self) -> Mode:
        """Exact if every rule of the managers is the kubelet's, else native."""
        managers = replace(
            self, release=EXACT.release, predicates_are_asked=EXACT.predicates_are_asked
        )
        return Mode.EXACT if managers == EXACT else Mode.NATIVE


EXACT = Behaviour()

NATIVE = Behaviour(
    highest_node_id=None,
    default_node_limit=None,
    distances_by_node_id=False,
    release_at_once=True,
    groups_stay_whole=True,
    lack_of_memory_is_reported=True,
    ended_init_containers_return=False,
    held_memory_is_compared=False,
    reuse_outlives_the_pod=False,
    pod_total_of_app_types=False,
    hugepages_are_reservable=True,
    sizes_wrap_around=False,
    missing_page_size_crashes=False,
    sizes_are_go_integers=False,
    exclusive_cpus_have_quota=False,
    constraints_are_asked=False,
    critical_pods_evict=False,
    unknown_resources_pass=False,
    state_follows_the_machine=True,
    a_plugin_holds_up_its_own_alone=True,
    reused_cpus_are_counted_twice=False,
    metrics_of_its_release_alone=False,
    fewest_nodes_together=True,
    pods_placed_whole_are_placed_anew=False,
    pods_placed_whole_have_no_devices=False,
    no_memory_needs_a_node=False,
    unknown_fields_are_dropped=False,
    memory_node_classes=(NodeClass.CPU,),
)
