"""Reads requests: bodies of limited size, query parameters, ``fieldValidation``."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeVar

from starlette.requests import ClientDisconnect, Request

from numalet.agent.servers.api.status import Failure, bad_body, bad_query
from numalet.core.model.findings import BadInput, Finding
from numalet.io.documents.text import yaml_source
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.wording import kubernetes_api as words

_UNKNOWN: Final = "document/unknown-field"
_TWICE: Final = "document/duplicate-key"
_MORE: Final = "document/more-findings"
_WRONG_TYPE: Final = "document/type"

T = TypeVar("T")

_LONG_TEXT_BYTES: Final = 16 * 1024
_NAME_OF_BODY: Final = "body"
_BODY_BYTES: Final = "body_bytes"
_MEDIA_TYPES: Final = ("application/json", "application/yaml", "text/yaml", "text/plain")
_TRUE: Final = ("1", "t", "T", "true", "TRUE", "True", "")
_FALSE: Final = ("0", "f", "F", "false", "FALSE", "False")


class FieldValidation(Enum):
    """Unknown and duplicate fields: ignored, refused, or (the default) warned about.

    Kubernetes v1.32: ``apiserver/pkg/endpoints/handlers``, ``finishRequest`` and ``applyPatch``.
    """

    IGNORE = "Ignore"
    STRICT = "Strict"
    WARN = "Warn"


PARAMETER: Final = {"type": "string", "enum": [each.value for each in FieldValidation]}
"""The query parameter in an OpenAPI document."""


def field_validation(request: Request) -> FieldValidation:
    """Raises ``Failure`` 422 for an unknown value."""
    given = request.query_params.get("fieldValidation") or FieldValidation.WARN.value
    try:
        return FieldValidation(given)
    except ValueError:
        supported = ", ".join(f'"{each.value}"' for each in FieldValidation)
        problem = words.UNSUPPORTED.format(value=given[:40], supported=supported)
        cause = {"reason": "FieldValueNotSupported", "message": problem}
        causes = [{**cause, "field": "fieldValidation"}]
        message = f"fieldValidation: {problem}"
        raise Failure(422, message, details={"causes": causes}) from None


def check_body(wants: FieldValidation, findings: Sequence[Finding]) -> None:
    """Refuse a strict request with such fields. Raises ``Failure`` 400."""
    if problem := _problem(wants, findings):
        message = words.NOT_DECODED.format(version="v1", kind="Pod", problem=problem)
        raise Failure(400, message, details=_details(findings))


def check_patched(wants: FieldValidation, name: str, findings: Sequence[Finding]) -> None:
    """Refuse a strict patch that creates such fields. Raises ``Failure`` 422."""
    if problem := _problem(wants, findings):
        message = words.INVALID.format(kind="Pod", name=name, problems=f"patch: {problem}")
        raise Failure(422, message, details={"name": name, "kind": "Pod", **_details(findings)})


def field_warnings(wants: FieldValidation, findings: Iterable[Finding]) -> list[str]:
    return [*_texts(findings)] if wants is FieldValidation.WARN else []


def other_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Findings with other codes."""
    return [each for each in findings if each.code not in (_UNKNOWN, _TWICE, _MORE)]


def _problem(wants: FieldValidation, findings: Sequence[Finding]) -> str:
    """The reason to refuse; empty if types are wrong, which another check reports."""
    texts = [*_texts(findings)]
    is_readable = all(each.code != _WRONG_TYPE for each in findings)
    if wants is not FieldValidation.STRICT or not texts or not is_readable:
        return ""
    return words.NOT_STRICT.format(problems=", ".join(texts))


def _texts(findings: Iterable[Finding]) -> Iterable[str]:
    for each in findings:
        if each.code == _UNKNOWN:
            yield words.FIELD_UNKNOWN.format(path=_path(each))
        elif each.code == _TWICE:
            yield words.FIELD_TWICE.format(path=_path(each))
        elif each.code == _MORE:
            yield str(each)


def _path(finding: Finding) -> str:
    """The field's path in Kubernetes notation."""
    if finding.code == _TWICE:
        return str(finding.fields["path"]).removeprefix("$").removeprefix(".")
    return f"{finding.where.path}.{finding.fields['name']}".removeprefix("$").removeprefix(".")


def _details(findings: Iterable[Finding]) -> dict[str, Any]:
    """A cause for each such field; that of an unknown one names the nearest that is known."""
    causes = [
        {"reason": "FieldValueInvalid", "message": str(each), "field": _path(each)}
        for each in findings
        if each.code in (_UNKNOWN, _TWICE)
    ]
    return {"causes": causes}


