"""Objects of ``numalet.dev``: placements, node state, explanations."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.agent.servers.api import collection, forms, list_options, projections, requests
from numalet.agent.servers.api.derived import PLACEMENT, Derived, of_records
from numalet.agent.servers.api.forms import JSON, shown
from numalet.agent.servers.api.pods import workload_of
from numalet.agent.servers.api.projections import node_state
from numalet.agent.servers.api.served import OWN_GROUP, Served, observed_by
from numalet.agent.servers.api.status import Failure, not_found
from numalet.agent.servers.door import AgentView, OwnershipMode
from numalet.core.model.findings import Findings
from numalet.core.model.pod import Pod
from numalet.core.model.value import replace
from numalet.core.workload.spec import of_command
from numalet.insight.explain import cases, search, story
from numalet.insight.output import explanation_document, json_schema
from numalet.wording import kubernetes_api as words

FIELDS: Final = frozenset({"metadata.name", "metadata.namespace", "metadata.uid"})
_ROOT: Final = f"/apis/{OWN_GROUP}"
MOST_EXPLANATIONS_AT_ONCE: Final = 2
_LONGEST_BUDGET_SECONDS: Final = 10.0


class Own:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._explaining = 0
        self._states = Derived(served.door, lambda view: [_state(view)])
        self._observed = Derived(served.door, observed_by)

    def routes(self) -> list[Route]:
        of_namespace = _ROOT + "/namespaces/{namespace}"
        return [
            Route(_ROOT + "/podplacements", self.placements, methods=["GET"]),
            Route(of_namespace + "/podplacements", self.placements, methods=["GET"]),
            Route(of_namespace + "/podplacements/{name}", self.placement, methods=["GET"]),
            Route(of_namespace + "/pods/{name}/explanation", self.explain_stored, methods=["GET"]),
            Route(of_namespace + "/explanations", self.explain_posted, methods=["POST"]),
            Route(_ROOT + "/nodestates", self.states, methods=["GET"]),
            Route(_ROOT + "/nodestates/{name}", self.state, methods=["GET"]),
        ]

    async def placements(self, request: Request) -> Response:
        """List or watch placements."""
        namespace = request.path_params.get("namespace")
        passes = list_options.selector_of(request, FIELDS)
        if self._served.door.view().standing is not OwnershipMode.OBSERVING:
            placements = of_records(self._served, namespace, PLACEMENT)
            return await collection.response(request, placements, passes)
        # Next to a kubelet, these are the kubelet's pods.
        placements = self._observed.collection("PodPlacement", OWN_GROUP)
        here = list_options.in_namespace(namespace, passes)
        return await collection.response(request, placements, here)

    async def placement(self, request: Request) -> Response:
        return forms.of_one(request, self._served.placement_of(**request.path_params))

    async def explain_stored(self, request: Request) -> Response:
        """Explain the decision on an existing pod as if it were new."""
        record = self._served.record(**request.path_params)
        return await self._explanation(request, record.workload.pod)

    async def explain_posted(self, request: Request) -> Response:
        """Explain the decision on a posted pod without admitting it."""
        wants = requests.field_validation(request)
        document = await requests.document_as_it_is(request)
        namespace, view = request.path_params["namespace"], self._served.door.view()
        workload = await requests.read_out(
            request, lambda: workload_of(document, namespace, view, wants, Findings())
        )
        is_command = "foreground" in request.query_params
        asked = of_command(workload) if is_command else workload
        return await self._explanation(request, asked.pod)

    async def _explanation(self, request: Request, pod: Pod) -> Response:
        """Raises ``Failure`` 429 while too many explanations run."""
        wanted_seconds = float(requests.whole_number(request, "budgetSeconds") or 0)
        view = self._served.door.view()
        if self._explaining >= MOST_EXPLANATIONS_AT_ONCE:
            raise Failure(429, words.BUSY)
        # A search uses a whole CPU, so only a few run at once; the client retries after a 429.
        self._explaining += 1
        try:
            budget_seconds = min(wanted_seconds, _LONGEST_BUDGET_SECONDS)
            explanation = await asyncio.to_thread(_explained, view, pod, budget_seconds)
        finally:
            self._explaining -= 1
        return Response(shown(explanation).text, media_type=JSON)

    async def states(self, request: Request) -> Response:
        passes = list_options.selector_of(request, FIELDS)
        states = replace(self._states.collection("NodeState", OWN_GROUP), since=None)
        return await collection.response(request, states, passes)

    async def state(self, request: Request) -> Response:
        if request.path_params["name"] != self._served.door.view().node_name:
            raise not_found("nodestates", request.path_params["name"])
        item = self._states.item(request.path_params["name"])
        assert item is not None
        return forms.of_one(request, item)


def _state(view: AgentView) -> dict[str, Any]:
    return {
        "kind": "NodeState",
        "apiVersion": OWN_GROUP,
        "metadata": {
            "name": view.node_name,
            "creationTimestamp": projections.time_text(view.node_created_at),
        },
        **node_state(view),
    }


def _explained(view: AgentView, pod: Pod, budget_seconds: float) -> dict[str, Any]:
    """Build the document of ``numalet explain -o json``; an existing pod is treated as new."""
    pods = {uid: record.workload.pod for uid, record in view.records.items()}
    case = cases.running_case(cases.running_session(view.node, view.config, pods), (), pod)
    traced = story.trace(case)
    end = time.monotonic() + budget_seconds
    wanted = budget_seconds > 0
    tallies = search.search(case, traced, lambda: time.monotonic() < end) if wanted else ()
    assumed = {key.pod_uid for key in case.node.snapshot.assumed}
    document = explanation_document.explanation(case, traced, tuple(tallies), len(assumed))
    return json_schema.plain(document)
