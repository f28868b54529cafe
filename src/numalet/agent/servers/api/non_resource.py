"""Paths that are not resources: health, metrics, configuration, and API discovery.

``/version``, ``/api`` and ``/apis`` are as in Kubernetes v1.32.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from numalet import __version__
from numalet.agent.servers import metrics
from numalet.agent.servers.api import projections
from numalet.agent.servers.api.served import OWN_GROUP, Served
from numalet.core.model.value import Value
from numalet.io.documents.kubelet.kubelet_config_document import configz
from numalet.shared.kubernetes.node_object import Unready

_READINESS: Final = {
    "node-state": Unready.STATE_UNWRITABLE,
    "sources": Unready.STARTING,
    "shutdown": Unready.STOPPING,
}
"""Readiness checks, by the state that fails them."""

_GROUP, _, _VERSION = OWN_GROUP.partition("/")
_READ: Final = ("get", "list")
_WATCH: Final = (*_READ, "watch")


class HealthHandlers:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        return [
            Route("/healthz", self.healthy, methods=["GET"]),
            Route("/livez", self.alive, methods=["GET"]),
            Route("/readyz", self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
            Route("/configz", self.config, methods=["GET"]),
        ]

    async def healthy(self, request: Request) -> Response:
        """Whether the agent responds and can write its node state."""
        unready = self._served.door.view().unready
        checks = {"ping": True, "node-state": unready is not Unready.STATE_UNWRITABLE}
        return _report(checks, "healthz", verbose="verbose" in request.query_params)

    async def alive(self, request: Request) -> Response:
        """Liveness must not depend on the disk: a restart would not repair it."""
        return _report({"ping": True}, "livez", verbose="verbose" in request.query_params)

    async def ready(self, request: Request) -> Response:
        """Whether the state is writable, all sources are ready, and no shutdown is in progress."""
        unready = self._served.door.view().unready
        checks = {"ping": True} | {name: unready is not why for name, why in _READINESS.items()}
        return _report(checks, "readyz", verbose="verbose" in request.query_params)

    async def metrics(self, _request: Request) -> Response:
        door = self._served.door
        page = metrics.text(door.view(), door.counts())
        return Response(page, headers={"content-type": metrics.CONTENT_TYPE})

    async def config(self, _request: Request) -> Response:
        return JSONResponse(configz(self._served.door.view().config))


def _report(checks: dict[str, bool], name: str, *, verbose: bool) -> Response:
    """As a kubelet answers: ``ok``, or a line for each check."""
    passed = all(checks.values())
    if passed and not verbose:
        return PlainTextResponse("ok")
    lines = [
        f"[+]{check} ok" if fine else f"[-]{check} failed: reason withheld"
        for check, fine in checks.items()
    ]
    verdict = f"{name} check {'passed' if passed else 'failed'}"
    return PlainTextResponse("\n".join([*lines, verdict, ""]), 200 if passed else 500)


class Resource(Value):
    """A resource or subresource (``pods/log``)."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    group: str = ""
    version: str = ""
    """Of the kind, if it differs from the list's."""

    def document(self) -> dict[str, Any]:
        """As an APIResourceList has it."""
        is_part = "/" in self.name
        lists = {"shortNames": self.short_names, "categories": self.categories}
        return {
            "name": self.name,
            "singularName": "" if is_part else self.kind.lower(),
            "namespaced": self.namespaced,
            **({"group": self.group, "version": self.version} if self.group else {}),
            "kind": self.kind,
            "verbs": self.verbs,
            **{name: members for name, members in lists.items() if members},
        }


CORE: Final = (
    Resource("events", "Event", _WATCH, short_names=("ev",)),
    Resource("namespaces", "Namespace", _WATCH, namespaced=False, short_names=("ns",)),
    Resource(
        "nodes", "Node", ("get", "list", "patch", "watch"), namespaced=False, short_names=("no",)
    ),
    Resource(
        "pods",
        "Pod",
        ("create", "delete", "get", "list", "patch", "watch"),
        short_names=("po",),
        categories=("all",),
    ),
    Resource("pods/eviction", "Eviction", ("create",), group="policy", version="v1"),
    Resource("pods/log", "Pod", ("get",)),
)
OWN: Final = (
    Resource("dashboardlinks", "DashboardLink", ("create",), namespaced=False),
    Resource("explanations", "Explanation", ("create",)),
    Resource("nodestates", "NodeState", _READ, namespaced=False),
    Resource("podplacements", "PodPlacement", _WATCH),
    Resource("pods/explanation", "Explanation", ("get",)),
    Resource("runs", "Run", ("create",)),
)


class Discovery:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        return [
            Route("/version", self.version, methods=["GET"]),
            Route("/api", self.versions, methods=["GET"]),
            Route("/api/v1", self.core, methods=["GET"]),
            Route("/apis", self.groups, methods=["GET"]),
            Route(f"/apis/{_GROUP}", self.group, methods=["GET"]),
            Route(f"/apis/{OWN_GROUP}", self.own, methods=["GET"]),
        ]

    async def version(self, _request: Request) -> Response:
        """The Kubernetes release that the node implements, and numalet's version in the build."""
        node = projections.node(self._served.door.view())
        info = node["status"]["nodeInfo"]
        text = info["kubeletVersion"]
        major, minor, *_ = text.removeprefix("v").split(".")
        return JSONResponse(
            {
                "major": major,
                "minor": minor,
                "gitVersion": text,
                "gitCommit": "",
                "gitTreeState": "",
                "buildDate": "",
                "goVersion": "",
                "compiler": f"numalet {__version__}, Python {platform.python_version()}",
                "platform": f"{info['operatingSystem']}/{info['architecture']}",
            }
        )

    async def versions(self, _request: Request) -> Response:
        return JSONResponse(
            {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        )

    async def core(self, _request: Request) -> Response:
        return JSONResponse(_resources("v1", CORE))

    async def groups(self, _request: Request) -> Response:
        groups = [_group()]
        return JSONResponse({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    async def group(self, _request: Request) -> Response:
        return JSONResponse({"kind": "APIGroup", "apiVersion": "v1", **_group()})

    async def own(self, _request: Request) -> Response:
        return JSONResponse(_resources(OWN_GROUP, OWN))


def _group() -> Mapping[str, Any]:
    version = {"groupVersion": OWN_GROUP, "version": _VERSION}
    return {"name": _GROUP, "versions": [version], "preferredVersion": version}


def _resources(group_version: str, resources: tuple[Resource, ...]) -> Mapping[str, Any]:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": [each.document() for each in resources],
    }
