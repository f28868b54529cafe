"""What the table of Pod fields is made of: kinds of values, fields, and types of objects.

A *kind* says what a value may be; a *field* adds whether it is needed, since which release it is
there, and what this agent does with it. Everything here is a plain value: checks (``checking``),
the OpenAPI document and the documentation (``page``) walk the same table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import cached_property
from typing import Final, TypeAlias

from numalet.core.model.findings import Finding
from numalet.core.model.value import Value, replace
from numalet.io.findings.documents import (
    DocumentFieldMissing,
    DocumentOneOf,
    DocumentRange,
    NumberNotAllowed,
    PartMissing,
    ValueNotAllowed,
)
from numalet.io.findings.pods import PodsLabel, PodsSubdomain

INT32: Final = (-(2**31), 2**31 - 1)
INT64: Final = (-(2**63), 2**63 - 1)


class FieldUse(Enum):
    """What becomes of a field when the agent runs the pod."""

    HONOURED = "honoured"
    """It does what it does in Kubernetes, or what ``words`` say."""
    KEPT = "kept"
    """It is kept and shown, and nothing follows from it; no note says so."""
    WARNED = "warned"
    """The pod runs without what the field promises, and a warning says so."""
    IGNORED = "ignored"
    """It means nothing to a program of the host; one note names all such fields of a pod."""
    REFUSED = "refused"
    """The pod is refused: without it the program would do something else than was meant."""


class TextKind(Value):
    """A text.

    ``allowed`` are its only values, if there are any. ``pattern`` is what a whole text that is not
    empty matches, in the regular expressions that Python and ECMAScript share; ``most`` bounds its
    length. ``finding`` is the finding about a value that is not so.
    """

    allowed: tuple[str, ...] = ()
    pattern: str = ""
    most: int | None = None
    finding: type[ValueNotAllowed] = DocumentOneOf

    @property
    def is_free(self) -> bool:
        """Whether every text will do."""
        return not self.allowed and not self.pattern

    def accepts(self, text: str) -> bool:
        """Whether the text is a value; an empty text counts as none, as in Kubernetes."""
        if not text or text in self.allowed:
            return True
        if self.allowed or (self.most is not None and len(text) > self.most):
            return False
        return re.fullmatch(self.pattern, text) is not None


class Whole(Value):
    """A whole number within bounds; ``finding`` is the finding about one beyond them."""

    least: int
    most: int
    finding: type[NumberNotAllowed] = DocumentRange


class PlainKind(Enum):
    """Kinds without anything more to say of them."""

    FLAG = "true or false"
    INT_OR_TEXT = "a whole number or a text"
    QUANTITY = "a quantity such as 500m or 4Gi"
    MOMENT = "a moment such as 2026-01-31T12:00:00Z"
    OBJECT = "an object"
    """Of any members."""


class ListOf(Value):
    item: Kind


class MapOf(Value):
    """An object with any names of members, whose values are of one kind."""

    value: Kind


class Field(Value, kw_only=True):
    """One field of a type.

    ``words`` say what it does here. ``rule`` is the rule of ``core.config.behaviour`` under which
    alone it is honoured, empty if it always is. ``since`` is the release that brought it, empty for
    those of v1.32. ``finding`` is the finding about a field that is refused, ``missing`` the one
    about a needed field that is not there.
    """

    kind: Kind
    is_needed: bool = False
    missing: type[PartMissing] = DocumentFieldMissing
    use: FieldUse | None = None
    words: str = ""
    rule: str = ""
    since: str = ""
    finding: type[Finding] | None = None


class ObjectType(Value, eq=False, dict=True):
    """A type of objects; ``name`` is Kubernetes', ``words`` say what such an object is here.

    ``is_of_servers``: servers write such objects, and what is missing in one (people cut them
    short) is no finding.
    """

    name: str
    words: str
    fields: Mapping[str, Field]
    is_of_servers: bool = False

    def __repr__(self) -> str:
        # Without the fields, which have types of objects in them.
        return f"<ObjectType {self.name}>"

    @cached_property
    def plain_types(self) -> Mapping[str, type]:
        """The Python types of fields of which every value of that type will do."""
        return {
            name: bool if each.kind is PlainKind.FLAG else str
            for name, each in self.fields.items()
            if each.kind is PlainKind.FLAG
            or (isinstance(each.kind, TextKind) and each.kind.is_free)
        }

    @cached_property
    def needed(self) -> tuple[tuple[str, type[PartMissing]], ...]:
        """Names of the fields that are needed, with the findings about missing ones."""
        return tuple((name, each.missing) for name, each in self.fields.items() if each.is_needed)

    def names(self, *uses: FieldUse) -> frozenset[str]:
        """Names of the fields that are used in one of these ways."""
        return frozenset(name for name, each in self.fields.items() if each.use in uses)


Kind: TypeAlias = TextKind | Whole | PlainKind | ListOf | MapOf | ObjectType

TEXT: Final = TextKind()
FLAG: Final = PlainKind.FLAG
COUNT: Final = Whole(*INT32)
LONG: Final = Whole(*INT64)
PORT: Final = Whole(1, 65535)
PERMISSIONS: Final = Whole(0, 0o777)
INT_OR_TEXT: Final = PlainKind.INT_OR_TEXT
QUANTITY: Final = PlainKind.QUANTITY
MOMENT: Final = PlainKind.MOMENT
TEXTS: Final = ListOf(TEXT)
TEXT_MAP: Final = MapOf(TEXT)
AMOUNTS: Final = MapOf(QUANTITY)

_PART: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
DNS_LABEL: Final = TextKind(pattern=r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", finding=PodsLabel)
"""A name without dots, of 63 characters at most (RFC 1123)."""
DNS_SUBDOMAIN: Final = TextKind(pattern=rf"{_PART}(\.{_PART})*", most=253, finding=PodsSubdomain)
"""A name with dots, of 253 characters at most (RFC 1123)."""


def object_type(name: str, words: str = "", /, **fields: Field | Kind) -> ObjectType:
    """A type of this name; a field of which nothing else is to be said is given by its kind."""
    return ObjectType(
        name,
        words,
        {
            each: given if isinstance(given, Field) else Field(kind=given)
            for each, given in fields.items()
        },
    )


def written_by_servers(given: ObjectType) -> ObjectType:
    """The type of what servers write, in which nothing is needed."""
    return replace(given, is_of_servers=True)


def one_of(*allowed: str, finding: type[ValueNotAllowed] = DocumentOneOf) -> TextKind:
    """A text of these values."""
    return TextKind(allowed=allowed, finding=finding)


def needed(given: Field | Kind, missing: type[PartMissing] | None = None) -> Field:
    """The field has to be there; perhaps with a finding of its own if it is not."""
    optional = _field(given)
    return replace(optional, is_needed=True, missing=missing or optional.missing)


def since(release: str, given: Field | Kind) -> Field:
    """The field is not in v1.32 yet."""
    return replace(_field(given), since=release)


def honoured(kind: Kind, words: str = "", *, rule: str = "") -> Field:
    """The field is honoured, perhaps only under a rule of ``core.config.behaviour``."""
    return Field(kind=kind, use=FieldUse.HONOURED, words=words, rule=rule)


def kept(kind: Kind, words: str = "") -> Field:
    """The field is kept and shown, and nothing follows from it."""
    return Field(kind=kind, use=FieldUse.KEPT, words=words)


def warned(kind: Kind, words: str) -> Field:
    """What the field promises is not there, and a warning says so."""
    return Field(kind=kind, use=FieldUse.WARNED, words=words)


def ignored(kind: Kind, words: str = "") -> Field:
    """The field means nothing to a program of the host, and a note names it."""
    return Field(kind=kind, use=FieldUse.IGNORED, words=words)


def refused(kind: Kind, finding: type[Finding], words: str) -> Field:
    """A pod with this field is refused, with this finding."""
    return Field(kind=kind, use=FieldUse.REFUSED, finding=finding, words=words)


def _field(given: Field | Kind) -> Field:
    return given if isinstance(given, Field) else Field(kind=given)
