"""Trap nodes: nodes that are free by the scheduler's sums but reject the pods sent to them.

A resource of a node is *stranded* if the scheduler would send some shape that requests it there,
and the kubelet refuses all shapes that request it. A node with a stranded resource is a trap. CPUs
that a web server can use are not stranded, while the GPUs next to them may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Origin
from numalet.core.cluster.shapes import PodKey
from numalet.core.model import pod_demand, resources
from numalet.core.model.value import Value
from numalet.insight.fleet import kube_scheduler, parts
from numalet.insight.fleet.assessing import Assessment, Assessor, NodeMemo, difference
from numalet.insight.fleet.obstacles import Obstacle
from numalet.insight.fleet.parts import Origins


class AskedShape(Value):
    """One shape: a representative pod, and the number of its pods in the cluster."""

    pod: ClusterPod
    running: int = 0
    waiting: int = 0

    @property
    def amounts(self) -> Mapping[str, int]:
        """The requests, CPU in thousandths, others in units."""
        return pod_demand.amounts(self.pod.pod)


@dataclass(eq=False)
class _Group:
    """The pods of one shape by uid."""

    pods: dict[str, ClusterPod] = field(default_factory=dict)
    waiting: int = 0
    shape: AskedShape | None = None
    """Computed again after a change."""

    def asked(self) -> AskedShape:
        if self.shape is None:
            # The smallest uid represents the shape, so that results do not depend on the order of
            # changes.
            first = kube_scheduler.as_new(self.pods[min(self.pods)])
            self.shape = AskedShape(first, len(self.pods) - self.waiting, self.waiting)
        return self.shape


class ShapeCounts:
    """Counts the shapes of one cluster after another; reads each pod object once."""

    def __init__(self) -> None:
        self._pods: Mapping[str, ClusterPod] = MappingProxyType({})
        self._groups: dict[PodKey, _Group] = {}
        self._key_of: dict[str, PodKey] = {}
        self._counted: tuple[AskedShape, ...] = ()

    def of(self, pods: Mapping[str, ClusterPod]) -> tuple[AskedShape, ...]:
        """Return the shapes of these pods, by descending number of pods."""
        if pods is not self._pods:
            different = difference(self._pods, pods)
            for uid in (*different.gone, *different.changed):
                self._leave(uid)
            for uid, pod in different.changed.items():
                self._enter(uid, pod)
            self._pods = pods
            if different:
                every = [each.asked() for each in self._groups.values()]
                self._counted = tuple(sorted(every, key=_most_first))
        return self._counted

    def _leave(self, uid: str) -> None:
        key = self._key_of.pop(uid, None)
        if key is None:
            return
        group = self._groups[key]
        group.waiting -= group.pods.pop(uid).is_waiting
        group.shape = None
        if not group.pods:
            del self._groups[key]

    def _enter(self, uid: str, pod: ClusterPod) -> None:
        # Pods of DaemonSets are left out: they arrive with their node and always fit.
        if pod.is_over or pod.is_being_deleted or pod.pod.is_static or pod.comes_with_its_node:
            return
        key = shapes.key_of(pod)
        group = self._groups.setdefault(key, _Group())
        group.pods[uid] = pod
        group.waiting += pod.is_waiting
        group.shape = None
        self._key_of[uid] = key


def _most_first(each: AskedShape) -> tuple[int, str, str]:
    return (-each.running - each.waiting, str(each.pod.pod), each.pod.pod.uid)


class TrapShape(Value, kw_only=True):
    """A shape, by the pod that stands for it, and how many such pods run and wait."""

    shape: str
    amounts: Mapping[str, int]
    running: int
    waiting: int


class Trap(Value, kw_only=True):
    """A trap node. ``text`` has the obstacles of the shapes in words, without repetition.

    ``refused`` are shapes that the scheduler would send there, in order; ``fitting`` those that
    fit, if any: they request no stranded resource.
    """

    node: str
    pool: str
    origin: Origin
    stranded: Mapping[str, int]
    text: str
    refused: tuple[str, ...]
    fitting: tuple[str, ...]


class PoolTraps(Value, kw_only=True):
    """Stranded amounts in one pool. ``free`` are the free sums of the same resources.

    Nodes that are ``closed`` (cordoned or not ready) get no new pods, so their sums are left out.
    """

    pool: str
    nodes: int
    closed: int
    traps: int
    stranded: Mapping[str, int]
    free: Mapping[str, int]


class KeptAway(Value, kw_only=True):
    """What is done, or would be: ``changed`` is empty in a dry run.

    ``can_change`` says whether the nodes can be changed at all: those of a dump cannot. Pods of
    some shape still fit on the nodes of ``still_used`` and would be kept away too.
    """

    how: Literal["cordon", "taint", "undo"]
    is_dry_run: bool
    can_change: bool
    nodes: list[str]
    over_the_cap: list[str]
    still_used: list[str]
    changed: list[str]


class Traps(Value, kw_only=True, tag_field="schema", tag="numalet.fleet-traps/1"):
    """The traps with the most stranded devices first, and the sums of each pool.

    Of ``cpu`` the amounts are thousandths of a CPU, of memory and huge pages bytes.
    """

    stranded: Mapping[str, int]
    traps: tuple[Trap, ...]
    pools: tuple[PoolTraps, ...]
    shapes: tuple[TrapShape, ...]
    origins: Origins
    kept_away: KeptAway | None = None


def shapes_of(cluster: Cluster) -> tuple[AskedShape, ...]:
    return ShapeCounts().of(cluster.pods)


def traps(
    cluster: Cluster,
    asked: Sequence[ClusterPod] | None = None,
    finder: TrapFinder | None = None,
    names: Sequence[str] = (),
) -> Traps:
    """Find the trap nodes for these shapes, by default for those of the cluster's own pods.

    ``names`` are those of the shapes; the default are the names of their pods.
    """
    return (finder or TrapFinder()).find(cluster, asked, names)


class _Stranded(Value):
    """The facts of one trap; shapes by their numbers in the order of their first use."""

    stranded: Mapping[str, int]
    refused: tuple[tuple[int, Obstacle], ...]
    fitting: tuple[int, ...]


class TrapFinder:
    """Finds the traps of one cluster after another; checks each node object once.

    For one thread.
    """

    def __init__(self, assessor: Assessor | None = None) -> None:
        self.assessor = assessor or Assessor()
        self._counts = ShapeCounts()
        self._numbers: dict[PodKey, int] = {}
        self._by_node: NodeMemo[_Stranded | None] = NodeMemo(self.assessor.differences)

    def shapes_of(self, cluster: Cluster) -> tuple[AskedShape, ...]:
        return self._counts.of(cluster.pods)

    def find(
        self,
        cluster: Cluster,
        asked: Sequence[ClusterPod] | None = None,
        names: Sequence[str] = (),
    ) -> Traps:
        if asked is None:
            known = self.shapes_of(cluster)
        else:
            known = tuple(AskedShape(kube_scheduler.as_new(each)) for each in asked)
        names = names or [str(each.pod.pod) for each in known]
        keys = [shapes.key_of(each.pod) for each in known]
        # Numbers instead of positions: the cached facts stay valid while only the order of the
        # shapes changes, as it does with every pod.
        if {*keys} != self._numbers.keys():
            self._numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
            self._by_node = NodeMemo(self.assessor.differences)
        by_number = {self._numbers[key]: each for key, each in zip(keys, known, strict=True)}
        pods = [(each.pod, each.amounts) for _, each in sorted(by_number.items())]
        traps_by_node = self._by_node.of(
            cluster.nodes, lambda nodes: self._anew(cluster, nodes, pods)
        )
        positions: dict[int, list[int]] = {}
        for at, key in enumerate(keys):
            positions.setdefault(self._numbers[key], []).append(at)
        trapped = {name: each for name, each in traps_by_node.items() if each is not None}
        every = [
            _trap(cluster.nodes[name], each, positions, names)
            for name, each in sorted(trapped.items())
        ]
        return Traps(
            stranded=_sum(each.stranded for each in every),
            traps=tuple(sorted(every, key=lambda each: (*_weight(each.stranded), each.node))),
            pools=_by_pool(cluster, every, self.assessor.free(cluster)),
            shapes=tuple(
                TrapShape(
                    shape=name, amounts=each.amounts, running=each.running, waiting=each.waiting
                )
                for name, each in zip(names, known, strict=True)
            ),
            origins=parts.origins(cluster),
        )

    def _anew(
        self,
        cluster: Cluster,
        nodes: Iterable[ClusterNode],
        pods: Sequence[tuple[ClusterPod, Mapping[str, int]]],
    ) -> dict[str, _Stranded | None]:
        changed, free = tuple(nodes), self.assessor.free(cluster)
        assessed = [self.assessor.anew(cluster, changed, pod) for pod, _ in pods]
        amounts = [asked for _, asked in pods]
        return {
            each.name: _stranded(free[each.name], [by[each.name] for by in assessed], amounts)
            for each in changed
        }


def _stranded(
    free: Mapping[str, int], assessed: Sequence[Assessment], amounts: Sequence[Mapping[str, int]]
) -> _Stranded | None:
    fitting = tuple(number for number, each in enumerate(assessed) if each.fits)
    refused = tuple(
        (number, each.obstacle)
        for number, each in enumerate(assessed)
        # A shape that the scheduler does not send there cannot be trapped.
        if each.scheduler is None and each.obstacle is not None
    )
    promised = {name for number, _ in refused for name in amounts[number]}
    # A resource that some fitting shape can still use is not stranded, even if other shapes are
    # refused.
    names = promised - {name for number in fitting for name in amounts[number]}
    # Without a free amount nothing is lost, whatever the kubelet refuses.
    stranded = {name: free[name] for name in sorted(names) if free.get(name, 0) > 0}
    if not stranded:
        return None
    of_it = tuple(each for each in refused if not stranded.keys().isdisjoint(amounts[each[0]]))
    return _Stranded(stranded, of_it, fitting)


def _trap(
    node: ClusterNode,
    on: _Stranded,
    positions: Mapping[int, Sequence[int]],
    names: Sequence[str],
) -> Trap:
    refused = sorted((at, why.text) for number, why in on.refused for at in positions[number])
    fitting = sorted(at for number in on.fitting for at in positions[number])
    return Trap(
        node=node.name,
        pool=node.pool,
        origin=node.origin,
        stranded=on.stranded,
        text="; ".join(dict.fromkeys(text for _, text in refused)),
        refused=tuple(names[at] for at, _ in refused),
        fitting=tuple(names[at] for at in fitting),
    )


def _by_pool(
    cluster: Cluster, every: Iterable[Trap], free_of: Mapping[str, Mapping[str, int]]
) -> tuple[PoolTraps, ...]:
    there: dict[str, list[Trap]] = {}
    for each in every:
        there.setdefault(each.pool, []).append(each)
    answers = []
    for pool, nodes in cluster.pools().items():
        stranded = _sum(each.stranded for each in there.get(pool, ()))
        opened = [each for each in nodes if each.is_open]
        free = _sum(free_of[each.name] for each in opened) if stranded else {}
        answers.append(
            PoolTraps(
                pool=pool,
                nodes=len(nodes),
                closed=len(nodes) - len(opened),
                traps=len(there.get(pool, ())),
                stranded=stranded,
                free={name: free.get(name, 0) for name in stranded},
            )
        )
    return tuple(answers)


def _sum(every: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for amounts in every:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return dict(sorted(total.items()))


def _weight(stranded: Mapping[str, int]) -> tuple[int, int, int]:
    """Return a negative key, so that the largest stranded amounts are first."""
    devices = sum(amount for name, amount in stranded.items() if "/" in name)
    return (-devices, -stranded.get(resources.CPU, 0), -stranded.get(resources.MEMORY, 0))
