"""Which running pods may be evicted for another one, and in which order of preference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from numalet.core.cluster import classes
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import cpu_set, pod_demand, resources
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.insight.fleet.parts import FleetPlacement
from numalet.wording import numbers


class HeldWords(Value):
    """Each in words, ``-`` if empty."""

    devices: str
    cpus: str
    memory: str


def held(placements: Mapping[str, FleetPlacement]) -> HeldWords:
    """Format the placements; devices without known ids are numbered."""
    devices: dict[str, list[str]] = {}
    memory: dict[str, int] = {}
    cpus: set[int] = set()
    for each in placements.values():
        cpus |= cpu_set.parse(each.cpus)
        for resource, ids in each.devices.items():
            devices.setdefault(resource, []).extend(ids)
        for block in each.memory:
            memory[block.type] = memory.get(block.type, 0) + block.size_bytes
    shown = (f"{resource} {_devices(ids)}" for resource, ids in sorted(devices.items()))
    return HeldWords("; ".join(shown) or "-", cpu_set.text(cpus) or "-", numbers.amounts(memory))


def _devices(ids: Sequence[str]) -> str:
    """Return the ids, or the numbers of made-up ones in the form of a CPU list."""
    known = classes.positions(list(ids))
    return ",".join(sorted(ids)) if known is None else cpu_set.text(known)


SetCost: TypeAlias = tuple[tuple[int, ...], int, int, int, int, tuple[tuple[str, str], ...]]
"""Of sets of one size the lowest is evicted: see ``cost``."""


class WhyKept(Enum):
    HIGHER_PRIORITY = "higher-priority"
    EQUAL_PRIORITY = "equal-priority"
    DAEMON_SET = "daemon-set"
    STATIC_POD = "static-pod"
    NO_CONTROLLER = "no-controller"
    BUDGET = "disruption-budget"
    SEVERAL_BUDGETS = "several-disruption-budgets"
    UNKNOWN = "unknown-pod"
    """The node's ledgers contain it, and the cluster does not."""


class VictimRules(Value, kw_only=True):
    """Evictable pods besides those of lower priority.

    ``equal_priority``: pods of the same priority as the new one; kube-scheduler would not preempt
    them. ``without_controller``: pods that no controller creates again.
    """

    equal_priority: bool = True
    without_controller: bool = True


class Candidate(Value):
    """An evictable pod; ``budget`` is the index of its disruption budget in the cluster."""

    pod: ClusterPod
    budget: int | None
    amounts: Mapping[str, int]

    @property
    def uid(self) -> str:
        return self.pod.pod.uid


def priority(pod: Pod) -> int:
    """Return the pod's priority, by default 0. Scheduler: ``corev1helpers.PodPriority``."""
    return pod.priority or 0


def cost(victims: Sequence[Candidate]) -> SetCost:
    """Return the cost of a set: an order of sets of one size.

    Priorities in descending order; pods that no controller creates again; devices; CPU in
    thousandths; memory in bytes; and names, so that no two sets cost the same.
    """
    devices = cpu = memory = bare = 0
    for each in victims:
        bare += each.pod.controller is None
        for name, amount in each.amounts.items():
            if name == resources.CPU:
                cpu += amount
            elif resources.is_memory_type(name):
                memory += amount
            elif name != resources.EPHEMERAL_STORAGE:
                devices += amount
    return (
        tuple(sorted((priority(each.pod.pod) for each in victims), reverse=True)),
        bare,
        devices,
        cpu,
        memory,
        tuple(sorted((str(each.pod.pod), each.uid) for each in victims)),
    )


class Victims(Value):
    """Pods of one node: evictable, preferred first; ending anyway; kept, with the reason."""

    candidates: tuple[Candidate, ...]
    leaving: tuple[str, ...]
    kept: Mapping[str, WhyKept]


def of_node(
    cluster: Cluster,
    active_uids: Iterable[str],
    pod: Pod,
    rules: VictimRules,
    budgets_of: Mapping[str, Sequence[int]],
) -> Victims:
    candidates, leaving, kept = [], [], {}
    for uid in active_uids:
        known = cluster.pods.get(uid)
        if known is not None and known.is_being_deleted:
            leaving.append(uid)
            continue
        guards = budgets_of.get(uid, ())
        why = WhyKept.UNKNOWN if known is None else _why_kept(cluster, known, pod, rules, guards)
        if known is None or why is not None:
            kept[uid] = why or WhyKept.UNKNOWN
        else:
            amounts = pod_demand.amounts(known.pod)
            candidates.append(Candidate(known, guards[0] if guards else None, amounts))
    # The search takes pods in this order, so it finds a cheap set early and can skip more expensive
    # ones.
    candidates.sort(key=lambda each: cost([each]))
    return Victims(tuple(candidates), tuple(sorted(leaving)), kept)


def budgets_by_pod(cluster: Cluster) -> dict[str, list[int]]:
    """Return the indexes of the disruption budgets that guard a pod, by its uid."""
    guards: dict[str, list[int]] = {}
    for at, budget in enumerate(cluster.budgets):
        for uid in budget.pod_uids:
            guards.setdefault(uid, []).append(at)
    return guards


def _why_kept(
    cluster: Cluster, known: ClusterPod, pod: Pod, rules: VictimRules, guards: Sequence[int]
) -> WhyKept | None:
    own, other = priority(pod), priority(known.pod)
    kind = known.controller.kind if known.controller is not None else ""
    # Static pods and pods of a DaemonSet would return at once. A mirror pod's controller is its
    # Node.
    if known.pod.is_static or kind == "Node":
        return WhyKept.STATIC_POD
    if other > own:
        return WhyKept.HIGHER_PRIORITY
    if known.comes_with_its_node:
        return WhyKept.DAEMON_SET
    if other == own and not rules.equal_priority:
        return WhyKept.EQUAL_PRIORITY
    if known.controller is None and not rules.without_controller:
        return WhyKept.NO_CONTROLLER
    # The eviction API refuses a pod with several budgets, even if all allow it.
    if len(guards) > 1:
        return WhyKept.SEVERAL_BUDGETS
    if guards and cluster.budgets[guards[0]].allowed < 1:
        return WhyKept.BUDGET
    return None
