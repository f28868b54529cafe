"""Handles unknown and duplicate fields as ``fieldValidation`` requires.

``Strict`` refuses the request, ``Warn`` (the default) adds warnings, ``Ignore`` is silent.
Kubernetes v1.32: ``apiserver/pkg/endpoints/handlers``, ``finishRequest`` and ``applyPatch``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, Final

from starlette.requests import Request

from numalet.agent.servers.api.status import Failure
from numalet.core.model.findings import Finding
from numalet.wording import kubernetes_api as words

_UNKNOWN: Final = "document/unknown-field"
_TWICE: Final = "document/duplicate-key"
_MORE: Final = "document/more-findings"
_WRONG_TYPE: Final = "document/type"


class FieldValidation(Enum):
    IGNORE = "Ignore"
    STRICT = "Strict"
    WARN = "Warn"


PARAMETER: Final = {"type": "string", "enum": [each.value for each in FieldValidation]}
"""The query parameter in an OpenAPI document."""


def wanted(request: Request) -> FieldValidation:
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


def warnings(wants: FieldValidation, findings: Iterable[Finding]) -> list[str]:
    return [*_texts(findings)] if wants is FieldValidation.WARN else []


def others(findings: Iterable[Finding]) -> list[Finding]:
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
