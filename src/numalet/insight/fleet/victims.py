"""Which running pods may go for another one, and which of them are the first choice.

May not go: a pod of a higher priority; a pod of a DaemonSet or of the node's own files, which would
come back at once; a pod that a disruption budget keeps, or several budgets, because an eviction is
refused then. A pod that is being deleted goes anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeAlias

from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import pod_demand, resources
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value

SetCost: TypeAlias = tuple[tuple[int, ...], int, int, int, int, tuple[tuple[str, str], ...]]
"""Of sets of one size the lowest goes: see ``cost``."""


class WhyKept(Enum):
    """Why a running pod may not go."""

    HIGHER_PRIORITY = "higher-priority"
    EQUAL_PRIORITY = "equal-priority"
    DAEMON_SET = "daemon-set"
    STATIC_POD = "static-pod"
    NO_CONTROLLER = "no-controller"
    BUDGET = "disruption-budget"
    SEVERAL_BUDGETS = "several-disruption-budgets"
    UNKNOWN = "unknown-pod"
    """The node's ledgers have it, and the cluster does not."""


class VictimRules(Value, kw_only=True):
    """What may go besides pods of a lower priority.

    ``equal_priority``: pods of the same priority as the new one; kube-scheduler would not preempt
    them. ``without_controller``: pods that nothing creates again.
    """

    equal_priority: bool = True
    without_controller: bool = True


class Candidate(Value):
    """A pod that may go; ``budget`` is the place of its disruption budget in the cluster's."""

    pod: ClusterPod
    budget: int | None
    amounts: Mapping[str, int]

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.pod.pod.uid


def priority(pod: Pod) -> int:
    """The pod's priority; 0 without one, as in the scheduler (``corev1helpers.PodPriority``)."""
    return pod.priority or 0


def cost(victims: Sequence[Candidate]) -> SetCost:
    """What a set costs besides its size.

    Priorities from the highest down; pods that nothing creates again; devices; CPU in thousandths;
    memory in bytes; and names, so that no two sets cost the same.
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
    """Of one node: who may go, the first choice first; who goes anyway; who stays, and why."""

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
    """What may become of each active pod of a node for the sake of this one."""
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
    candidates.sort(key=lambda each: cost([each]))
    return Victims(tuple(candidates), tuple(sorted(leaving)), kept)


def budgets_by_pod(cluster: Cluster) -> dict[str, list[int]]:
    """The places of the disruption budgets that guard a pod, by its uid."""
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
    if len(guards) > 1:
        return WhyKept.SEVERAL_BUDGETS
    if guards and cluster.budgets[guards[0]].allowed < 1:
        return WhyKept.BUDGET
    return None
