"""API discovery: ``/version``, ``/api``, ``/apis`` as in Kubernetes v1.32.

kubectl learns short names, scopes and verbs of the resources here.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from numalet import __version__
from numalet.agent.servers.api import projections
from numalet.agent.servers.api.served import OWN_GROUP, Served
from numalet.core.model.value import Value

_GROUP, _, _VERSION = OWN_GROUP.partition("/")
_READ: Final = ("get", "list")
_WATCH: Final = (*_READ, "watch")


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
