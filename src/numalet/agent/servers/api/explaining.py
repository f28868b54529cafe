"""Explanations: why a pod is decided on as it is, and what would have it otherwise.

A posted pod is decided on the node as it is now. A stored one too, as if it asked anew: the node
is taken without it. Nothing of the node changes, and no plugin is asked. The work is done in a
thread, a few at a time, and a search for what would admit the pod ends with its budget.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from numalet.agent.servers.api.status import Failure
from numalet.agent.servers.door import AgentView
from numalet.core.model.pod import Pod
from numalet.insight.explain import running, search, story
from numalet.insight.explain.case import Case
from numalet.insight.output import explanation_document, json_schema
from numalet.wording import kubernetes_api as words

MOST_AT_ONCE: Final = 2
LONGEST_BUDGET_SECONDS: Final = 10.0


class Explainer:
    """Explains, a bounded number of pods at a time."""

    def __init__(self) -> None:
        self._working = 0

    async def explain(self, view: AgentView, pod: Pod, budget_seconds: float) -> dict[str, Any]:
        """The document of ``numalet explain -o json``. Raises ``Failure`` 429 when busy."""
        if self._working >= MOST_AT_ONCE:
            raise Failure(429, words.BUSY)
        self._working += 1
        try:
            budget = min(budget_seconds, LONGEST_BUDGET_SECONDS)
            return await asyncio.to_thread(_explained, view, pod, budget)
        finally:
            self._working -= 1


def _explained(view: AgentView, pod: Pod, budget_seconds: float) -> dict[str, Any]:
    case = _case(view, pod)
    traced = story.trace(case.node, pod)
    end = time.monotonic() + budget_seconds
    wanted = budget_seconds > 0
    tallies = search.search(case, traced, lambda: time.monotonic() < end) if wanted else ()
    assumed = {key.pod_uid for key in case.node.snapshot.assumed}
    document = explanation_document.explanation(case, traced, tuple(tallies), len(assumed))
    return json_schema.plain(document)


def _case(view: AgentView, pod: Pod) -> Case:
    pods = {uid: record.workload.pod for uid, record in view.records.items()}
    return running.case(running.session(view.node, view.config, pods), (), pod)
