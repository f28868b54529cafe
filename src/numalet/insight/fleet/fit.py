"""How many copies of a pod fit into a cluster now, where each lands, and why not elsewhere.

The copies are placed one after the other; the engine admits each one.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

from numalet.core.cluster import verdicts
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, UndecidedNode
from numalet.core.config.rules import NodeRules
from numalet.core.model import cpu_set
from numalet.core.model.value import Value, field, replace
from numalet.core.snapshot.placement import Placement
from numalet.core.snapshot.snapshot import Snapshot
from numalet.insight.fleet import kube_scheduler, parts
from numalet.insight.fleet.assessing import Assessment, Assessor, WhyNot, copy_of
from numalet.insight.fleet.kube_scheduler import Worded
from numalet.insight.fleet.parts import FleetPlacement, Origins
from numalet.wording import explanations, numbers


class NotDecided(Worded):
    """There is not enough data on the node; ``why`` is the code of the finding about it."""

    code: ClassVar[str] = "fleet/not-decided"
    sentence: ClassVar[str] = "not decided: {words}"
    why: str
    words: str


Reason: TypeAlias = WhyNot | NotDecided


class Landing(Value):
    """The node of one copy, and the allocation of each container.

    ``numa_nodes`` are those of its CPUs, memory and devices, ascending; ``by_container`` are those
    of each container, if they differ. ``number`` counts from 1.
    """

    number: int
    node: str
    numa_nodes: tuple[int, ...]
    containers: Mapping[str, FleetPlacement]
    by_container: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def where(self) -> str:
        of_each = (f"{name}: {cpu_set.text(ids)}" for name, ids in self.by_container.items())
        ids = "; ".join(of_each) or ",".join(map(str, self.numa_nodes))
        return ids or explanations.NOT_PER_NUMA_NODE

    @property
    def sentence(self) -> str:
        """Return ``a new pod fits on n, on NUMA node 0``."""
        whole = {"": self.numa_nodes} if self.numa_nodes else {}
        places = (
            f"{name} on {numbers.numa_nodes(ids)}".strip()
            for name, ids in (self.by_container or whole).items()
        )
        return ", ".join((f"a new pod fits on {self.node}", *places))


class ReasonGroup(Value):
    """Nodes that reject a copy for the same reason; names in order."""

    code: str
    text: str
    count: int
    nodes: tuple[str, ...]


class Fit(Value, kw_only=True):
    """One shape: ``count`` copies land; ``asked`` is null if as many as fit were asked for.

    ``fits``: all requested copies land; if the number is open, one does. ``nodes_that_fit`` take at
    least one copy at the start; ``left_out`` are all others, the largest group first.
    """

    shape: str
    asked: int | None
    count: int
    fits: bool
    landings: tuple[Landing, ...]
    nodes_that_fit: tuple[str, ...]
    left_out: tuple[ReasonGroup, ...]


class FleetFit(Value, kw_only=True, tag_field="schema", tag="numalet.fleet-fit/1"):
    """Every shape, each on what those before it left."""

    fits: bool
    shapes: tuple[Fit, ...]
    origins: Origins


def fit(
    cluster: Cluster, pod: ClusterPod, count: int | None = 1, assessor: Assessor | None = None
) -> Fit:
    """Place this many copies of the pod; without a count, as many as fit."""
    return place(cluster, pod, count, assessor)[0]


def place(
    cluster: Cluster,
    pod: ClusterPod,
    count: int | None = 1,
    assessor: Assessor | None = None,
    name: str = "",
) -> tuple[Fit, Cluster]:
    """Return the cluster with the copies, too; ``name`` replaces the pod's as that of the shape."""
    assessor = assessor or Assessor()
    pod = kube_scheduler.as_new(pod)
    assessed = assessor.assess(cluster, pod)
    fitting = {name: each for name, each in assessed.items() if each.fits}
    landings, changed = _landed(fitting, pod, count, assessor)
    answer = Fit(
        shape=name or str(pod.pod),
        asked=count,
        count=len(landings),
        fits=len(landings) >= (1 if count is None else count),
        landings=tuple(landings),
        nodes_that_fit=tuple(sorted(fitting)),
        left_out=left_out(assessed, cluster.undecided),
    )
    return answer, cluster.with_nodes(changed.values())


