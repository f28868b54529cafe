"""The OpenAPI v3 document of the API, built from its routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from numalet import __version__
from numalet.agent.servers.api import openapi_types, requests
from numalet.agent.servers.api.patches import LISTS, PATCHES
from numalet.agent.servers.api.status import Failure
from numalet.wording import kubernetes_api as words

_TITLE: Final = "numalet"
_JSON: Final = "application/json"
_OBJECT: Final = {"type": "object"}

_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_FLAG: Final = {"type": "boolean"}
_DRY: Final = {"dryRun": {"type": "string", "enum": ["All"]}}
_CHANGING: Final = {**_DRY, "fieldManager": _TEXT, "fieldValidation": requests.PARAMETER}
_SELECTING: Final = {
    "labelSelector": _TEXT,
    "fieldSelector": _TEXT,
    "limit": _COUNT,
    "continue": _TEXT,
    "resourceVersion": _TEXT,
    "resourceVersionMatch": {"type": "string", "enum": ["Exact", "NotOlderThan"]},
}
_WATCHING: Final = {
    "watch": _FLAG,
    "timeoutSeconds": _COUNT,
    "allowWatchBookmarks": _FLAG,
    "sendInitialEvents": _FLAG,
}
_PARAMETERS: Final[Mapping[tuple[str, str], Mapping[str, Any]]] = {
    ("GET", "log"): {
        "container": _TEXT,
        "follow": _FLAG,
        "previous": _FLAG,
        "tailLines": _COUNT,
        "limitBytes": _COUNT,
    },
    ("GET", "pods"): {**_SELECTING, **_WATCHING},
    ("GET", "events"): {**_SELECTING, **_WATCHING},
    ("GET", "podplacements"): {**_SELECTING, **_WATCHING},
    ("GET", "nodes"): {**_SELECTING, **_WATCHING},
    ("GET", "namespaces"): {**_SELECTING, **_WATCHING},
    ("GET", "nodestates"): _SELECTING,
    ("GET", "explanation"): {"budgetSeconds": _COUNT},
    ("POST", "explanations"): {
        "budgetSeconds": _COUNT,
        "foreground": _TEXT,
        "fieldValidation": requests.PARAMETER,
    },
    ("POST", "runs"): {
        "pid": _COUNT,
        "ticks": _COUNT,
        "boot": _TEXT,
        "dryRun": _TEXT,
        "waitMilliseconds": _COUNT,
    },
    ("POST", "pods"): _CHANGING,
    ("POST", "eviction"): _DRY,
    ("DELETE", "{name}"): {"gracePeriodSeconds": _COUNT, **_DRY},
    ("PATCH", "{name}"): _CHANGING,
    ("GET", "healthz"): {"verbose": _TEXT},
    ("GET", "livez"): {"verbose": _TEXT},
    ("GET", "readyz"): {"verbose": _TEXT},
}
"""By method and last segment of the path."""

_POD_PATH: Final = re.compile(r"/api/v1(/namespaces/\{namespace\})?/pods(/\{name\})?")
_LISTED: Final = frozenset({"events", "namespaces", "nodes", "nodestates", "podplacements"})
_OF_A_POD: Final = {_JSON: {"schema": openapi_types.ref(openapi_types.POD)}}
_BODIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "POST": _OF_A_POD,
    "PATCH": {
        each: {"schema": {"type": "array", "items": _OBJECT} if each in LISTS else _OBJECT}
        for each in PATCHES
    },
}
_PLAIN: Final = frozenset({"log", "metrics", "healthz", "livez", "readyz"})


class OpenApi:
    def __init__(self, routes: Iterable[Route]) -> None:
        self._by_group: dict[str, list[Route]] = {}
        for route in routes:
            match = re.match(r"/(api/v1|apis/[^/]+/[^/]+)(?:/|$)", route.path)
            self._by_group.setdefault(match[1] if match else "other", []).append(route)

    def routes(self) -> list[Route]:
        return [
            Route("/openapi/v3", self.index, methods=["GET"]),
            Route("/openapi/v3/{group:path}", self.group, methods=["GET"]),
        ]

    async def index(self, _request: Request) -> Response:
        paths = {
            group: {"serverRelativeURL": f"/openapi/v3/{group}"} for group in sorted(self._by_group)
        }
        return JSONResponse({"paths": paths})

    async def group(self, request: Request) -> Response:
        """The document of one group; ``other`` has the paths outside all groups."""
        group = request.path_params["group"]
        if group not in self._by_group:
            raise Failure(404, words.PATH_UNKNOWN)
        return JSONResponse(document(self._by_group[group]))


def document(routes: Iterable[Route]) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "info": {"title": _TITLE, "version": __version__},
        "paths": {route.path: _path(route) for route in routes},
        "components": {
            "schemas": dict(openapi_types.schemas()),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _path(route: Route) -> dict[str, Any]:
    methods = sorted((route.methods or set()) - {"HEAD"})
    named = [
        {"name": name, "in": "path", "required": True, "schema": _TEXT}
        for name in re.findall(r"{(\w+)}", route.path)
    ]
    return {**{each.lower(): _operation(each, route.path) for each in methods}, "parameters": named}


def _operation(method: str, path: str) -> dict[str, Any]:
    last = path.rsplit("/", 1)[-1]
    media = "text/plain" if last in _PLAIN else _JSON
    schema = _answer(method, path) if media == _JSON else _TEXT
    good = {"description": "OK", "content": {media: {"schema": schema}}}
    operation: dict[str, Any] = {
        "parameters": [
            {"name": name, "in": "query", "schema": schema}
            for name, schema in _PARAMETERS.get((method, last), {}).items()
        ],
        "responses": {
            "201" if method == "POST" and last in ("pods", "eviction") else "200": good,
            "default": {
                "description": "Error",
                "content": {_JSON: {"schema": openapi_types.ref(openapi_types.STATUS)}},
            },
        },
    }
    if method in _BODIES:
        of_any = {_JSON: {"schema": _OBJECT}}
        content = of_any if last == "eviction" else _BODIES[method]
        operation["requestBody"] = {"content": content}
    if _POD_PATH.fullmatch(path):
        operation["x-kubernetes-group-version-kind"] = openapi_types.kind("Pod")
    return operation


def _answer(method: str, path: str) -> Mapping[str, Any]:
    """The schema of a successful response."""
    last = path.rsplit("/", 1)[-1]
    if _POD_PATH.fullmatch(path):
        is_list = method == "GET" and last == "pods"
        return openapi_types.ref(openapi_types.POD_LIST if is_list else openapi_types.POD)
    if method == "GET" and last in _LISTED:
        return openapi_types.ref(openapi_types.LIST)
    return openapi_types.ref(openapi_types.OBJECT) if last == "{name}" else _OBJECT
