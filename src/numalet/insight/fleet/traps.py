"""Trap nodes: nodes that are free by the scheduler's sums but reject the pods sent to them.

A resource of a node is *stranded* if the scheduler would send some shape that requests it there,
and the kubelet rejects all shapes that request it. A node with a stranded resource is a trap. CPUs
that a web server can use are not stranded, while the GPUs next to them may be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from numalet.core.cluster import shapes
from numalet.core.cluster.cluster import Cluster, ClusterNode, ClusterPod, Origin
from numalet.core.cluster.shapes import PodKey
from numalet.core.model import resources
from numalet.core.model.value import Value
from numalet.insight.fleet import kube_scheduler, parts, trap_cause
from numalet.insight.fleet.asked_shapes import AskedShape, ShapeCounts
from numalet.insight.fleet.assessing import Assessment, Assessor, NodeMemo
from numalet.insight.fleet.obstacles import Obstacle
from numalet.insight.fleet.parts import Origins
from numalet.wording import numbers


class ShapeRefusal(Value):
    """``nodes`` that reject a shape for one cause, the largest number first; ``first`` by name."""

    code: str
    text: str
    nodes: int
    first: str


class TrapShape(Value, kw_only=True):
    """A shape, by the pod that stands for it, and how many such pods run, wait, or were rejected.

    ``rejected_on`` are the nodes that rejected them, and ``rejected_because`` the reasons, each
    once. One more such pod fits on ``fitting_nodes`` nodes. ``refused_by`` are those to which the
    scheduler would send it, and whose kubelet would reject it.
    """

    shape: str
    amounts: Mapping[str, int]
    running: int
    waiting: int
    rejected: int
    rejected_on: tuple[str, ...]
    rejected_because: tuple[str, ...]
    fitting_nodes: int
    refused_by: tuple[ShapeRefusal, ...]

    @property
    def refusing_nodes(self) -> int:
        return sum(each.nodes for each in self.refused_by)

    @property
    def standing(self) -> str:
        """Say how many wait and were rejected, as in ``3 wait, 1 was rejected on a (reason)``."""
        waits = "waits" if self.waiting == 1 else "wait"
        parts = [f"{self.waiting} {waits}"] if self.waiting else []
        if self.rejected:
            on = numbers.some(self.rejected_on)
            was = "was" if self.rejected == 1 else "were"
            because = ", ".join(self.rejected_because)
            parts.append(f"{self.rejected} {was} rejected on {on} ({because})")
        return ", ".join(parts)


def urgent_first(every: Iterable[TrapShape]) -> list[TrapShape]:
    """Sort shapes: most waiting and rejected pods first, then those that most nodes reject."""
    return sorted(every, key=lambda each: (-each.waiting - each.rejected, -each.refusing_nodes))


class Trap(Value, kw_only=True):
    """A trap node. ``text`` has the causes in words, each once, whatever the number of shapes.

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


class Traps(Value, kw_only=True, tag_field="schema", tag="numalet.fleet-traps/2"):
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


class _OnNode(Value):
    """What one node does with the shapes, by their numbers in the order of their first use.

    ``refused`` are those that the scheduler would send there. ``trapped`` are those of them that
    ask for something stranded.
    """

    fitting: tuple[int, ...]
    refused: tuple[tuple[int, Obstacle], ...]
    stranded: Mapping[str, int]
    trapped: tuple[int, ...]
    cause: str