def fit_each(
    cluster: Cluster,
    asked: Sequence[tuple[str, ClusterPod, int | None]],
    assessor: Assessor | None = None,
) -> FleetFit:
    """Place several shapes one after the other in the same cluster; each has a name and a count."""
    assessor, answers, now = assessor or Assessor(), [], cluster
    for name, pod, count in asked:
        answer, now = place(now, pod, count, assessor, name)
        answers.append(answer)
    return FleetFit(
        fits=all(each.fits for each in answers),
        shapes=tuple(answers),
        origins=parts.origins(cluster),
    )


def capacity(cluster: Cluster, pod: ClusterPod, assessor: Assessor | None = None) -> dict[str, int]:
    """Return how many copies each node takes now, by name, without nodes that take 0."""
    assessor, pod = assessor or Assessor(), kube_scheduler.as_new(pod)
    assessed = assessor.assess(cluster, pod)
    return {
        name: assessor.copies(each.node, pod)
        for name, each in sorted(assessed.items())
        if each.fits
    }


def _landed(
    fitting: Mapping[str, Assessment], pod: ClusterPod, count: int | None, assessor: Assessor
) -> tuple[list[Landing], dict[str, ClusterNode]]:
    # The node with the least free amount first, so that large holes stay whole.
    queue = [(each.left, name) for name, each in fitting.items()]
    heapq.heapify(queue)
    nodes: dict[str, ClusterNode] = {}
    landings: list[Landing] = []
    while queue and (count is None or len(landings) < count):
        _, name = heapq.heappop(queue)
        # A node that took a copy already has its state after it.
        before = nodes.get(name) or fitting[name].node
        copy = copy_of(pod.pod, len(landings) + 1)
        decision = verdicts.try_out(before.node, copy)
        assert decision.admitted, "nodes with equal keys decide alike"
        node = before.node.at(decision.after)
        nodes[name] = after = replace(before, node=node)
        placements = decision.placements
        where = numa_nodes(node.rules, node.snapshot, placements)
        of_each = {
            container: ids
            for container, each in placements.items()
            if (ids := numa_nodes(node.rules, node.snapshot, {container: each}))
        }
        by_container = of_each if len({*of_each.values()}) > 1 else {}
        held = parts.placements(placements)
        landings.append(Landing(len(landings) + 1, name, where, held, by_container))
        # The node returns to the queue with its new free amounts, so the copies go to the fullest
        # node that still takes one.
        fits_again, left = assessor.after(after, pod)
        if fits_again:
            heapq.heappush(queue, (left, name))
    return landings, nodes


def numa_nodes(
    rules: NodeRules, snapshot: Snapshot, placements: Mapping[str, Placement]
) -> tuple[int, ...]:
    ids: set[int] = set()
    cpus = frozenset(cpu for each in placements.values() for cpu in each.cpus)
    for node in rules.machine.nodes if cpus else ():
        if any(not cpus.isdisjoint(core.threads) for core in node.cores):
            ids.add(node.node_id)
    for each in placements.values():
        ids.update(each.memory_nodes)
        for resource, device_ids in each.devices.items():
            known = snapshot.device.inventory.devices_of(resource).by_id
            for name in device_ids:
                ids.update(known[name].numa_nodes if name in known else ())
    return tuple(sorted(ids))


def left_out(
    assessed: Mapping[str, Assessment], undecided: Mapping[str, UndecidedNode]
) -> tuple[ReasonGroup, ...]:
    """Return the nodes on which the pod does not fit by reason, the largest group first."""
    groups: dict[Reason, list[str]] = {}
    for name, each in assessed.items():
        why = each.why_not
        if why is not None:
            groups.setdefault(why, []).append(name)
    for name, unknown in undecided.items():
        groups.setdefault(NotDecided(unknown.why.code, str(unknown.why)), []).append(name)
    # The scheduler's reason and the kubelet's may have the same words.
    by_text: dict[str, ReasonGroup] = {}
    for reason, names in groups.items():
        known = by_text.get(reason.text)
        code = reason.code if known is None else known.code
        every = sorted([*names, *(() if known is None else known.nodes)])
        by_text[reason.text] = ReasonGroup(code, reason.text, len(every), tuple(every))
    return tuple(sorted(by_text.values(), key=lambda each: (-each.count, each.text)))
