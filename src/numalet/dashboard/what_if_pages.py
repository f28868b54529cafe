"""The page What if: a form, and the answer below it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from numalet.core.config.rules import Scope, TopologyPolicy
from numalet.dashboard import forms, what_if, widths
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.forms import FormRefused
from numalet.dashboard.sources import NodeSource
from numalet.dashboard.what_if import WhatIfQuestion, samples
from numalet.dashboard.widths import DrawnWidth
from numalet.drawing import hint_matrix, node_drawing
from numalet.insight.explain import hint_maps
from numalet.pages import templating
from numalet.wording import explanations
from numalet.wording import kubernetes_api as words

MOST_AT_ONCE: Final = 2
_LONGEST_VALUE_CHARS: Final = 1_000
_POLICIES: Final = tuple(each.value for each in TopologyPolicy)
_SCOPES: Final = tuple(each.value for each in Scope)


def routes(shown: ShownSources) -> list[Route]:
    if shown.node is None:
        return []
    page = _WhatIfPage(shown, shown.node)
    return [Route("/what-if", page.handle, methods=["GET", "POST"])]


class _WhatIfPage:
    def __init__(self, shown: ShownSources, source: NodeSource) -> None:
        self._shown = shown
        self._source = source
        self._working = 0

    async def handle(self, request: Request) -> Response:
        question = WhatIfQuestion()
        try:
            # The answer to a form without a link has no address with another width.
            width = DrawnWidth()
            if request.method != "POST":
                width = widths.of_address(request.query_params)
                question = self._of_link(dict(request.query_params))
            else:
                values = await forms.fields(request, "manifest")
                question = _question(values, values.get("manifest", ""))
                link = self._link(question)
                if link is not None:
                    # The address becomes the link, and reloading the page repeats the question.
                    return RedirectResponse(link, 303)
            return await self._answered(question, width)
        except FormRefused as refused:
            return self._page(question, refused.status, problem=str(refused))

    def _of_link(self, values: Mapping[str, str]) -> WhatIfQuestion:
        sample = values.get("sample")
        text = ""
        if sample is not None:
            known = {each.name: each.text for each in samples(self._source.view().chart)}
            text = known.get(sample, "")
        elif "m" in values:
            unpacked = what_if.unpacked_manifest(values["m"])
            if unpacked is None:
                most = what_if.LONGEST_LINK_CHARS
                raise FormRefused(
                    400,
                    "This link is damaged or too long: a manifest in a link has at most"
                    f" {most} characters. Paste the manifest instead.",
                )
            text = unpacked
        return _question(values, text)

    async def _answered(self, question: WhatIfQuestion, width: DrawnWidth) -> Response:
        if not question.text.strip() and not question.uid:
            return self._page(question, 200)
        # Refuse instead of queueing: each answer may take seconds of a CPU.
        if self._working >= MOST_AT_ONCE:
            raise FormRefused(429, words.BUSY)
        self._working += 1
        try:
            answer = await asyncio.to_thread(what_if.answer, self._source.view(), question)
        finally:
            self._working -= 1
        drawing, matrices = None, []
        if answer.chart is not None:
            drawing = templating.trusted(node_drawing.draw(answer.chart, width_px=width.px))
        if answer.explanation is not None:
            hints = hint_maps.of_explanation(answer.explanation)
            matrices = [templating.trusted(hint_matrix.draw(each)) for each in hints]
        status = 200 if answer.rows else 422
        return self._page(
            question,
            status,
            answer=answer,
            drawing=drawing,
            width=width,
            matrices=matrices,
            problem=answer.problem,
        )

    def _link(self, question: WhatIfQuestion) -> str | None:
        path = self._shown.path
        if question.uid:
            return what_if.link_to_pod(path, question.uid)
        if not question.text.strip():
            return f"{path}/what-if"
        return what_if.link_to_manifest(path, question.text, question.policy, question.scope)

    def _page(self, question: WhatIfQuestion, status: int, **values: object) -> Response:
        view = self._source.view()
        shown = {"answer": None, "drawing": None, "matrices": [], "problem": "", **values}
        is_asked = bool(question.text.strip() or question.uid)
        return self._shown.page(
            "what_if.html",
            status,
            title="What if",
            page="/what-if",
            question=question,
            samples=samples(view.chart),
            policies=_POLICIES,
            scopes=_SCOPES,
            policy_now=view.config.topology_manager_policy,
            scope_now=view.config.topology_manager_scope,
            categories=explanations.CATEGORIES,
            link=self._link(question) if is_asked else None,
            **shown,
        )


def _question(values: Mapping[str, str], text: str) -> WhatIfQuestion:
    policy, scope = values.get("policy", ""), values.get("scope", "")
    if policy not in ("", *_POLICIES) or scope not in ("", *_SCOPES):
        raise FormRefused(400, "Unknown topology policy or scope.")
    pod = values.get("pod", "")
    return WhatIfQuestion(
        text=text,
        uid=values.get("uid", "")[:_LONGEST_VALUE_CHARS],
        policy=policy,
        scope=scope,
        # Python refuses to convert very long numbers, hence the limit.
        chosen=int(pod) if pod.isascii() and pod.isdecimal() and len(pod) < 6 else None,
        way=values.get("way", "")[:_LONGEST_VALUE_CHARS],
    )
