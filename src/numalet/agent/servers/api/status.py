"""Errors as Kubernetes' ``Status`` objects, with codes and reasons."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.core.model.findings import Finding, Severity
from numalet.wording import kubernetes_api as words

RETRY_SECONDS: Final = 1
_MOST_WARNING_BYTES: Final = 4096
"""For all warnings together; the kube-apiserver has the same limit."""

_RETRIED: Final = (429, 503, 504)
_REASONS: Final[Mapping[int, str]] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "Conflict",
    410: "Expired",
    413: "RequestEntityTooLarge",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Failure(Exception):  # noqa: N818 - it is an answer
    def __init__(
        self,
        code: int,
        message: str,
        *,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.reason = reason or _REASONS[code]
        self.details = details or {}
        self.metadata = metadata or {}

    def document(self) -> dict[str, Any]:
        """Build the ``Status`` with details, which some clients read without a check."""
        details = dict(self.details)
        if self.code in _RETRIED:
            details["retryAfterSeconds"] = RETRY_SECONDS
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": dict(self.metadata),
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": details,
            "code": self.code,
        }

    def response(self) -> JSONResponse:
        headers = {"Retry-After": str(RETRY_SECONDS)} if self.code in _RETRIED else None
        return JSONResponse(self.document(), self.code, headers)


def success() -> dict[str, Any]:
    """The ``Status`` of a request without a resulting object."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {},
        "code": 201,
    }


def not_found(resource: str, name: str) -> Failure:
    message = words.NOT_FOUND.format(resource=resource, name=name)
    return Failure(404, message, details={"name": name, "kind": resource})


def bad_query(name: str, value: str, problem: str) -> Failure:
    """Refuse an invalid query parameter."""
    return Failure(400, words.QUERY.format(name=name, value=value, problem=problem))


def invalid_option(name: str, problem: str, value: str = "") -> Failure:
    """Refuse list options that exclude each other, or an unsupported value."""
    text = problem.format(value=value)
    reason = "FieldValueNotSupported" if value else "FieldValueForbidden"
    cause = {"reason": reason, "message": text, "field": name}
    message = f'ListOptions.meta.k8s.io "" is invalid: {name}: {text}'
    details = {"group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause]}
    return Failure(422, message, details=details)


def bad_body(findings: Iterable[Finding]) -> Failure:
    return Failure(400, "; ".join(finding.located for finding in findings))


def invalid(kind: str, name: str, findings: Iterable[Finding]) -> Failure:
    """Refuse an invalid object, with a cause for each problem."""
    wrong = [finding for finding in findings if finding.severity is Severity.ERROR]
    causes = [
        {
            "reason": "FieldValueInvalid",
            "message": str(finding),
            "field": finding.where.path.removeprefix("$").removeprefix(".") or "<root>",
        }
        for finding in wrong
    ]
    problems = ", ".join(f"{cause['field']}: {cause['message']}" for cause in causes)
    message = words.INVALID.format(kind=kind, name=name, problems=problems)
    return Failure(422, message, details={"name": name, "kind": kind, "causes": causes})


def warn(response: Response, texts: Iterable[str]) -> None:
    """Add ``Warning`` headers up to the limit; kubectl prints them."""
    left = _MOST_WARNING_BYTES
    for text in texts:
        # HTTP headers are ASCII, and a newline would inject a header.
        plain = text.encode("ascii", "replace").decode()
        printable = "".join(each if each.isprintable() else " " for each in plain)
        quoted = printable.replace("\\", "\\\\").replace('"', '\\"')
        left -= len(quoted)
        if left < 0:
            return
        response.headers.append("Warning", f'299 - "{quoted}"')


def warnings(findings: Iterable[Finding]) -> list[str]:
    return [
        finding.located.removeprefix("$.")
        for finding in findings
        if finding.severity is Severity.WARNING
    ]


def unchangeable(kind: str, name: str, fields: Iterable[tuple[str, str]]) -> Failure:
    """Refuse a change of immutable fields, with a cause for each."""
    causes = [
        {"reason": "FieldValueForbidden", "message": text, "field": field} for field, text in fields
    ]
    problems = ", ".join(f"{cause['field']}: {cause['message']}" for cause in causes)
    message = words.INVALID.format(kind=kind, name=name, problems=problems)
    return Failure(422, message, details={"name": name, "kind": kind, "causes": causes})


def conflict(resource: str, name: str, problem: str) -> Failure:
    """The object has changed or is another one."""
    message = words.CONFLICT.format(resource=resource, name=name, problem=problem)
    return Failure(409, message, details={"name": name, "kind": resource})


def of_refusal(refused: RequestRefused, resource: str, name: str) -> Failure:
    details = {"name": name, "kind": resource}
    about = {"resource": resource, "name": name}
    fields = refused.fields
    match refused.why:
        case RequestRefusal.ALREADY_EXISTS:
            message = words.ALREADY_EXISTS.format(**about)
            return Failure(409, message, reason=refused.why.value, details=details)
        case RequestRefusal.NOT_FOUND:
            return not_found(resource, name)
        case RequestRefusal.CONFLICT:
            problem = "; ".join(f"{field}: {value}" for field, value in sorted(fields.items()))
            return Failure(409, words.CONFLICT.format(problem=problem, **about), details=details)
        case RequestRefusal.TOO_OLD:
            asked, oldest = fields.get("asked", "?"), fields.get("oldest", "?")
            return Failure(410, words.TOO_OLD.format(asked=asked, oldest=oldest))
        case RequestRefusal.TOO_NEW:
            asked, current = fields.get("asked", "?"), fields.get("current", "?")
            cause = {"reason": "ResourceVersionTooLarge", "message": words.TOO_NEW_CAUSE}
            message = words.TOO_NEW.format(asked=asked, current=current)
            return Failure(504, message, details={"causes": [cause]})
        case RequestRefusal.OBSERVING:
            return Failure(403, words.OBSERVING, details=details)
        case RequestRefusal.CORDONED:
            return Failure(403, words.CORDONED, details=details)
        case RequestRefusal.STOPPING:
            return Failure(503, words.STOPPING)
        case RequestRefusal.STORAGE:
            problem = fields.get("problem", "")
            return Failure(500, words.STORAGE.format(problem=problem), details=details)
