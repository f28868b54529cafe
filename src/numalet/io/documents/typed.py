"""A value inside a document, with where it stands, read into a typed shape.

msgspec converts; what it refuses becomes a finding with document, path and line
(``type_mismatch``).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from numalet.core.model.findings import BadInput, Finding, Findings, Location
from numalet.io.documents import type_mismatch
from numalet.io.findings.documents import DocumentFieldMissing, DocumentType, DocumentUnknownField

LineOf = Callable[[str], int | None]
T = TypeVar("T")

PUBLISHED_AS: Final = "x-published-as"
"""In the type of a field: its published schema, in place of the one that the type makes."""

_LONGEST_SHOWN: Final = 60
_LONGEST_SHOWN_BITS: Final = 128


def no_line(_path: str) -> int | None:
    """No line: the document has none worth showing."""
    return None


class Place(NamedTuple):
    """A place in a document; ``lines`` gives the line of a path, on demand.

    A tuple, because one is made for every member that is read and hardly any is used.
    """

    document: str
    path: str = "$"
    lines: LineOf = no_line

    def member(self, name: str) -> Place:
        """The place of a member of this object."""
        return Place(self.document, f"{self.path}.{name}", self.lines)

    def item(self, index: int) -> Place:
        """The place of an item of this list."""
        return Place(self.document, f"{self.path}[{index}]", self.lines)

    @property
    def location(self) -> Location:
        """The same for a finding, with the line."""
        return Location(self.document, self.path, self.lines(self.path))


class _NotJson(Protocol):
    """Makes the finding about a text that is no JSON; the class of one does."""

    def __call__(self, *, problem: str, where: Location) -> Finding: ...


def decode(value: object, shape: type[T], place: Place, findings: Findings) -> T | None:
    """The value in the given shape, or None after one finding."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        findings.extend([_finding(value, shape, place)])
        return None
    except UnicodeEncodeError as error:
        wrong_type(error.object, "a text of whole characters", place, findings)
        return None


def decode_json(content: bytes, shape: type[T], place: Place, not_json: _NotJson) -> T:
    """A JSON text in the given shape.

    Raises:
        BadInput: it is no JSON (the finding is ``not_json``), or of another shape.
    """
    findings = Findings()
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        findings.add(not_json(problem=str(error), where=place.location))
        raise BadInput(findings.all) from None
    decoded = decode(value, shape, place, findings)
    if decoded is None:
        raise BadInput(findings.all)
    return decoded


def refusal(content: bytes, shape: Any, place: Place, not_json: _NotJson) -> Finding:
    """Why msgspec did not read these bytes as JSON of the shape, which it was just asked to."""
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return not_json(problem=str(error), where=place.location)
    return _finding(value, shape, place)


def wrong_type(value: object, expected: str, place: Place, findings: Findings) -> None:
    """One finding: something else is expected here."""
    findings.add(DocumentType(expected=expected, got=described(value), where=place.location))


def check_members(
    value: Mapping[Any, Any], known: Collection[str], place: Place, findings: Findings
) -> None:
    """One finding for every member whose name is not known."""
    for name in value:
        if name not in known:
            findings.add(
                DocumentUnknownField(
                    name=str(name), nearest=nearest(str(name), known), where=place.location
                )
            )


def nearest(name: str, known: Collection[str]) -> str:
    """The known names that resemble it most, or all of them, as a text."""
    close = difflib.get_close_matches(name, sorted(known), n=2)
    return " or ".join(close) if close else ", ".join(sorted(known))


def described(value: object) -> str:
    """What kind of value it is and how it reads, cut short."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > _LONGEST_SHOWN_BITS:
            return f"a number of {value.bit_length()} bits"
        case str() | int() | float():
            text = repr(value)
            return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
        case Mapping():
            return "an object"
        case list() | tuple():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _finding(value: object, shape: Any, place: Place) -> Finding:
    """What is wrong with a value that is not of this shape."""
    mismatch = type_mismatch.first(value, shape)
    if mismatch is None:
        return DocumentType(expected="something else", got=described(value), where=place.location)
    where = place._replace(path=place.path + mismatch.path).location
    if mismatch.missing:
        return DocumentFieldMissing(name=mismatch.missing, where=where)
    got = mismatch.got or described(mismatch.value)
    return DocumentType(expected=mismatch.expected, got=got, where=where)