async def body(request: Request) -> bytes:
    """Read the body; stop as soon as it exceeds the limit."""
    # Refuse early, so that the client need not send the body.
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > words.LARGEST_BODY_BYTES:
        raise _too_large()
    chunks, size = [], 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > words.LARGEST_BODY_BYTES:
                raise _too_large()
            chunks.append(chunk)
    except ClientDisconnect:
        raise Failure(400, words.CLIENT_LEFT) from None
    return b"".join(chunks)


def _too_large() -> Failure:
    return Failure(413, words.TOO_LARGE.format(limit_bytes=words.LARGEST_BODY_BYTES))


def media_type(request: Request) -> str:
    """The media type of the body; may be empty."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_out(request: Request, read: Callable[[], T]) -> T:
    """Run ``read`` on the parsed body; a large body in a thread, to keep the event loop free."""
    if getattr(request.state, _BODY_BYTES, 0) < _LONG_TEXT_BYTES:
        return read()
    return await asyncio.to_thread(read)


async def document(
    request: Request, accepted: Collection[str] = _MEDIA_TYPES
) -> YamlDocument | None:
    """Parse the body, if there is one; a duplicate field is an error."""
    document = await document_as_it_is(request, accepted)
    if document is not None and document.duplicates:
        raise bad_body(document.duplicates)
    return document


async def document_as_it_is(
    request: Request, accepted: Collection[str] = _MEDIA_TYPES
) -> YamlDocument | None:
    """Parse the body, if there is one; the last duplicate wins."""
    kind = media_type(request)
    if kind and kind not in accepted:
        raise Failure(415, words.MEDIA_TYPE)
    content = await body(request)
    setattr(request.state, _BODY_BYTES, len(content))
    try:
        text = yaml_source.decode(content, _NAME_OF_BODY)
        if len(text) < _LONG_TEXT_BYTES:
            documents = yaml_source.load_documents(text, _NAME_OF_BODY)
        else:
            # Parsing a large text would block the event loop.
            documents = await asyncio.to_thread(yaml_source.load_documents, text, _NAME_OF_BODY)
    except BadInput as bad:
        raise bad_body(bad.findings) from None
    if len(documents) > 1:
        raise Failure(400, words.NOT_ONE_OBJECT.format(count=len(documents)))
    return documents[0] if documents else None


def of_kind(document: YamlDocument | None, api_version: str, kind: str) -> Mapping[Any, Any]:
    """The object of a body with this kind. Raises ``Failure`` 400."""
    return of_kinds(document, (api_version,), kind)


def of_kinds(
    document: YamlDocument | None, api_versions: Sequence[str], kind: str
) -> Mapping[Any, Any]:
    """As ``of_kind``, for a kind with several versions."""
    value = None if document is None else document.value
    named = value.get("kind", kind) if isinstance(value, Mapping) else type(value).__name__
    is_one = isinstance(value, Mapping) and (
        value.get("apiVersion", api_versions[0]) in api_versions
    )
    if not is_one or named != kind:
        expected = f"a {api_versions[0]} {kind}"
        raise Failure(400, words.KIND_DIFFERS.format(found=str(named)[:80], expected=expected))
    assert isinstance(value, Mapping)
    return value


def flag(request: Request, name: str) -> bool:
    """Parse a boolean as Go's ``ParseBool``; false without the parameter."""
    value = request.query_params.get(name)
    if value is None or value in _FALSE:
        return False
    if value in _TRUE:
        return True
    raise bad_query(name, value, "true or false is expected")


def whole_number(request: Request, name: str) -> int | None:
    value = request.query_params.get(name)
    if not value:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= 18):
        raise bad_query(name, value[:40], "a whole number is expected")
    return int(value)


def dry_run(given: Iterable[object]) -> bool:
    """Whether ``dryRun`` is ``All``. Raises ``Failure`` 422."""
    values = [value for value in given if value]
    for value in values:
        if value != "All":
            problem = words.DRY_RUN.format(value=str(value)[:40])
            cause = {"reason": "FieldValueNotSupported", "message": problem, "field": "dryRun"}
            raise Failure(422, problem, details={"causes": [cause]})
    return bool(values)


def seconds(request: Request, name: str) -> float:
    """A time limit in the query; infinite without it or with 0."""
    return float(whole_number(request, name) or 0) or math.inf
