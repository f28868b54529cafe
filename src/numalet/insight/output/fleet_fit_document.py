"""The documents of ``numalet fleet fit`` and ``fleet traps`` with ``-o json``.

CPU is in milli-CPUs, memory and huge pages are in bytes, devices are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from numalet.core.cluster.cluster import Cluster
from numalet.core.model import cpu_set
from numalet.core.model.findings import Finding
from numalet.core.snapshot.placement import Placement
from numalet.insight.fleet.fit import Fit, Landing, ReasonGroup
from numalet.insight.fleet.traps import AskedShape, PoolTraps, Trap, Traps
from numalet.insight.output.json_schema import OutputDocument

FIT_SCHEMA: Final = "numalet.fleet-fit/1"
TRAPS_SCHEMA: Final = "numalet.fleet-traps/1"


class NodeNoteDocument(OutputDocument, kw_only=True):
    """A remark on a node: missing data, or data that contradict each other."""

    node: str
    code: str
    text: str


class OriginsDocument(OutputDocument, kw_only=True):
    """The number of nodes by the origin of their state; ``notes`` are about decided nodes."""

    published: int
    rebuilt: int
    described: int
    undecided: list[NodeNoteDocument]
    notes: list[NodeNoteDocument]


class FleetMemoryDocument(OutputDocument, kw_only=True):
    """Memory of one type on a set of NUMA nodes."""

    type: str
    numa_nodes: list[int]
    size_bytes: int


class FleetPlacementDocument(OutputDocument, kw_only=True):
    """The exclusive resources of one container; ``cpus`` is empty in the shared pool."""

    cpus: str
    memory: list[FleetMemoryDocument]
    devices: dict[str, list[str]]


class LandingDocument(OutputDocument, kw_only=True):
    """The node of one copy, and the allocation of each container."""

    number: int
    node: str
    numa_nodes: list[int]
    containers: dict[str, FleetPlacementDocument]


class LeftOutDocument(OutputDocument, kw_only=True):
    """Nodes on which no copy fits, with their common reason."""

    code: str
    text: str
    count: int
    nodes: list[str]


class FitShapeDocument(OutputDocument, kw_only=True):
    """One shape. ``count`` copies fit of ``asked``; null: as many as possible were placed."""

    shape: str
    asked: int | None
    count: int
    fits: bool
    landings: list[LandingDocument]
    nodes_that_fit: list[str]
    left_out: list[LeftOutDocument]


class FleetFitDocument(OutputDocument, kw_only=True):
    """All shapes; each is placed after the shapes before it."""

    schema: Literal["numalet.fleet-fit/1"]
    fits: bool
    shapes: list[FitShapeDocument]
    origins: OriginsDocument


class TrapShapeDocument(OutputDocument, kw_only=True):
    """A shape with the name of one of its pods, and the numbers of running and waiting pods."""

    shape: str
    amounts: dict[str, int]
    running: int
    waiting: int


class TrapDocument(OutputDocument, kw_only=True):
    """A trap. ``refused``: shapes that the scheduler would send and the kubelet would reject."""

    node: str
    pool: str
    origin: str
    stranded: dict[str, int]
    text: str
    refused: list[str]
    fitting: list[str]


class PoolTrapsDocument(OutputDocument, kw_only=True):
    """One pool; ``free`` are the scheduler's free sums of the stranded resources.

    ``closed`` nodes are cordoned or not ready, and their sums are left out.
    """

    pool: str
    nodes: int
    closed: int
    traps: int
    stranded: dict[str, int]
    free: dict[str, int]


class KeptAwayDocument(OutputDocument, kw_only=True):
    """Nodes that are kept from new pods; ``changed`` is empty in a dry run.

    ``can_change`` is false for the nodes of a dump or a description.
    """

    how: Literal["cordon", "taint", "undo"]
    is_dry_run: bool
    can_change: bool
    nodes: list[str]
    over_the_cap: list[str]
    still_used: list[str]
    changed: list[str]


class FleetTrapsDocument(OutputDocument, kw_only=True):
    """All traps, those with the most stranded devices first.

    Amounts of ``cpu`` are milli-CPUs, those of memory and huge pages bytes.
    """

    schema: Literal["numalet.fleet-traps/1"]
    stranded: dict[str, int]
    traps: list[TrapDocument]
    pools: list[PoolTrapsDocument]
    shapes: list[TrapShapeDocument]
    origins: OriginsDocument
    kept_away: KeptAwayDocument | None = None


def of_fits(cluster: Cluster, names: Iterable[str], fits: Iterable[Fit]) -> FleetFitDocument:
    """Return the document; ``names`` are those of the shapes."""
    shapes = [_shape(name, each) for name, each in zip(names, fits, strict=True)]
    return FleetFitDocument(
        schema=FIT_SCHEMA,
        fits=all(each.fits for each in shapes),
        shapes=shapes,
        origins=origins(cluster),
    )


def of_traps(
    cluster: Cluster,
    answer: Traps,
    names: Sequence[str],
    kept_away: KeptAwayDocument | None = None,
) -> FleetTrapsDocument:
    """Return the document; ``names`` are those of its shapes."""
    return FleetTrapsDocument(
        schema=TRAPS_SCHEMA,
        stranded=answer.stranded,
        traps=[_trap(each, names) for each in answer.traps],
        pools=[_pool(each) for each in answer.pools],
        shapes=[
            TrapShapeDocument(
                shape=name,
                amounts=dict(each.amounts),
                running=each.running,
                waiting=each.waiting,
            )
            for name, each in zip(names, answer.shapes, strict=True)
        ],
        origins=origins(cluster),
        kept_away=kept_away,
    )


def shape_name(shape: AskedShape) -> str:
    return str(shape.pod.pod)


def origins(cluster: Cluster) -> OriginsDocument:
    counts = {origin.value: count for origin, count in cluster.origins().items()}
    return OriginsDocument(
        published=counts.get("published", 0),
        rebuilt=counts.get("rebuilt", 0),
        described=counts.get("described", 0),
        undecided=[_note(name, each.why) for name, each in sorted(cluster.undecided.items())],
        notes=[
            _note(name, note) for name, each in sorted(cluster.nodes.items()) for note in each.notes
        ],
    )


def placements(by_container: Mapping[str, Placement]) -> dict[str, FleetPlacementDocument]:
    return {name: _placement(each) for name, each in by_container.items()}


def _note(name: str, finding: Finding) -> NodeNoteDocument:
    return NodeNoteDocument(node=name, code=finding.code, text=str(finding))


def _shape(name: str, fit: Fit) -> FitShapeDocument:
    return FitShapeDocument(
        shape=name,
        asked=fit.asked,
        count=fit.count,
        fits=fit.fits,
        landings=[_landing(each) for each in fit.landings],
        nodes_that_fit=list(fit.nodes_that_fit),
        left_out=[_left_out(each) for each in fit.left_out],
    )


def _landing(landing: Landing) -> LandingDocument:
    return LandingDocument(
        number=landing.number,
        node=landing.node,
        numa_nodes=list(landing.numa_nodes),
        containers=placements(landing.placements),
    )


def _placement(placement: Placement) -> FleetPlacementDocument:
    return FleetPlacementDocument(
        cpus=cpu_set.text(placement.cpus),
        memory=[
            FleetMemoryDocument(
                type=block.resource, numa_nodes=list(block.nodes), size_bytes=block.size_bytes
            )
            for block in placement.memory
        ],
        devices={name: list(ids) for name, ids in placement.devices.items()},
    )


def _left_out(group: ReasonGroup) -> LeftOutDocument:
    return LeftOutDocument(
        code=group.reason.code, text=group.text, count=len(group.nodes), nodes=list(group.nodes)
    )


def _trap(trap: Trap, names: Sequence[str]) -> TrapDocument:
    return TrapDocument(
        node=trap.node,
        pool=trap.pool,
        origin=trap.origin.value,
        stranded=dict(trap.stranded),
        text=trap.text,
        refused=[names[each.shape] for each in trap.refused],
        fitting=[names[at] for at in trap.fitting],
    )


def _pool(pool: PoolTraps) -> PoolTrapsDocument:
    return PoolTrapsDocument(
        pool=pool.pool,
        nodes=pool.nodes,
        closed=pool.closed,
        traps=pool.traps,
        stranded=dict(pool.stranded),
        free=dict(pool.free),
    )
