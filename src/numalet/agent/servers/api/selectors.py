"""Label and field selectors. Kubernetes v1.32: ``apimachinery/pkg/labels``, ``fields``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, TypeAlias

from starlette.requests import Request

from numalet.agent.servers.api.status import Failure
from numalet.wording import kubernetes_api as words

Selector: TypeAlias = Callable[[Mapping[str, Any]], bool]

_KEY: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"[-A-Za-z0-9_.]*"
_SET: Final = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL: Final = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_EXISTS: Final = re.compile(rf"(!?)\s*({_KEY})")
_BETWEEN: Final = re.compile(r",(?![^(]*\))")
_LONGEST: Final = 4096


def of_request(request: Request, fields: Collection[str]) -> Selector:
    """Combine the request's selectors; ``fields`` are the supported paths."""
    labels = _labels(request.query_params.get("labelSelector", ""))
    wanted = _fields(request.query_params.get("fieldSelector", ""), fields)

    def passes(value: Mapping[str, Any]) -> bool:
        own = value.get("metadata", {}).get("labels") or {}
        return all(each(own) for each in labels) and all(each(value) for each in wanted)

    return passes


def in_namespace(namespace: str | None, passes: Selector) -> Selector:
    """Restrict a selector to one namespace; None keeps it."""
    if namespace is None:
        return passes
    return lambda value: value["metadata"].get("namespace") == namespace and passes(value)


def is_selecting(request: Request) -> bool:
    given = request.query_params
    return bool(given.get("labelSelector") or given.get("fieldSelector"))


def _parts(text: str) -> list[str]:
    if len(text) > _LONGEST:
        raise Failure(400, words.SELECTOR.format(problem=f"longer than {_LONGEST} characters"))
    return [part.strip() for part in _BETWEEN.split(text)] if text.strip() else []


def _labels(text: str) -> list[Selector]:
    return [_requirement(part) for part in _parts(text)]


def _requirement(part: str) -> Selector:
    if match := _SET.fullmatch(part):
        key, operator, listed = match.groups()
        values = {value.strip() for value in listed.split(",")}
        if operator == "in":
            return lambda labels: key in labels and labels[key] in values
        # As in Kubernetes, an object without the label matches "notin" and "!=".
        return lambda labels: labels.get(key) not in values
    if match := _EQUAL.fullmatch(part):
        key, operator, value = match.groups()
        if operator == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTS.fullmatch(part):
        absent, key = match.groups()
        return lambda labels: (key in labels) is not bool(absent)
    raise Failure(400, words.SELECTOR.format(problem=repr(part)))


def _fields(text: str, known: Collection[str]) -> list[Selector]:
    return [_field(part, known) for part in _parts(text)]


def _field(part: str, known: Collection[str]) -> Selector:
    match = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", part)
    if match is None:
        raise Failure(400, words.SELECTOR.format(problem=repr(part)))
    path, operator, value = match[1].strip(), match[2], match[3].strip()
    if path not in known:
        raise Failure(400, words.FIELD_LABEL.format(field=path))
    wants_equal = operator != "!="
    return lambda match: (_at(match, path) == value) is wants_equal


def _at(value: Mapping[str, Any], path: str) -> str:
    """The text at a path; empty if absent."""
    member: Any = value
    for name in path.split("."):
        member = member.get(name) if isinstance(member, Mapping) else None
    return "" if member is None else str(member)
