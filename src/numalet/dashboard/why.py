"""Why a pod was rejected, and possible changes: computed in threads, cached per snapshot.

A rejected pod is decided on again now; for a running pod, the node decides without it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from numalet.core.admission.decision import Decision
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.core.snapshot.snapshot import Snapshot
from numalet.dashboard import history_points
from numalet.dashboard.sources import NodeView, PodRow
from numalet.insight.explain import cases, hint_maps, search, story, tally
from numalet.insight.explain.hint_maps import HintMap
from numalet.insight.explain.tally import Offer
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import NodeMap
from numalet.insight.output import explanation_document, json_schema
from numalet.wording import explanations

MOST_AT_ONCE: Final = 2
BUDGET_SECONDS: Final = 2.0
_MOST_KEPT: Final = 32
_MOST_CAUSES: Final = 8


class WayOut(Value):
    text: str
    lost: tuple[str, ...]
    chart: NodeMap
    nodes: tuple[int, ...]


class Why(Value):
    """The document of ``numalet explain -o json``, and the changes in its order.

    ``is_admitted``: the pod would be admitted now. ``cause`` is the shortage with figures if it
    would not; ``hints`` are the offers for each subject.
    """

    document: dict[str, Any]
    is_admitted: bool
    cause: str
    hints: tuple[HintMap, ...]
    ways_out: tuple[WayOut, ...]


class Explanations(Mutable):
    """Caches the last explanations, each with its snapshot."""

    _kept: OrderedDict[str, tuple[Snapshot, Why]] = field(default_factory=OrderedDict)
    _causes: dict[str, str | None] = field(default_factory=dict)
    _of_causes: Snapshot | None = None
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_AT_ONCE))

    async def of(self, view: NodeView, row: PodRow) -> Why:
        """Explain the decision; changes are searched only for a rejected pod."""
        known = self._known(view, row)
        if known is None:
            async with self._room:
                # Another request may have computed it while this one waited.
                known = self._known(view, row)
                if known is None:
                    known = await asyncio.to_thread(explained, view, row)
                    self._keep(view, row, known)
        return known

    async def causes(self, view: NodeView, rows: Sequence[PodRow]) -> Mapping[str, str | None]:
        async with self._room:
            if self._of_causes is not view.node.snapshot:
                self._causes.clear()
                self._of_causes = view.node.snapshot
            asked = [row for row in rows if row.pod.uid not in self._causes]
            if asked:
                self._causes.update(await asyncio.to_thread(causes, view, asked))
            return {row.pod.uid: self._causes[row.pod.uid] for row in rows}

    def _known(self, view: NodeView, row: PodRow) -> Why | None:
        snapshot, why = self._kept.get(row.pod.uid, (None, None))
        return why if snapshot is view.node.snapshot else None

    def _keep(self, view: NodeView, row: PodRow, why: Why) -> None:
        self._kept[row.pod.uid] = view.node.snapshot, why
        self._kept.move_to_end(row.pod.uid)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)


def causes(view: NodeView, rows: Sequence[PodRow]) -> dict[str, str | None]:
    """Return each shortage by uid; empty without figures, no value if the pod fits now."""
    pods = {each.pod.uid: each.pod for each in view.rows}
    session = cases.running_session(view.node, view.config, pods)
    short: dict[str, str | None] = {}
    for row in rows:
        case = cases.running_case(session, (), row.pod)
        traced = story.trace(case)
        # Without a search: the start page shows causes of many pods.
        document = explanation_document.explanation(case, traced, (), 0)
        is_admitted = traced.decision.admitted
        short[row.pod.uid] = None if is_admitted else document.cause
    return short


def with_causes(before: NodeView, after: NodeView) -> NodeView:
    """Return ``after`` with the shortages of new rejected pods, those that are known to be right.

    The node of ``after`` is the one that rejected a pod only if no pod was admitted later and none
    released anything since ``before``. Of many rejected pods the first few get a cause.
    """
    new = history_points.new_rows(before, after)
    admitted = [row.created_at for row in new if not row.is_rejected]
    holders = {each.uid for each in after.chart.pods}
    if None in admitted or any(each.uid not in holders for each in before.chart.pods):
        return after
    last = max((at for at in admitted if at is not None), default=None)
    asked = [
        row
        for row in new
        if row.is_rejected
        and not row.cause
        and row.created_at is not None
        and (last is None or last < row.created_at)
    ]
    if not asked:
        return after
    short = causes(after, asked[:_MOST_CAUSES])
    rows = (replace(row, cause=short.get(row.pod.uid) or row.cause) for row in after.rows)
    return replace(after, rows=tuple(rows))


def explained(view: NodeView, row: PodRow, budget_seconds: float = BUDGET_SECONDS) -> Why:
    pods = {each.pod.uid: each.pod for each in view.rows}
    case = cases.running_case(cases.running_session(view.node, view.config, pods), (), row.pod)
    traced = story.trace(case)
    end = time.monotonic() + budget_seconds
    is_admitted = traced.decision.admitted
    tallies = tally.in_order(search.search(case, traced, lambda: time.monotonic() < end))
    assumed = {key.pod_uid for key in case.node.snapshot.assumed}
    document = explanation_document.explanation(case, traced, tallies, len(assumed))
    ways = (_way_out(view, row, offer) for each in tallies for offer in each.offers)
    return Why(
        document=json_schema.plain(document),
        is_admitted=is_admitted,
        cause=document.cause,
        hints=hint_maps.of_explanation(document),
        ways_out=tuple(way for way in ways if way),
    )


def _way_out(view: NodeView, row: PodRow, offer: Offer) -> WayOut | None:
    decision = offer.outcome.decision
    if not isinstance(decision, Decision):
        return None
    known = {each.pod.uid: each.pod for each in view.rows}
    after = view.node.at(decision.after)
    chart = node_map.of_node(after, f"{view.title}, as it would be", known)
    chart = node_map.with_letters_of(view.chart, chart)
    names = tuple(str(known.get(uid, uid)) for uid in offer.outcome.lost)
    held = chart.pod(row.pod.uid)
    return WayOut(explanations.of_reason(offer.change), names, chart, held.nodes if held else ())
