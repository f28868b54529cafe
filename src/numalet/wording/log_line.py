"""One line of the agent's log, and its form, as values: written by ``agent.host.logs``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from numalet.core.model.findings import Finding, Severity
from numalet.core.model.value import Value


class LogFormat(StrEnum):
    CONSOLE = "console"
    JSON = "json"


class LogLine(Value):
    """A message with its keys; ``level`` is the minimum verbosity at which it is written.

    Messages and keys are the kubelet's if it has them, so that a search from Kubernetes'
    documentation finds them. An error is written at every verbosity.
    """

    message: str
    keys: Mapping[str, Any] = MappingProxyType({})
    level: int = 0
    is_error: bool = False


def of_finding(finding: Finding) -> LogLine:
    """Return the line of a finding; all but notes are errors."""
    is_error = finding.severity is not Severity.NOTE
    return LogLine(finding.located, {"code": finding.code}, is_error=is_error)
