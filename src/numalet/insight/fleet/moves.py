"""Where evicted pods could run instead, in an order in which each step is admitted.

A step is one eviction or one admission, and every admission was decided after all steps before it.
The plan is not performed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from numalet.core.admission.decision import Decision
from numalet.core.cluster import scheduler_sums
from numalet.core.cluster.cluster import Cluster, ClusterPod
from numalet.core.model import pod_demand, resources
from numalet.core.model.value import Value
from numalet.core.node.node import Node
from numalet.insight.fleet import kube_scheduler
from numalet.insight.fleet.evicting import FreeAnswer, NodeAnswer, Outcome, without
from numalet.insight.fleet.kube_scheduler import SchedulerQuestion
from numalet.insight.fleet.victims import Candidate, cost

MOST_ADMISSIONS: Final = 2_000
"""Admissions for one plan; at this limit, the best plan so far is the answer."""
MOST_NODES: Final = 20
"""Planned nodes with sets of the smallest size."""


class EvictionStep(Value):
    pod: ClusterPod
    node_name: str


class AdmissionStep(Value):
    """A node admits a pod; the decision was made after all steps before this one."""

    pod: ClusterPod
    node_name: str
    decision: Decision


Step: TypeAlias = EvictionStep | AdmissionStep


class MovePlan(Value):
    """Steps in their order; ``homeless`` are pods that no node admits.

    ``is_bounded``: with more admissions, fewer pods might be homeless.
    """

    node_name: str
    steps: tuple[Step, ...]
    homeless: tuple[ClusterPod, ...]
    is_bounded: bool


def plan(
    cluster: Cluster, answer: FreeAnswer, most_admissions: int = MOST_ADMISSIONS
) -> MovePlan | None:
    """Return the plan that leaves the fewest pods homeless, if a node makes room.

    The candidates are the nodes with a smallest set; the cheapest whose pods all find a place wins.
    """
    best: MovePlan | None = None
    making = [each for each in answer.nodes if each.outcome is Outcome.MAKES_ROOM]
    smallest = [each for each in making if len(each.going) == len(making[0].going)]
    for each in smallest[:MOST_NODES]:
        planned = _Planning(cluster, each, answer.pod, most_admissions).plan()
        if best is None or len(planned.homeless) < len(best.homeless):
            best = planned
        if not best.homeless:
            break
    return best


class _Planning:
    """The search for one node's plan: pods with the most devices first, on the fullest nodes."""

    def __init__(
        self,
        cluster: Cluster,
        answer: NodeAnswer,
        pod: ClusterPod,
        most_admissions: int,
    ) -> None:
        self._cluster = cluster
        self._home = answer.name
        self._pod = pod
        # The largest pods first, as in bin packing: small ones fit into what is left.
        self._going = sorted(answer.going, key=_size, reverse=True)
        self._left = most_admissions
        home = cluster.nodes[answer.name].node.without_plugins()
        self._emptied = without(home, [*answer.leaving, *(each.pod.uid for each in answer.going)])
        self._moved: tuple[AdmissionStep, ...] = ()
        self._stayed: tuple[ClusterPod, ...] = tuple(self._going)

    def plan(self) -> MovePlan:
        self._place(0, (), (), {})
        moved, stayed = self._moved, self._stayed
        steps: list[Step] = []
        before = {each.pod.pod.uid: each for each in moved}
        for each in self._going:
            steps.append(EvictionStep(each, self._home))
            if each.pod.uid in before:
                steps.append(before[each.pod.uid])
        node, decision = self._emptied.admit(self._pod.pod)
        steps.append(AdmissionStep(self._pod, self._home, decision))
        nodes = dict(self._states(moved))
        # A pod that fits nowhere before the new one is tried again after it: its former node may
        # have room on another NUMA node.
        nodes[self._home] = node
        homeless = []
        for each in stayed:
            step = next(self._admissions(each, nodes), None)
            if step is None:
                homeless.append(each)
            else:
                nodes[step[0].node_name] = step[1]
                steps.append(step[0])
        return MovePlan(self._home, tuple(steps), tuple(homeless), self._left <= 0)

    def _place(
        self,
        at: int,
        moved: tuple[AdmissionStep, ...],
        stayed: tuple[ClusterPod, ...],
        nodes: Mapping[str, Node],
    ) -> bool:
        """Return whether all pods from index ``at`` on find a place next to those placed before."""
        if at == len(self._going):
            if len(stayed) < len(self._stayed):
                self._moved, self._stayed = moved, stayed
            return not stayed
        each = self._going[at]
        for step, after in self._admissions(each, nodes):
            if self._place(at + 1, (*moved, step), stayed, {**nodes, step.node_name: after}):
                return True
        # Try the rest without this pod: it costs one homeless pod, and may keep others from being
        # one.
        return self._place(at + 1, moved, (*stayed, each), nodes)

    def _admissions(
        self, pod: ClusterPod, nodes: Mapping[str, Node]
    ) -> Iterator[tuple[AdmissionStep, Node]]:
        """Yield every node that admits the pod, the fullest by the scheduler's sums first.

        ``nodes`` are those that have changed; the node to clear is included only if it is among
        them.
        """
        new = kube_scheduler.as_new(pod)
        question = SchedulerQuestion.about(new)
        asked = pod_demand.amounts(new.pod)
        roomy = []
        for name, on in self._cluster.nodes.items():
            if name == self._home and name not in nodes:
                continue
            state = nodes.get(name, on.node)
            free = scheduler_sums.free(state)
            # Sums are cheap, and most nodes fail them; the engine decides on the others.
            if scheduler_sums.has_room(free, asked) and question.about_the_node(on) is None:
                devices = sum(amount for key, amount in free.items() if resources.is_device(key))
                roomy.append((devices, free["cpu"], name, state))
        for _, _, name, state in sorted(roomy, key=lambda each: each[:3]):
            # The budget counts admissions, because nearly all the time is spent in them.
            if self._left <= 0:
                return
            self._left -= 1
            after, decision = state.without_plugins().admit(new.pod)
            if decision.admitted and not decision.evicted:
                yield AdmissionStep(pod, name, decision), after

    def _states(self, moved: Sequence[AdmissionStep]) -> Iterator[tuple[str, Node]]:
        for each in moved:
            on = self._cluster.nodes[each.node_name].node
            yield each.node_name, on.at(each.decision.after)


def _size(pod: ClusterPod) -> tuple[int, int, int, str]:
    _, _, devices, cpu, memory, _ = cost([Candidate(pod, None, pod_demand.amounts(pod.pod))])
    return devices, cpu, memory, pod.pod.uid
