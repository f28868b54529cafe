"""Content negotiation: objects, tables, or metadata only, as the Accept header requests.

kubectl prints the rows of ``application/json;as=Table;v=v1;g=meta.k8s.io``, so the server computes
columns such as STATUS. Tables contain ages and are never cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from numalet.agent.servers.api.objects import JSON, Shown, listed, shown
from numalet.agent.servers.api.status import Failure, bad_query
from numalet.core.model.value import Value
from numalet.shared.kubernetes import tables
from numalet.wording import kubernetes_api as words

_META: Final = "meta.k8s.io"
_JSON_RANGES: Final = (JSON, "application/*", "*/*")
_VERSIONS: Final = ("v1", "v1beta1")
_INCLUDES: Final = ("", "Metadata", "Object", "None")


class Table(Value):
    """A requested table; ``include`` selects the object's part in each row."""

    version: str
    include: str = "Metadata"

    def document(
        self,
        kind: str,
        items: Iterable[Shown],
        metadata: Mapping[str, Any],
        *,
        headed: bool = True,
    ) -> dict[str, Any]:
        """Build the Table object; ``headed`` adds the column definitions."""
        printer, now = tables.printer(kind), datetime.now(UTC)
        form: dict[str, Any] = {
            "kind": "Table",
            "apiVersion": f"{_META}/{self.version}",
            "metadata": dict(metadata),
            "columnDefinitions": [each.definition() for each in printer.columns] if headed else [],
            "rows": [
                {"cells": printer.cells(item.value, now), "object": self._object(item)}
                for item in items
            ],
        }
        return form

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


class Partial(Value):
    """Only the metadata of objects is requested."""

    version: str

    def head(self, kind: str) -> dict[str, str]:
        return {"kind": kind, "apiVersion": f"{_META}/{self.version}"}

    def of(self, item: Shown) -> Shown:
        return shown({**self.head("PartialObjectMetadata"), "metadata": item.value["metadata"]})


def wanted(request: Request) -> Table | Partial | None:
    """The first supported form in the Accept header; nothing for plain objects.

    Raises ``Failure`` 406 if no form is supported.
    """
    accepted = request.headers.get("accept", "") or "*/*"
    for part in accepted.split(","):
        media, *given = (text.strip() for text in part.split(";"))
        parameters = dict(text.partition("=")[::2] for text in given)
        if media.lower() not in _JSON_RANGES or parameters.get("q", "1").strip("0.") == "":
            continue
        shape, version = parameters.get("as", ""), parameters.get("v", "v1")
        # Plain JSON is acceptable at this position, so later forms do not matter.
        if not shape:
            return None
        if parameters.get("g", _META) != _META or version not in _VERSIONS:
            continue
        if shape in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            return Partial(version)
        if shape == "Table":
            include = request.query_params.get("includeObject", "")
            if include not in _INCLUDES:
                raise bad_query("includeObject", include[:40], "Metadata, Object or None")
            return Table(version, include or "Metadata")
    raise Failure(406, words.NOT_ACCEPTABLE.format(accepted=JSON))


def of_list(
    request: Request,
    kind: str,
    api_version: str,
    version: int,
    items: Iterable[Shown],
    more: Mapping[str, Any],
) -> Response:
    """Build the response; ``more`` is added to the list's metadata."""
    form = wanted(request)
    metadata = {"resourceVersion": str(version), **more}
    if isinstance(form, Table):
        return _answer(form.document(kind, items, metadata))
    if isinstance(form, Partial):
        head = form.head("PartialObjectMetadataList")
        return Response(listed(head, metadata, map(form.of, items)), media_type=JSON)
    head = {"kind": f"{kind}List", "apiVersion": api_version}
    return Response(listed(head, metadata, items), media_type=JSON)


def of_one(request: Request, item: Shown) -> Response:
    form = wanted(request)
    if isinstance(form, Partial):
        item = form.of(item)
    if not isinstance(form, Table):
        return Response(item.text, media_type=JSON)
    version = item.value["metadata"].get("resourceVersion", "")
    return _answer(form.document(item.value["kind"], [item], {"resourceVersion": version}))


def of_watch(request: Request, kind: str) -> Callable[[Shown], Shown]:
    """The form of objects in a watch; only the first table has columns."""
    form = wanted(request)
    if form is None:
        return lambda item: item
    if isinstance(form, Partial):
        return form.of
    headed = True

    def tabled(item: Shown) -> Shown:
        nonlocal headed
        version = item.value["metadata"].get("resourceVersion", "")
        # A bookmark has a version but no object, so it has no row.
        rows = [item] if "name" in item.value["metadata"] else []
        made = form.document(kind, rows, {"resourceVersion": version}, headed=headed)
        headed = headed and not rows
        return shown(made)

    return tabled


def _answer(document: Mapping[str, Any]) -> Response:
    return Response(msgspec.json.encode(document), media_type=JSON)
