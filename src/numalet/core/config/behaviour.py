"""Named rules that separate the kubelet's accidents from what we would want instead.

One engine serves both modes; a mode is a value of ``Behaviour``. ``EXACT`` is the kubelet's,
accidents included; ``NATIVE`` is without its accidents and accidental limits. Every rule here has
a test and a row in ``docs/differences.md``. No other place asks which mode it is: code asks for
the rule that it is about, and only what is shown to people has the name of the mode.
"""

from __future__ import annotations

from enum import Enum

from numalet.core.config.releases.release import Release
from numalet.core.config.releases.table import DEFAULT
from numalet.core.model.machine_info import NumaNodeInfo
from numalet.core.model.machine_queries import NodeClass, node_class
from numalet.core.model.value import Value, replace


class Mode(Enum):
    """Name of a set of rules."""

    EXACT = "exact"
    NATIVE = "native"


class Behaviour(Value, kw_only=True):
    """The named rules; without arguments they are the kubelet's, of the default release.

    ``release`` is the release that is followed: its gates, options and fields in both modes, its
    accidents in exact mode.

    ``highest_node_id``: the largest NUMA node id that fits into a mask; None for no limit.
    ``default_node_limit``: how many NUMA nodes an active topology policy accepts without
    max-allowable-numa-nodes; None for any number, whatever that option says.
    ``distances_by_node_id``: a distance row is indexed by node id, not by position.
    ``release_at_once``: what a refused or removed pod holds is released in the same step, and not
    at the next admission.
    ``groups_stay_whole``: memory is allocated only on a set of nodes that the Memory Manager
    offers, so never on a single node inside a group.
    ``lack_of_memory_is_reported``: where no set of nodes can hold the memory the Memory Manager
    reports that, and not that it has no preference.
    ``ended_init_containers_return``: after a restart init containers that have ended get memory
    again.
    ``held_memory_is_compared``: a running pod that is admitted again offers the nodes of its memory
    only if the sizes are those of the request; in pod scope those of its first container.
    ``reuse_outlives_the_pod``: what later containers of a pod may use again of its init
    containers' memory is remembered after that memory was given back.
    ``pod_total_of_app_types``: a pod's total has only the memory types that an app container asks
    for.
    ``hugepages_are_reservable``: ``reservedMemory`` may keep back huge pages, although kubeReserved
    and systemReserved cannot; the rule that sums must agree is for ordinary memory only.
    ``sizes_wrap_around``: more may be reserved on a node than it has; what is left is then read
    for nearly 2^64 bytes.
    ``missing_page_size_crashes``: a NUMA node knows only the page sizes that it lists, and a pod
    that asks for a size which some node lacks ends the kubelet.
    ``sizes_are_go_integers``: memory is asked for in a form that Go holds as an int64, which
    ``1.5Gi`` and ``900Ti`` are not.
    ``exclusive_cpus_have_quota``: a limit of CPU is a quota for containers with CPUs of their own
    too, and for their pods.
    ``predicates_are_asked``: after the managers the kubelet's general predicates decide too: room
    for one more pod and for the sum of all requests. Both modes ask; the administrator, and a
    scenario, may set it otherwise.
    ``constraints_are_asked``: among the predicates are the node selector, the node's name, its
    system, and ports of the host.
    ``critical_pods_evict``: for a critical pod that lacks room other pods are evicted.
    ``unknown_resources_pass``: an extended resource that the node does not offer is asked for in
    vain: the pod runs without it.
    ``state_follows_the_machine``: an agent or command that starts on state files of a machine that
    has changed since rebases them, and a pod that runs is kept even if its promise does not fit.
    ``reused_cpus_are_counted_twice``: the gauges of the CPU Manager move with every allocation and
    release, and a CPU that containers of a pod use one after the other is allocated twice.
    ``metrics_of_its_release_alone``: of the kubelet's metrics those that came with a release after
    v1.32 are shown and counted only where the release that is followed has them.
    ``fewest_nodes_together``: where resources differ in how few NUMA nodes could hold each alone,
    the policy restricted admits on as many as the neediest needs, if they hold all together.
    ``a_plugin_holds_up_its_own_alone``: while a device plugin is asked about a pod, only pods that
    ask for the same resource wait for the answer.
    ``pods_placed_whole_are_placed_anew``: a pod that got its CPUs and memory as a whole gets them
    again when it is admitted again, as after a restart; what it had is forgotten.
    ``pods_placed_whole_have_no_devices``: devices of such a pod are hinted at its admission, and
    not allocated then.
    ``no_memory_needs_a_node``: where containers of a pod with resources as a whole get their own,
    one that shares asks for no memory, and is refused unless NUMA nodes were chosen for it.
    ``unknown_fields_are_dropped``: a field of a manifest file that no release knows is left out and
    its pod runs.
    ``memory_node_classes``: the classes of NUMA nodes that give memory to pods, huge pages
    included; None for all nodes. The administrator may set others.
    """

    release: Release = DEFAULT
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
        """``EXACT`` or ``NATIVE``, whichever is nearer, and what differs from it."""
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
        """Whether pods may get memory of this node."""
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
