"""Events, the node and namespaces of a one-node cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.agent.servers.api import (
    collection,
    forms,
    list_options,
    patches,
    projections,
    requests,
)
from numalet.agent.servers.api.derived import Derived, of_events
from numalet.agent.servers.api.forms import shown
from numalet.agent.servers.api.served import Served
from numalet.agent.servers.api.status import Failure, not_found, of_refusal, unchangeable
from numalet.agent.servers.door import AgentView
from numalet.wording import kubernetes_api as words

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
_STRATEGIC: Final = "application/strategic-merge-patch+json"
"""Sent by ``kubectl cordon``. Only a boolean of a node can change, where both merges agree."""


class ClusterHandlers:
    def __init__(self, served: Served) -> None:
        self._served = served
        self._nodes = Derived(served.door, lambda view: [projections.node(view)])
        self._namespaces = Derived(served.door, _namespaces)

    def routes(self) -> list[Route]:
        of_namespace = "/api/v1/namespaces/{namespace}/events"
        return [
            Route("/api/v1/events", self.events, methods=["GET"]),
            Route(of_namespace, self.events, methods=["GET"]),
            Route(of_namespace + "/{name}", self.event, methods=["GET"]),
            Route("/api/v1/nodes", self.nodes, methods=["GET"]),
            Route("/api/v1/nodes/{name}", self.node, methods=["GET", "PATCH"]),
            Route("/api/v1/namespaces", self.namespaces, methods=["GET"]),
            Route("/api/v1/namespaces/{name}", self.namespace, methods=["GET"]),
        ]

    async def events(self, request: Request) -> Response:
        namespace = request.path_params.get("namespace")
        passes = list_options.selector_of(request, EVENT_FIELDS)
        return await collection.response(request, of_events(self._served, namespace), passes)

    async def event(self, request: Request) -> Response:
        name = request.path_params["name"]
        for _, item in self._served.events(request.path_params["namespace"]):
            if item.value["metadata"]["name"] == name:
                return forms.of_one(request, item)
        raise not_found("events", name)

    async def nodes(self, request: Request) -> Response:
        passes = list_options.selector_of(request, NODE_FIELDS)
        return await collection.response(request, self._nodes.collection("Node", "v1"), passes)

    async def node(self, request: Request) -> Response:
        """Get, or patch for cordon and uncordon."""
        if request.method == "PATCH":
            return await self._patched(request)
        return self._one(request, self._nodes, "nodes")

    async def _patched(self, request: Request) -> Response:
        name = request.path_params["name"]
        item = self._nodes.item(name)
        if item is None:
            raise not_found("nodes", name)
        is_dry = requests.dry_run(request.query_params.getlist("dryRun"))
        patch = await patches.patch_of(request, also_merged=(_STRATEGIC,))
        after = await patches.applied(patch, item.value)
        if not isinstance(after, Mapping):
            raise Failure(422, words.UNCHANGEABLE_NODE)
        wanted = _unschedulable(after)
        # Everything else of a Node follows from the machine and the configuration.
        if _but_for_cordon(after) != _but_for_cordon(item.value):
            raise unchangeable("Node", name, [("spec", words.UNCHANGEABLE_NODE)])
        # No write and no new version without a change.
        if is_dry or wanted is _unschedulable(item.value):
            return forms.of_one(request, shown(after) if is_dry else item)
        refused = await self._served.door.cordon(unschedulable=wanted)
        if refused is not None:
            raise of_refusal(refused, "nodes", name)
        return self._one(request, self._nodes, "nodes")

    async def namespaces(self, request: Request) -> Response:
        passes = list_options.selector_of(request, NAMESPACE_FIELDS)
        namespaces = self._namespaces.collection("Namespace", "v1")
        return await collection.response(request, namespaces, passes)

    async def namespace(self, request: Request) -> Response:
        return self._one(request, self._namespaces, "namespaces")

    def _one(self, request: Request, of: Derived, resource: str) -> Response:
        name = request.path_params["name"]
        item = of.item(name)
        if item is None:
            raise not_found(resource, name)
        return forms.of_one(request, item)


def _unschedulable(node: Mapping[str, Any]) -> bool:
    spec = node.get("spec")
    return isinstance(spec, Mapping) and spec.get("unschedulable") is True


def _but_for_cordon(node: Mapping[str, Any]) -> dict[str, Any]:
    """The node without its cordon flag, to detect other changes."""
    spec = node.get("spec")
    given = {} if spec is None else spec if isinstance(spec, Mapping) else {"spec": spec}
    rest = {name: each for name, each in given.items() if name != "unschedulable"}
    return {**node, "spec": rest}


def _namespaces(view: AgentView) -> list[dict[str, Any]]:
    records = view.records.values()
    names = {*_ALWAYS, *(each.workload.pod.namespace for each in records)}
    return [_namespace(each, view) for each in sorted(names)]


def _namespace(name: str, view: AgentView) -> dict[str, Any]:
    return {
        "kind": "Namespace",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "uid": name,
            "creationTimestamp": projections.time_text(view.node_created_at),
            "labels": {"kubernetes.io/metadata.name": name},
        },
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }
