"""The form of an answer: objects as they are, or as rows of a table if the client prefers that.

kubectl asks for ``application/json;as=Table;v=v1;g=meta.k8s.io`` and prints the rows it gets, so
that columns such as STATUS are the server's to work out. What a client asks for is in its Accept
header alone; nothing depends on who it is. A table is made for each answer anew: it has ages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from numalet.reports import kube_tables
from numalet.servers.api.objects import JSON, Shown, listed, shown
from numalet.servers.api.status import bad_query

_META: Final = "meta.k8s.io"
_VERSIONS: Final = ("v1", "v1beta1")
_INCLUDES: Final = ("", "Metadata", "Object", "None")


@dataclass(frozen=True, slots=True)
class Table:
    """A table is wanted, in this version; ``include`` says what each row has of its object."""

    version: str
    include: str = "Metadata"

    def document(
        self,
        kind: str,
        items: Iterable[Shown],
        resource_version: str,
        *,
        headed: bool = True,
    ) -> dict[str, Any]:
        """The Table object; without its columns where a client has them already."""
        printer, now = kube_tables.printer(kind), datetime.now(UTC)
        found: dict[str, Any] = {
            "kind": "Table",
            "apiVersion": f"{_META}/{self.version}",
            "metadata": {"resourceVersion": resource_version},
            "columnDefinitions": [each.definition() for each in printer.columns] if headed else [],
            "rows": [
                {"cells": printer.cells(item.value, now), "object": self._object(item)}
                for item in items
            ],
        }
        return found

    def _object(self, item: Shown) -> Any:
        match self.include:
            case "None":
                return None
            case "Object":
                return msgspec.Raw(item.text)
            case _:
                return {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": f"{_META}/{self.version}",
                    "metadata": item.value["metadata"],
                }


def wanted(request: Request) -> Table | None:
    """The table that the client prefers; None if it takes objects as they are."""
    for part in request.headers.get("accept", "").split(","):
        media, *given = (text.strip() for text in part.split(";"))
        parameters = dict(text.partition("=")[::2] for text in given)
        version = parameters.get("v", "v1")
        if media != JSON or parameters.get("as", "Table") != "Table":
            continue
        if "as" not in parameters:
            return None
        if parameters.get("g", _META) == _META and version in _VERSIONS:
            include = request.query_params.get("includeObject", "")
            if include not in _INCLUDES:
                raise bad_query("includeObject", include[:40], "Metadata, Object or None")
            return Table(version, include or "Metadata")
    return None


def of_list(
    request: Request, kind: str, api_version: str, version: int, items: Iterable[Shown]
) -> Response:
    """The answer to a request for a list of objects of this kind."""
    table = wanted(request)
    if table is None:
        return Response(listed(f"{kind}List", api_version, version, items), media_type=JSON)
    return _answer(table.document(kind, items, str(version)))


def of_one(request: Request, item: Shown) -> Response:
    """The answer to a request for one object."""
    table = wanted(request)
    if table is None:
        return Response(item.text, media_type=JSON)
    version = item.value["metadata"].get("resourceVersion", "")
    return _answer(table.document(item.value["kind"], [item], version))


def of_watch(request: Request, kind: str) -> Callable[[Shown], Shown]:
    """What becomes of each object of a watch. Only the first table of a watch has its columns."""
    table = wanted(request)
    if table is None:
        return lambda item: item
    headed = True

    def tabled(item: Shown) -> Shown:
        nonlocal headed
        version = item.value["metadata"].get("resourceVersion", "")
        # A bookmark is a version and no object, so it has no row.
        rows = [item] if "name" in item.value["metadata"] else []
        made = table.document(kind, rows, version, headed=headed)
        headed = headed and not rows
        return shown(made)

    return tabled


def _answer(document: Mapping[str, Any]) -> Response:
    return Response(msgspec.json.encode(document), media_type=JSON)
