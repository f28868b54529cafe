"""Findings about a user's input: what is wrong, where, and in which words.

A finding is a class for each code, with the offending values as fields and the words beside it:
see ``core.findings`` and its siblings in the other wings. A parser goes on after the first finding
where it can, and then raises ``BadInput`` once, with all of them. ``BadInput`` never means a bug,
and a refusal by the node is never a finding (see ``core.hints.provider.Refused``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, ClassVar, Final, Self, TypeVar, dataclass_transform

import msgspec

from numalet.core.model.go_text import GoText
from numalet.core.model.value import Value

T = TypeVar("T")


class Severity(Enum):
    """How bad a finding is; the worst comes first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_WORD: Final = re.compile("[A-Z][a-z0-9]*")
_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity)}


class Location(Value):
    """Where: a document (file name, flag name), a path in it, a line counted from 1.

    ``path`` has the form ``$.spec.containers[1].resources``; empty where there is none.
    """

    document: str = ""
    path: str = ""
    line: int | None = None

    @property
    def text(self) -> str:
        """Document, line and path, as far as they are known."""
        document = self.document if self.line is None else f"{self.document}:{self.line}"
        return ": ".join(part for part in (document, self.path) if part)


NOWHERE = Location()


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, or worth knowing: a class for each code, with its words.

    ``code`` is ``area/what``, stable across releases. The name of the class gives it, so that
    ``ConfigPort`` is ``config/port``, unless the class states another one. The fields of a class
    are the values that its words show, the offending one among them; ``sentence``, ``mend`` and
    ``kubelet_text`` are ``str.format`` templates over them. ``why`` is the rule, the same for
    every finding of a code. ``kubelet_text`` is what the kubelet says, to the letter.

    As a text it is its sentence, without the place.
    """

    code: ClassVar[str]
    sentence: ClassVar[str]
    why: ClassVar[str] = ""
    mend: ClassVar[str] = ""
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
        """The values of this finding by name, without its place and severity."""
        return {
            name: getattr(self, name)
            for name in self.__struct_fields__
            if name not in ("where", "severity")
        }

    def __str__(self) -> str:
        return self.sentence.format(**self.fields)

    @property
    def located(self) -> str:
        """The sentence after the place, as far as that is known."""
        place = self.where.text
        return f"{place}: {self}" if place else str(self)

    def at(self, where: Location) -> Self:
        """The same at this place."""
        return msgspec.structs.replace(self, where=where)

    def of_severity(self, severity: Severity) -> Self:
        """The same, as bad as this."""
        return msgspec.structs.replace(self, severity=severity)

    @property
    def in_kubelet_words(self) -> str:
        """What the kubelet says, values quoted as Go quotes them; empty if it says nothing."""
        return self.kubelet_text.format(
            **{
                name: GoText(value) if isinstance(value, str) else value
                for name, value in self.fields.items()
            }
        )


class WarningFinding(Finding, kw_only=True):
    """One thing that is used as it is, and is probably not what was meant."""

    severity: Severity = Severity.WARNING


class NoteFinding(Finding, kw_only=True):
    """One thing worth knowing."""

    severity: Severity = Severity.NOTE


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Errors, then warnings, then notes; those of one severity in the order in which they come."""
    return tuple(sorted(findings, key=lambda finding: _RANKS[finding.severity]))


class BadInput(Exception):  # noqa: N818 - it is not an error of the program
    """The user's input can not be used; carries every finding, the first one first.

    As a text it is a line for each finding.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        # As they are, because this is what a copy of the exception is made from.
        super().__init__(self.findings)

    def __str__(self) -> str:
        return "\n".join(each.located for each in self.findings)


class Findings:
    """A collector: add while going on, then ``raise_errors`` at the end."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self.error_count = 0
        """How many of them are errors."""

    def add(self, finding: Finding) -> None:
        """Remember one finding."""
        self.extend((finding,))

    def extend(self, findings: Iterable[Finding]) -> None:
        """Remember several."""
        for each in findings:
            self._findings.append(each)
            self.error_count += each.severity is Severity.ERROR

    def collect(self, part: Callable[[], T]) -> T | None:
        """What ``part`` gives; None, and its findings with these, if it raises ``BadInput``."""
        try:
            return part()
        except BadInput as bad:
            self.extend(bad.findings)
            return None

    @property
    def all(self) -> tuple[Finding, ...]:
        """All findings so far, in order."""
        return tuple(self._findings)

    @property
    def distinct(self) -> tuple[Finding, ...]:
        """All findings so far, in order, each once."""
        by_identity = {(f.code, f.where, f.severity, repr(f.fields)): f for f in self._findings}
        return tuple(by_identity.values())

    @property
    def has_errors(self) -> bool:
        return self.error_count > 0

    def raise_errors(self) -> None:
        """Raise ``BadInput`` with all findings, if one of them is an error."""
        if self.has_errors:
            raise BadInput(self._findings)
