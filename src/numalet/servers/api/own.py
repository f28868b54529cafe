"""Objects of our own: where pods are, the state of the node, explanations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.model.findings import Findings
from numalet.model.pod import Pod
from numalet.servers.api import field_validation, forms, projections, requests, selectors, watching
from numalet.servers.api.explaining import Explainer
from numalet.servers.api.node_state import node_state
from numalet.servers.api.objects import JSON, shown
from numalet.servers.api.pods import workload_of
from numalet.servers.api.served import OWN_GROUP, Served
from numalet.servers.api.status import not_found
from numalet.servers.api.watching import Step, Watched
from numalet.servers.door import PodChange, Refused

FIELDS: Final = frozenset({"metadata.name", "metadata.namespace", "metadata.uid"})
_ROOT: Final = f"/apis/{OWN_GROUP}"


class Own:
    """Handlers of ``/apis/numalet.dev/v1alpha1``."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._explainer = Explainer()

    def routes(self) -> list[Route]:
        """The paths."""
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
        """Where all pods are, or a watch of it."""
        namespace = request.path_params.get("namespace")
        passes = selectors.of_request(request, FIELDS)
        if watching.is_wanted(request):
            return watching.response(request, self._watched(namespace), passes)
        served = self._served
        items = (served.placement(record) for record in served.records(namespace))
        version = served.door.view().resource_version
        everyone = (*items, *served.observed(namespace))
        passing = (item for item in everyone if passes(item.value))
        return forms.of_list(request, "PodPlacement", OWN_GROUP, version, passing)

    def _watched(self, namespace: str | None) -> Watched:
        served = self._served

        def since(version: int) -> AsyncIterator[Step] | Refused:
            changes = served.door.pod_changes(version)
            if isinstance(changes, Refused):
                return changes
            return _steps(served, changes, namespace)

        return Watched(
            kind="PodPlacement",
            api_version=OWN_GROUP,
            now=lambda: (
                served.door.view().resource_version,
                [(record.uid, served.placement(record)) for record in served.records(namespace)],
            ),
            since=since,
        )

    async def placement(self, request: Request) -> Response:
        """Where one pod is."""
        return forms.of_one(request, self._served.placement_of(**request.path_params))

    async def explain_stored(self, request: Request) -> Response:
        """Why a pod that the agent has is decided on as it is, were it to ask now."""
        record = self._served.record(**request.path_params)
        return await self._explanation(request, record.workload.pod)

    async def explain_posted(self, request: Request) -> Response:
        """Why a pod that is only asked about would be decided on so."""
        wants = field_validation.wanted(request)
        document = await requests.document_as_it_is(request)
        namespace, view = request.path_params["namespace"], self._served.door.view()
        workload = await requests.read_out(
            request, lambda: workload_of(document, namespace, view, wants, Findings())
        )
        return await self._explanation(request, workload.pod)

    async def _explanation(self, request: Request, pod: Pod) -> Response:
        budget = requests.whole_number(request, "budgetSeconds") or 0
        view = self._served.door.view()
        found = await self._explainer.explain(view, pod, float(budget))
        return Response(shown(found).text, media_type=JSON)

    async def states(self, request: Request) -> Response:
        """The state of the node, which is the only one."""
        passes = selectors.of_request(request, FIELDS)
        item = shown(self._state())
        version = self._served.door.view().resource_version
        items = [item] if passes(item.value) else []
        return forms.of_list(request, "NodeState", OWN_GROUP, version, items)

    async def state(self, request: Request) -> Response:
        """The state of the node."""
        if request.path_params["name"] != self._served.door.view().node_name:
            raise not_found("nodestates", request.path_params["name"])
        return forms.of_one(request, shown(self._state()))

    def _state(self) -> dict[str, object]:
        view = self._served.door.view()
        return {
            "kind": "NodeState",
            "apiVersion": OWN_GROUP,
            "metadata": {
                "name": view.node_name,
                "resourceVersion": str(view.resource_version),
                "creationTimestamp": projections.time_text(view.started_at),
            },
            **node_state(view),
        }


async def _steps(
    served: Served, changes: AsyncIterator[PodChange], namespace: str | None
) -> AsyncIterator[Step]:
    async for change in changes:
        record = change.record
        if namespace in (None, record.workload.pod.namespace):
            item = served.placement(record)
            yield Step(change.kind, record.uid, item, change.resource_version)
