"""The forms of an API object: encoded, as a table, or metadata only, as Accept requests.

kubectl prints the rows of ``application/json;as=Table;v=v1;g=meta.k8s.io``, so the server computes
columns such as STATUS. Tables contain ages and are never cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Generic, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from numalet.agent.servers.api.status import Failure, bad_query
from numalet.core.model.value import Value
from numalet.shared.kubernetes import tables
from numalet.wording import kubernetes_api as words

JSON: Final = "application/json"

K = TypeVar("K")

_META: Final = "meta.k8s.io"
_JSON_RANGES: Final = (JSON, "application/*", "*/*")
_VERSIONS: Final = ("v1", "v1beta1")
_INCLUDES: Final = ("", "Metadata", "Object", "None")


class Shown(Value):
    """An object and its JSON."""

    value: Mapping[str, Any]
    text: bytes


def shown(value: Mapping[str, Any]) -> Shown:
    return Shown(value, msgspec.json.encode(value))


class Kept(Generic[K]):
    """Objects by key, for the two latest versions: every watch needs both sides of a change.

    Clients list a thousand pods repeatedly while few change.
    """

    def __init__(self) -> None:
        self._kept: dict[K, tuple[tuple[int, Shown], ...]] = {}

    def of(self, key: K, version: int, make: Callable[[], Mapping[str, Any]]) -> Shown:
        """Return the object of this version; ``make`` is called on a miss."""
        kept = self._kept.get(key, ())
        for known, item in kept:
            if known == version:
                return item
        item = shown(make())
        self._kept[key] = (*kept[-1:], (version, item))
        return item

    def forget_all_but(self, keys: Iterable[K]) -> None:
        current = set(keys)
        self._kept = {key: kept for key, kept in self._kept.items() if key in current}

    def __len__(self) -> int:
        return len(self._kept)


def listed(head: Mapping[str, str], metadata: Mapping[str, Any], items: Iterable[Shown]) -> bytes:
    """A list object as JSON."""
    begin = msgspec.json.encode({**head, "metadata": metadata})
    return begin[:-1] + b',"items":[' + b",".join(item.text for item in items) + b"]}"


def watch_line(kind: str, item: Shown) -> bytes:
    return b'{"type":"%s","object":%s}\n' % (kind.encode(), item.text)


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