class TrapFinder:
    """Finds the traps of one cluster after another; checks each node object once.

    For one thread.
    """

    def __init__(self, assessor: Assessor | None = None) -> None:
        self.assessor = assessor or Assessor()
        self._counts = ShapeCounts()
        self._numbers: dict[PodKey, int] = {}
        self._by_node: NodeMemo[_OnNode] = NodeMemo(self.assessor.differences)

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
        on_nodes = self._by_node.of(cluster.nodes, lambda nodes: self._anew(cluster, nodes, pods))
        positions: dict[int, list[int]] = {}
        for at, key in enumerate(keys):
            positions.setdefault(self._numbers[key], []).append(at)
        every = [
            _trap(cluster.nodes[name], each, positions, names)
            for name, each in sorted(on_nodes.items())
            if each.stranded
        ]
        fitting, refusals = _by_shape(on_nodes)
        return Traps(
            stranded=_sum(each.stranded for each in every),
            traps=tuple(sorted(every, key=lambda each: (*_weight(each.stranded), each.node))),
            pools=_by_pool(cluster, every, self.assessor.free(cluster)),
            shapes=tuple(
                TrapShape(
                    shape=name,
                    amounts=each.amounts,
                    running=each.running,
                    waiting=each.waiting,
                    rejected=len(each.rejections),
                    rejected_on=tuple(dict.fromkeys(node for node, _ in each.rejections)),
                    rejected_because=tuple(dict.fromkeys(why for _, why in each.rejections)),
                    fitting_nodes=fitting[self._numbers[key]],
                    refused_by=refusals.get(self._numbers[key], ()),
                )
                for name, key, each in zip(names, keys, known, strict=True)
            ),
            origins=parts.origins(cluster),
        )

    def _anew(
        self,
        cluster: Cluster,
        nodes: Iterable[ClusterNode],
        pods: Sequence[tuple[ClusterPod, Mapping[str, int]]],
    ) -> dict[str, _OnNode]:
        changed, free = tuple(nodes), self.assessor.free(cluster)
        assessed = [self.assessor.anew(cluster, changed, pod) for pod, _ in pods]
        return {
            each.name: self._on_node(
                each, free[each.name], [by[each.name] for by in assessed], pods
            )
            for each in changed
        }

    def _on_node(
        self,
        node: ClusterNode,
        free: Mapping[str, int],
        assessed: Sequence[Assessment],
        pods: Sequence[tuple[ClusterPod, Mapping[str, int]]],
    ) -> _OnNode:
        fitting = tuple(number for number, each in enumerate(assessed) if each.fits)
        refused = tuple(
            (number, each.obstacle)
            for number, each in enumerate(assessed)
            # A shape that the scheduler does not send there cannot be trapped.
            if each.scheduler is None and each.obstacle is not None
        )
        promised = {name for number, _ in refused for name in pods[number][1]}
        # A resource that some fitting shape can still use is not stranded, even if other shapes
        # are rejected.
        names = promised - {name for number in fitting for name in pods[number][1]}
        # Without a free amount nothing is lost, whatever the kubelet rejects.
        stranded = {name: free[name] for name in sorted(names) if free.get(name, 0) > 0}
        if not stranded:
            return _OnNode(fitting, refused, {}, (), "")
        of_it = [each for each in refused if not stranded.keys().isdisjoint(pods[each[0]][1])]
        facts = self.assessor.verdicts.reader.facts(node.name, node.node)
        cause = trap_cause.text(facts, stranded, [why for _, why in of_it])
        return _OnNode(fitting, refused, stranded, tuple([number for number, _ in of_it]), cause)


def _by_shape(
    on_nodes: Mapping[str, _OnNode],
) -> tuple[Counter[int], dict[int, tuple[ShapeRefusal, ...]]]:
    """Return by shape how many nodes take it, and which causes other nodes have to reject it."""
    fitting: Counter[int] = Counter()
    names: dict[int, dict[Obstacle, list[str]]] = {}
    for name, each in sorted(on_nodes.items()):
        fitting.update(each.fitting)
        for number, why in each.refused:
            names.setdefault(number, {}).setdefault(why, []).append(name)
    return fitting, {
        number: tuple(
            ShapeRefusal(why.code, why.text, len(nodes), nodes[0])
            for why, nodes in sorted(by_cause.items(), key=lambda each: (-len(each[1]), each[1]))
        )
        for number, by_cause in names.items()
    }


def _trap(
    node: ClusterNode,
    on: _OnNode,
    positions: Mapping[int, Sequence[int]],
    names: Sequence[str],
) -> Trap:
    refused = sorted(at for number in on.trapped for at in positions[number])
    fitting = sorted(at for number in on.fitting for at in positions[number])
    return Trap(
        node=node.name,
        pool=node.pool,
        origin=node.origin,
        stranded=on.stranded,
        text=on.cause,
        refused=tuple(names[at] for at in refused),
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
    devices = sum(amount for name, amount in stranded.items() if resources.is_device(name))
    return (-devices, -stranded.get(resources.CPU, 0), -stranded.get(resources.MEMORY, 0))
