"""Findings about a user's input: the problem, its location, and its words.

A parser continues after the first finding if possible, and then raises ``BadInput`` once, with all
of them. ``BadInput`` never means a bug, and a node's rejection is never a finding (see
``core.hints.provider.Refused``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, ClassVar, Final, Self, TypeVar, dataclass_transform

import msgspec

from numalet.core.model import grammar
from numalet.core.model.go_text import GoText
from numalet.core.model.value import Value

T = TypeVar("T")


class Severity(Enum):
    """The severity of a finding, worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_WORD: Final = re.compile("[A-Z][a-z0-9]*")
_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


class Location(Value):
    """A document (file name, flag name), a path in it, a line counted from 1.

    ``path`` has the form ``$.spec.containers[1].resources``; empty if unknown.
    """

    document: str = ""
    path: str = ""
    line: int | None = None

    @property
    def text(self) -> str:
        """Document, line and path, as far as known."""
        document = self.document if self.line is None else f"{self.document}:{self.line}"
        return ": ".join(part for part in (document, self.path) if part)


NOWHERE = Location()


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A problem or a note: one class for each code, with its words.

    ``code`` is ``area/name``, stable across releases. It follows from the name of the class:
    ``ConfigPort`` is ``config/port``, unless the class sets another one. The fields of a class are
    the values in its words, including the offending one. ``sentence``, ``fix`` and ``kubelet_text``
    are ``str.format`` templates over them. ``why`` is the rule, the same for every finding of a
    code. ``kubelet_text`` is the kubelet's exact text.

    ``str()`` gives the sentence without the location.
    """

    code: ClassVar[str]
    sentence: ClassVar[str]
    why: ClassVar[str] = ""
    fix: ClassVar[str] = ""
    kubelet_text: ClassVar[str] = ""

    where: Location = NOWHERE
    severity: Severity = Severity.ERROR

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # A base of several findings has no sentence, and so no code.
        if "code" not in vars(cls) and hasattr(cls, "sentence"):
            area, *what = _WORD.findall(cls.__name__.removesuffix("Finding"))
            cls.code = f"{area}/{'-'.join(what)}".lower()

    @property
    def fields(self) -> dict[str, Any]:
        """The values of this finding by name, without location and severity."""
        return {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("where", "severity")
        }

    def __str__(self) -> str:
        text = self.sentence.format(**self.fields)
        return text if self.sentence == self.kubelet_text else grammar.singular(text)

    @property
    def located(self) -> str:
        """The location, if known, and the sentence."""
        place = self.where.text
        return f"{place}: {self}" if place else str(self)

    def at(self, where: Location) -> Self:
        """Return a copy with this location."""
        return msgspec.structs.replace(self, where=where)

    def of_severity(self, severity: Severity) -> Self:
        """Return a copy with this severity."""
        return msgspec.structs.replace(self, severity=severity)

    @property
    def in_kubelet_words(self) -> str:
        """The kubelet's text, with values quoted as in Go; empty without one."""
        return self.kubelet_text.format(
            **{
                name: GoText(value) if isinstance(value, str) else value
                for name, value in self.fields.items()
            }
        )


class WarningFinding(Finding, kw_only=True):
    """A value that is used unchanged but is probably a mistake."""

    severity: Severity = Severity.WARNING


class NoteFinding(Finding, kw_only=True):
    """A note."""

    severity: Severity = Severity.NOTE


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: _RANKS[finding.severity]))


class BadInput(Exception):  # noqa: N818 - the user's error, not the program's
    """The user's input has errors; ``findings`` has all of them in order.

    ``str()`` gives one line for each finding.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        # ``copy`` and ``pickle`` rebuild the exception from its ``args``.
        super().__init__(self.findings)

    def __str__(self) -> str:
        return "\n".join(each.located for each in self.findings)


class Findings:
    """A collector: add findings, then call ``raise_errors`` at the end."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self.error_count = 0

    def add(self, finding: Finding) -> None:
        self.extend((finding,))

    def extend(self, findings: Iterable[Finding]) -> None:
        for each in findings:
            self._findings.append(each)
            self.error_count += each.severity is Severity.ERROR

    def collect(self, part: Callable[[], T]) -> T | None:
        """Return ``part()``, or collect the findings of its ``BadInput``."""
        try:
            return part()
        except BadInput as bad:
            self.extend(bad.findings)
            return None

    @property
    def all(self) -> tuple[Finding, ...]:
        return tuple(self._findings)

    @property
    def distinct(self) -> tuple[Finding, ...]:
        """All findings so far, in order, without duplicates."""
        by_identity = {(f.code, f.where, f.severity, repr(f.fields)): f for f in self._findings}
        return tuple(by_identity.values())

    @property
    def has_errors(self) -> bool:
        return self.error_count > 0

    def raise_errors(self) -> None:
        """Raise ``BadInput`` with all findings if any of them is an error."""
        if self.has_errors:
            raise BadInput(self._findings)
