"""What a cluster of one node shows besides its pods: events, the node, namespaces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.servers.api import forms, projections, selectors, watching
from numalet.servers.api.objects import Shown, shown
from numalet.servers.api.served import Served, namespace_of
from numalet.servers.api.status import not_found
from numalet.servers.api.watching import Step, Watched
from numalet.servers.door import EventChange, Refused

EVENT_FIELDS: Final = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "type",
        "reason",
        "source",
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.fieldPath",
        "involvedObject.resourceVersion",
    }
)
NODE_FIELDS: Final = frozenset({"metadata.name", "spec.unschedulable"})
NAMESPACE_FIELDS: Final = frozenset({"metadata.name", "status.phase"})
_ALWAYS: Final = ("default",)


class Cluster:
    """Handlers of ``/api/v1/events``, ``nodes`` and ``namespaces``."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        """The paths."""
        of_namespace = "/api/v1/namespaces/{namespace}/events"
        return [
            Route("/api/v1/events", self.events, methods=["GET"]),
            Route(of_namespace, self.events, methods=["GET"]),
            Route(of_namespace + "/{name}", self.event, methods=["GET"]),
            Route("/api/v1/nodes", self.nodes, methods=["GET"]),
            Route("/api/v1/nodes/{name}", self.node, methods=["GET"]),
            Route("/api/v1/namespaces", self.namespaces, methods=["GET"]),
            Route("/api/v1/namespaces/{name}", self.namespace, methods=["GET"]),
        ]

    async def events(self, request: Request) -> Response:
        """All events, or a watch of them."""
        namespace = request.path_params.get("namespace")
        passes = selectors.of_request(request, EVENT_FIELDS)
        if watching.is_wanted(request):
            return watching.response(request, self._watched(namespace), passes)
        items = (item for _, item in self._served.events(namespace))
        return self._list(request, "Event", passes, items)

    def _watched(self, namespace: str | None) -> Watched:
        served = self._served

        def since(version: int) -> AsyncIterator[Step] | Refused:
            changes = served.door.event_changes(version)
            if isinstance(changes, Refused):
                return changes
            return _steps(served, changes, namespace)

        return Watched(
            kind="Event",
            api_version="v1",
            now=lambda: (served.door.view().resource_version, served.events(namespace)),
            since=since,
        )

    async def event(self, request: Request) -> Response:
        """One event."""
        name = request.path_params["name"]
        for known, item in self._served.events(request.path_params["namespace"]):
            if known == name:
                return forms.of_one(request, item)
        raise not_found("events", name)

    async def nodes(self, request: Request) -> Response:
        """The node, which is the only one."""
        passes = selectors.of_request(request, NODE_FIELDS)
        node = shown(projections.node(self._served.door.view()))
        return self._list(request, "Node", passes, [node])

    async def node(self, request: Request) -> Response:
        """The node."""
        view = self._served.door.view()
        if request.path_params["name"] != view.node_name:
            raise not_found("nodes", request.path_params["name"])
        return forms.of_one(request, shown(projections.node(view)))

    async def namespaces(self, request: Request) -> Response:
        """Every namespace that has a pod, and the default one."""
        passes = selectors.of_request(request, NAMESPACE_FIELDS)
        items = (self._namespace(each) for each in self._names())
        return self._list(request, "Namespace", passes, items)

    async def namespace(self, request: Request) -> Response:
        """One namespace."""
        name = request.path_params["name"]
        if name not in self._names():
            raise not_found("namespaces", name)
        return forms.of_one(request, self._namespace(name))

    def _names(self) -> list[str]:
        records = self._served.door.view().records.values()
        return sorted({*_ALWAYS, *(each.workload.pod.namespace for each in records)})

    def _namespace(self, name: str) -> Shown:
        view = self._served.door.view()
        metadata: Mapping[str, Any] = {
            "name": name,
            "creationTimestamp": projections.time_text(view.started_at),
            "labels": {"kubernetes.io/metadata.name": name},
        }
        return shown(
            {
                "kind": "Namespace",
                "apiVersion": "v1",
                "metadata": metadata,
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            }
        )

    def _list(
        self, request: Request, kind: str, passes: selectors.Selector, items: Iterable[Shown]
    ) -> Response:
        version = self._served.door.view().resource_version
        passing = (item for item in items if passes(item.value))
        return forms.of_list(request, kind, "v1", version, passing)


async def _steps(
    served: Served, changes: AsyncIterator[EventChange], namespace: str | None
) -> AsyncIterator[Step]:
    async for change in changes:
        if namespace in (None, namespace_of(change.event)):
            item = served.event(change.event)
            name = item.value["metadata"]["name"]
            yield Step(change.kind, name, item, change.resource_version)
