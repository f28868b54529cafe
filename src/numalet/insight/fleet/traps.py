"""Trap nodes: the scheduler's sums promise room there that no pod of these shapes can have.

A pod that is sent to a trap is rejected by the kubelet; its controller makes another one, which is
sent to the same node, since its sums are still the best. So for each node and each shape two
judges are asked: the scheduler, and the engine for the kubelet.

    promised    the scheduler would send the shape there
    refused     the kubelet would reject it

A resource of a node is *stranded* if some shape that asks for it is promised room there, and no
shape that asks for it can have any: all that is free of it, by the sums, serves none of them. A
node with something stranded is a trap. Pods that are small or not aligned keep a node from being
a trap for what they ask for themselves: CPUs that a web server can have are not stranded, the GPUs
beside them may be.

Without other shapes these are those of the pods that run or wait in the cluster. Pods of DaemonSets
are left out: they come with their node and fit somewhere always.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from numalet.core.cluster import scheduler_sums, shapes
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Origin
from numalet.core.cluster.shapes import PodKey
from numalet.core.model import pod_demand, resources
from numalet.insight.fleet import eligible
from numalet.insight.fleet.assessing import Assessment, Assessor
from numalet.insight.fleet.obstacles import Obstacle


@dataclass(frozen=True, slots=True)
class AskedShape:
    """One shape: a pod that stands for it, and how many of the cluster's run and wait."""

    pod: ClusterPod
    running: int = 0
    waiting: int = 0

    @property
    def amounts(self) -> Mapping[str, int]:
        """What it asks for, CPU in thousandths, everything else in units."""
        return pod_demand.amounts(self.pod.pod)


@dataclass(frozen=True, slots=True)
class RefusedShape:
    """A shape that is promised room on a node and would be rejected there, and why.

    ``shape`` is its position among the shapes.
    """

    shape: int
    obstacle: Obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class Trap:
    """A trap node. ``stranded`` is by resource, CPU in thousandths, everything else in units.

    ``refused`` are the shapes that are promised room, in order; ``fitting`` those that fit, if any:
    they ask for nothing of what is stranded.
    """

    node: str
    pool: str
    origin: Origin
    stranded: Mapping[str, int]
    refused: tuple[RefusedShape, ...]
    fitting: tuple[int, ...]

    @property
    def text(self) -> str:
        """Why, in words: the obstacles of the shapes, each once."""
        return "; ".join(dict.fromkeys(each.obstacle.text for each in self.refused))


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTraps:
    """What is stranded in one pool. ``free`` is what the sums promise of the same resources."""

    pool: str
    nodes: int
    traps: int
    stranded: Mapping[str, int]
    free: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traps:
    """The answer: the traps with most devices stranded first, and the sums of each pool."""

    shapes: tuple[AskedShape, ...]
    traps: tuple[Trap, ...]
    pools: tuple[PoolTraps, ...]
    undecided: int
    origins: Mapping[Origin, int]

    @property
    def stranded(self) -> dict[str, int]:
        """In all, by resource."""
        return _sum(each.stranded for each in self.traps)


def shapes_of(cluster: Cluster) -> tuple[AskedShape, ...]:
    """The shapes of the pods that run or wait, those of most pods first."""
    counts: dict[PodKey, list[int]] = {}
    standing_for: dict[PodKey, ClusterPod] = {}
    for _, each in sorted(cluster.pods.items()):
        if each.is_over or each.is_being_deleted or each.pod.is_static or each.comes_with_its_node:
            continue
        key = shapes.key_of(each)
        standing_for.setdefault(key, each)
        counts.setdefault(key, [0, 0])[each.is_waiting] += 1
    every = [AskedShape(eligible.as_new(standing_for[key]), *both) for key, both in counts.items()]
    return tuple(sorted(every, key=lambda each: (-each.running - each.waiting, str(each.pod.pod))))


def traps(
    cluster: Cluster,
    asked: Sequence[ClusterPod] | None = None,
    assessor: Assessor | None = None,
) -> Traps:
    """The trap nodes for these shapes; for those of the cluster's own pods if none are given."""
    assessor = assessor or Assessor()
    known = (
        shapes_of(cluster)
        if asked is None
        else tuple(AskedShape(eligible.as_new(each)) for each in asked)
    )
    assessed = [assessor.assess(cluster, each.pod) for each in known]
    amounts = [each.amounts for each in known]
    every = [
        trap
        for name, node in sorted(cluster.nodes.items())
        if (trap := _trap(node, [of_shape[name] for of_shape in assessed], amounts)) is not None
    ]
    return Traps(
        shapes=known,
        traps=tuple(sorted(every, key=lambda each: (*_weight(each.stranded), each.node))),
        pools=_by_pool(cluster, every),
        undecided=len(cluster.undecided),
        origins=cluster.origins(),
    )


def _trap(
    node: ClusterNode, assessed: Sequence[Assessment], amounts: Sequence[Mapping[str, int]]
) -> Trap | None:
    fitting = tuple(at for at, each in enumerate(assessed) if each.fits)
    refused = tuple(
        RefusedShape(at, each.obstacle)
        for at, each in enumerate(assessed)
        if each.scheduler is None and each.obstacle is not None
    )
    promised = {name for each in refused for name in amounts[each.shape]}
    stranded_names = promised - {name for at in fitting for name in amounts[at]}
    free = scheduler_sums.free(node.node) if stranded_names else {}
    stranded = {name: free[name] for name in sorted(stranded_names) if free.get(name, 0) > 0}
    if not stranded:
        return None
    return Trap(
        node=node.name,
        pool=node.pool,
        origin=node.origin,
        stranded=stranded,
        refused=tuple(
            each for each in refused if not stranded.keys().isdisjoint(amounts[each.shape])
        ),
        fitting=fitting,
    )


def _by_pool(cluster: Cluster, every: Iterable[Trap]) -> tuple[PoolTraps, ...]:
    there: dict[str, list[Trap]] = {}
    for each in every:
        there.setdefault(each.pool, []).append(each)
    answers = []
    for pool, nodes in cluster.pools().items():
        stranded = _sum(each.stranded for each in there.get(pool, ()))
        free = _sum(scheduler_sums.free(each.node) for each in nodes)
        answers.append(
            PoolTraps(
                pool=pool,
                nodes=len(nodes),
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
    """Negative, so that what is stranded most comes first: devices, CPUs, memory."""
    devices = sum(amount for name, amount in stranded.items() if "/" in name)
    return (-devices, -stranded.get(resources.CPU, 0), -stranded.get(resources.MEMORY, 0))
