"""Findings about a user's input: located and collected here, worded elsewhere.

A finding has a stable ``code`` and the offending values; the sentence is made from them in
``wording``. A parser goes on after the first finding where it can, and then raises
``BadInput`` once, with all of them. ``BadInput`` never means a bug, and a refusal by the node
is never a finding (see ``core.hints.provider.Refused``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

T = TypeVar("T")


class Severity(Enum):
    """How bad a finding is."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Location:
    """Where: a document (file name, flag name), a path in it, a line counted from 1.

    ``path`` has the form ``$.spec.containers[1].resources``; empty where there is none.
    """

    document: str = ""
    path: str = ""
    line: int | None = None


NOWHERE = Location()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, without a sentence.

    ``code`` is ``room/what``, stable across releases; ``fields`` are the values that the
    sentence of this code in ``wording`` shows, the offending one among them.
    """

    code: str
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    where: Location = NOWHERE
    severity: Severity = Severity.ERROR


def code_and_fields(finding: Finding) -> str:
    """A finding as a text where no sentences are known."""
    return f"{finding.code} {dict(finding.fields)}"


class BadInput(Exception):  # noqa: N818 - it is not an error of the program
    """The user's input can not be used; carries every finding, the first one first.

    As a text it is a line per finding. ``sentence_of`` makes the line: sentences live in wings
    above this one, so the package sets it; without that it is code and values.
    """

    sentence_of: ClassVar[Callable[[Finding], str]] = staticmethod(code_and_fields)

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        # As they are, because this is what a copy of the exception is made from.
        super().__init__(self.findings)

    def __str__(self) -> str:
        return "\n".join(map(BadInput.sentence_of, self.findings))


class Findings:
    """A collector: add while going on, then ``raise_errors`` at the end."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []

    def add(
        self,
        code: str,
        where: Location = NOWHERE,
        severity: Severity = Severity.ERROR,
        /,
        **fields: Any,
    ) -> None:
        """Remember one finding."""
        self._findings.append(Finding(code, fields, where, severity))

    def extend(self, findings: Iterable[Finding]) -> None:
        """Remember several."""
        self._findings.extend(findings)

    def collect(self, part: Callable[[], T]) -> T | None:
        """What ``part`` gives; None, and its findings with these, if it raises ``BadInput``."""
        try:
            return part()
        except BadInput as bad:
            self.extend(bad.findings)
            return None

    @property
    def all(self) -> tuple[Finding, ...]:
        """Everything found so far, in order."""
        return tuple(self._findings)

    @property
    def distinct(self) -> tuple[Finding, ...]:
        """Everything found so far, in order, but nothing twice."""
        by_identity = {(f.code, f.where, f.severity, repr(f.fields)): f for f in self._findings}
        return tuple(by_identity.values())

    @property
    def has_errors(self) -> bool:
        """Whether one of them is an error."""
        return any(f.severity is Severity.ERROR for f in self._findings)

    def raise_errors(self) -> None:
        """Raise ``BadInput`` with everything found, if one of them is an error."""
        if self.has_errors:
            raise BadInput(self._findings)
