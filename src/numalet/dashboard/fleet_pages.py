"""Pages of a fleet: heat maps of pools, traps, fits of a pod, and a page for each node."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from numalet.core.cluster.cluster import Cluster
from numalet.core.model import input_error, pod_demand
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.value import Value
from numalet.dashboard import fleet_nodes, fleet_plan, forms, widths
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.fleet_answers import MOST_COPIES, FleetAnswers, MapQuestion
from numalet.dashboard.forms import FormRefused
from numalet.dashboard.pod_pages import age
from numalet.dashboard.widths import DrawnWidth
from numalet.drawing import node_drawing
from numalet.insight.fleet import parts, victims
from numalet.insight.fleet.fit import Fit
from numalet.insight.fleet.traps import urgent_first
from numalet.insight.output.fleet_why_text import moment, sentences
from numalet.pages import templating
from numalet.wording import explanations, numbers

MOST_ROWS: Final = 40
"""Rows of a table; the command line prints all."""
MOST_LISTED: Final = 200
"""Nodes that a search lists."""
MOST_TRAPS: Final = 10
"""Few traps by default, so that the map stays near the top."""
MOST_CHARACTERS: Final = 16_000
"""A longer text is not put into the address, and its answer has no link."""

_LINKED: Final = ("resource", "pod", "count", "ask")
_OF_FITS: Final[dict[str, Any]] = {
    "held": victims.held,
    "most_rows": MOST_ROWS,
    "most_copies": MOST_COPIES,
}
_EXAMPLE: Final = "gpu: 4, cpu: 32, memory: 256Gi"


def routes(shown: ShownSources) -> list[Route]:
    source = shown.fleet
    if source is None:
        return []
    pages = _FleetPages(shown, FleetAnswers(shown.path))

    async def fleet(request: Request) -> Response:
        if request.method == "POST":
            return await pages.sent(source.cluster(), request)
        return await pages.fleet(source.cluster(), request.query_params)

    async def node(request: Request) -> Response:
        width = widths.of_address(request.query_params)
        return await pages.node(source.cluster(), request.path_params["name"], width)

    async def why(request: Request) -> Response:
        return await pages.why(source.cluster(), request.query_params.get("pod", ""))

    async def first(_request: Request) -> Response:
        return RedirectResponse(f"{shown.path}/fleet")

    every = [
        Route("/fleet", fleet, methods=["GET", "POST"]),
        Route("/fleet/nodes/{name:path}", node),
        Route("/fleet/why", why),
    ]
    return every if shown.node is not None else [Route("/", first), *every]


class _FitAsked(Value):
    text: str
    count: str
    is_plan: bool


class _FitBox(Value):
    status: int = 200
    findings: tuple[str, ...] = ()
    fits: tuple[Fit, ...] = ()
    planned: dict[str, Any] | None = None


class _FleetPages(Value):
    shown: ShownSources
    answers: FleetAnswers

    async def sent(self, cluster: Cluster, request: Request) -> Response:
        try:
            values = await forms.fields(request, "pod")
        except FormRefused as refused:
            return await self.fleet(cluster, {}, _FitBox(refused.status, (str(refused),)))
        if len(values.get("pod", "")) > MOST_CHARACTERS:
            return await self.fleet(cluster, values, is_linked=False)
        query = urlencode({name: values[name] for name in _LINKED if values.get(name)})
        # A redirect, so that a reload repeats a GET and the address can be shared.
        return RedirectResponse(f"{self.shown.path}/fleet?{query}#fit", 303)

    async def fleet(
        self,
        cluster: Cluster,
        query: Mapping[str, str],
        refusal: _FitBox | None = None,
        *,
        is_linked: bool = True,
    ) -> Response:
        """Return the page of all pools, one pool, or the nodes that are alike.

        ``refusal`` replaces the result of the form. ``is_linked``: the address contains the whole
        form.
        """
        question = MapQuestion(
            query.get("resource", ""), query.get("pool"), query.get("alike", ""), query.get("find")
        )
        is_plan = query.get("ask") == "free"
        asked = _FitAsked(query.get("pod", ""), query.get("count", ""), is_plan)
        drawn = await self.answers.drawn(cluster, question)
        box = refusal or await self._box(cluster, asked, is_linked=is_linked)
        resource = drawn.fleet.resource
        made_at = None if self.shown.fleet is None else self.shown.fleet.made_at
        return self.shown.page(
            "fleet.html",
            box.status,
            title="Fleet",
            page="/fleet",
            question=question,
            resource=resource,
            resources=drawn.fleet.resources,
            drawing=templating.trusted(drawn.drawing),
            is_folded=drawn.is_folded,
            pools=drawn.fleet.pools,
            stranded_in={each.pool: each.stranded for each in drawn.traps.pools},
            noted={
                "Undecided nodes": _noted(
                    (name, each.why) for name, each in sorted(cluster.undecided.items())
                ),
                "Notes on nodes": _noted(
                    (name, e) for name, on in sorted(cluster.nodes.items()) for e in on.notes
                ),
            },
            traps=drawn.traps.traps[: None if query.get("traps") == "all" else MOST_TRAPS],
            trap_count=len(drawn.traps.traps),
            stranded=drawn.traps.stranded,
            shapes=urgent_first(drawn.traps.shapes),
            rejected=drawn.rejected,
            to_minute=moment,
            asked=asked,
            example=_EXAMPLE,
            sort=query.get("sort", ""),
            listed=sorted(drawn.listed, key=lambda each: (not each.is_open, -each.in_all.free))
            if query.get("sort") == "free"
            else drawn.listed,
            most_listed=MOST_LISTED,
            not_per_numa_node=explanations.NOT_PER_NUMA_NODE,
            amount=partial(numbers.amount, resource),
            made_at=made_at,
            age="" if made_at is None else age((self.shown.clock() - made_at).total_seconds()),
            is_linked=is_linked and refusal is None,
            findings=box.findings,
            fits=box.fits,
            **_OF_FITS,
            planned=box.planned,
            priority=victims.priority,
            controller_text=parts.controller_text,
            requests=pod_demand.amounts,
            is_live=self.shown.fleet is not None and self.shown.fleet.is_live,
        )

    async def _box(self, cluster: Cluster, asked: _FitAsked, *, is_linked: bool) -> _FitBox:
        if is_linked and len(asked.text) > MOST_CHARACTERS:
            words = (
                f"the text of this address has {len(asked.text)} characters; {MOST_CHARACTERS} are"
                " allowed in one. Paste it into the box."
            )
            return _FitBox(413, findings=(words,))
        if not asked.text.strip():
            return _FitBox()
        try:
            count = _count(asked.count)
            if asked.is_plan:
                planned = await self.answers.planned(cluster, asked.text, count)
                return _FitBox(planned=fleet_plan.shown(planned))
            answers = await self.answers.fits(cluster, asked.text, count)
        except BadInput as bad:
            return _FitBox(422, findings=tuple(each.located for each in bad.findings))
        return _FitBox(fits=tuple(answers))

    async def why(self, cluster: Cluster, text: str) -> Response:
        """Return all that the cluster knows about a pod, named by namespace and name, or uid."""
        try:
            answer = await self.answers.why(cluster, text)
        except BadInput as bad:
            return self.shown.message(str(bad.findings[0]), 404)
        on = cluster.nodes.get(answer.node) or cluster.undecided.get(answer.node)
        return self.shown.page(
            "fleet_why.html",
            title=f"{answer.namespace}/{answer.name}",
            page="/fleet",
            sentences=[(said.text.strip(), said.tone.value) for said in sentences(answer)],
            node="" if on is None else on.name,
            fit=answer.fit,
            **_OF_FITS,
        )

    async def node(self, cluster: Cluster, name: str, width: DrawnWidth) -> Response:
        on, unknown = cluster.nodes.get(name), cluster.undecided.get(name)
        if on is None and unknown is None:
            return self.shown.message("Node not found in this cluster.", 404)
        chart = None if on is None else self.answers.chart(on)
        drawing, trap = "", None
        # Drawing takes long enough to stall the other pages, so a thread does it.
        if chart is not None:
            drawing = await asyncio.to_thread(partial(node_drawing.draw, chart, width_px=width.px))
            drawn = await self.answers.drawn(cluster, MapQuestion())
            trap = next((each for each in drawn.traps.traps if each.node == name), None)
        pods = [each for _, each in sorted(cluster.pods.items()) if each.pod.node_name == name]
        return self.shown.page(
            "fleet_node.html",
            title=name,
            page="/fleet",
            drawing=templating.trusted(drawing),
            width=width,
            facts=[] if on is None else fleet_nodes.facts(on),
            why="" if unknown is None else str(unknown.why),
            fix="" if unknown is None else unknown.why.fix,
            notes=[] if on is None else [str(each) for each in on.notes],
            trap=trap,
            closed="" if on is None or on.is_open else on.state,
            pods=pods,
            where=partial(fleet_nodes.where, on=on, chart=chart),
            requests=pod_demand.amounts,
        )


def _count(text: str) -> int | None:
    """Return the number, if the text has one. Raises ``BadInput``."""
    if not text.strip():
        return None
    # At most four digits, because Python refuses to convert very long numbers.
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and int(text) <= MOST_COPIES):
        words = f"{text!r} is not a number of copies; must be 0 to {MOST_COPIES}"
        raise input_error.Invalid(words).bad_input()
    return int(text)


def _noted(findings: Iterable[tuple[str, Finding]]) -> list[tuple[Finding, list[str]]]:
    """Return each finding once, with the names of all its nodes."""
    by_text: dict[str, tuple[Finding, list[str]]] = {}
    for name, each in findings:
        by_text.setdefault(str(each), (each, []))[1].append(name)
    return [*by_text.values()]
