"""Answers about the shown cluster, computed in threads and cached per cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, TypeVar
from urllib.parse import quote, urlencode

from numalet.core.cluster.cluster import Cluster, ClusterNode
from numalet.core.model import input_error
from numalet.core.model.value import Value, replace
from numalet.drawing import fleet_drawing
from numalet.insight.fleet import evicting, moves, named_pod
from numalet.insight.fleet import fit as fitting
from numalet.insight.fleet import rejected as rejecting
from numalet.insight.fleet.assessing import Assessor
from numalet.insight.fleet.evicting import CopiesAnswer, FreeQuestion
from numalet.insight.fleet.fit import Fit
from numalet.insight.fleet.heat import MOST_CELLS, FleetCell, FleetMap, FleetMapper
from numalet.insight.fleet.moves import MovePlan
from numalet.insight.fleet.rejected import FleetRejected
from numalet.insight.fleet.traps import TrapFinder, Traps
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import NodeMap
from numalet.insight.output import fleet_why_document
from numalet.insight.output.fleet_why_document import FleetWhyDocument
from numalet.io.documents.pods import pod_shapes
from numalet.io.documents.pods.pod_shapes import PodShape

T = TypeVar("T")


def node_path(path: str, name: str) -> str:
    return f"{path}/fleet/nodes/{quote(name, safe='')}"


MOST_COPIES: Final = 1_000
_MOST_MAPS: Final = 16
_MOST_FITS: Final = 2
MOST_SETS: Final = 5_000
"""For a plan on a page: one to three seconds of one processor."""


class MapQuestion(Value):
    resource: str = ""
    pool: str | None = None
    alike: str = ""
    find: str | None = None


class DrawnFleet(Value):
    fleet: FleetMap
    traps: Traps
    rejected: FleetRejected
    drawing: str
    is_folded: bool
    listed: list[FleetCell]
    """The nodes one by one, by pool and name, if only some of them are asked about."""


class PlannedCopies(Value):
    """The pods to evict for each copy of a shape, and a plan for each if a node makes room."""

    name: str
    copies: CopiesAnswer
    plans: tuple[MovePlan | None, ...]


class FleetAnswers:
    """Answers about the current cluster; a new cluster drops the cached ones."""

    def __init__(self, path: str) -> None:
        self._path = path
        # The finder and the mapper are for one thread, hence the lock.
        self._finder = TrapFinder()
        self._mapper = FleetMapper()
        self._lock = asyncio.Lock()
        # An assessor caches between questions and is for one thread, so each question borrows one.
        self._idle = [Assessor() for _ in range(_MOST_FITS)]
        self._few = asyncio.Semaphore(_MOST_FITS)
        self._cluster: Cluster | None = None
        self._traps: tuple[Traps, FleetRejected] | None = None
        self._drawn: dict[MapQuestion, DrawnFleet] = {}
        self._charts: dict[str, NodeMap] = {}

    async def drawn(self, cluster: Cluster, question: MapQuestion) -> DrawnFleet:
        async with self._lock:
            if cluster is not self._cluster:
                self._cluster, self._traps = cluster, None
                self._drawn.clear()
            known = self._drawn.get(question)
            if known is None:
                known = await asyncio.to_thread(self._draw, cluster, question)
                # Dropping all is enough: few questions repeat within one state of a cluster.
                if len(self._drawn) >= _MOST_MAPS:
                    self._drawn.clear()
                self._drawn[question] = known
            return known

    def chart(self, on: ClusterNode) -> NodeMap:
        """Return the map of a node; its pods keep the letters that they had before."""
        chart = node_map.of_node(on.node, on.name)
        chart = node_map.with_letters_of(self._charts.get(on.name, chart), chart)
        if len(self._charts) >= MOST_CELLS:
            self._charts.clear()
        self._charts[on.name] = chart
        return chart

    def _draw(self, cluster: Cluster, question: MapQuestion) -> DrawnFleet:
        if self._traps is None:
            refused = rejecting.rejected(cluster, self._finder.assessor)
            self._traps = self._finder.find(cluster), refused
        traps, refused = self._traps
        fleet = self._mapper.map(cluster, traps, question.resource)
        if question.pool is not None:
            fleet = fleet.of_pool(question.pool)
        if question.alike:
            fleet = fleet.alike(question.alike)
        if question.find is not None:
            fleet = fleet.matching(question.find)
        is_folded = not question.alike and sum(each.nodes for each in fleet.pools) > MOST_CELLS
        shown = fleet.folded() if is_folded else fleet
        drawing = fleet_drawing.draw(shown, width_px=1200, href=self._href)
        is_part = bool(question.alike) or question.find is not None or question.pool is not None
        listed = [each for pool in fleet.pools for each in pool.cells] if is_part else []
        return DrawnFleet(shown, traps, refused, drawing, is_folded, listed)

    def _href(self, name: str, count: int, resource: str) -> str:
        """Return the path of the node, or of the page with all nodes that are drawn like it."""
        if count == 1:
            return node_path(self._path, name)
        return f"{self._path}/fleet?{urlencode({'alike': name, 'resource': resource})}"

    async def fits(self, cluster: Cluster, text: str, count: int | None) -> Sequence[Fit]:
        """Return the fit of each shape in a manifest or amounts.

        Without a count, the manifest's number of replicas; 0 for as many as fit.

        Raises:
            BadInput: The text is neither a manifest nor amounts.
        """
        return await self._asked(lambda assessor: _fits(cluster, text, count, assessor))

    async def why(self, cluster: Cluster, text: str) -> FleetWhyDocument:
        """Return what the cluster knows about a pod. Raises ``BadInput`` if it is not found."""
        pod = named_pod.find(cluster, text)
        return await self._asked(lambda assessor: fleet_why_document.of(cluster, pod, assessor))

    async def _asked(self, question: Callable[[Assessor], T]) -> T:
        async with self._few:
            assessor = self._idle.pop()
            try:
                return await asyncio.to_thread(question, assessor)
            finally:
                self._idle.append(assessor)

    async def planned(self, cluster: Cluster, text: str, count: int | None) -> PlannedCopies:
        """Return what ``numalet fleet free --plan`` answers for these copies of one shape.

        Raises:
            BadInput: The text is neither a manifest nor amounts, or contains several shapes.
        """
        async with self._few:
            return await asyncio.to_thread(_planned, cluster, text, count)


def _planned(cluster: Cluster, text: str, count: int | None) -> PlannedCopies:
    shapes = _shapes(cluster, text)
    if len(shapes) != 1:
        raise input_error.Invalid(
            f"the text contains {len(shapes)} pod shapes; a plan is for one"
        ).bad_input()
    shape = shapes[0]
    question = FreeQuestion(most_sets=MOST_SETS)
    copies = evicting.free_copies(cluster, shape.pod, count or shape.count, question)
    plans = tuple(moves.plan(each.before, each.answer) for each in copies.copies)
    return PlannedCopies(shape.name, copies, plans)


def _shapes(cluster: Cluster, text: str) -> tuple[PodShape, ...]:
    # Resource names of the cluster let amounts such as "gpu: 4" be short.
    known = {
        name
        for each in cluster.nodes.values()
        for name in each.node.snapshot.device.inventory.registered
    }
    return pod_shapes.of_text(text, "the text", sorted(known))


def _fits(cluster: Cluster, text: str, count: int | None, assessor: Assessor) -> Sequence[Fit]:
    most = MOST_COPIES if count == 0 else count
    asked = [
        (each.name, each.pod, min(each.count if most is None else most, MOST_COPIES))
        for each in _shapes(cluster, text)
    ]
    answers = fitting.fit_each(cluster, asked, assessor).shapes
    # For as many as fit, the limit of the page is no number that anybody asked for.
    return [
        replace(each, asked=None, fits=each.count > 0) if count == 0 else each for each in answers
    ]
