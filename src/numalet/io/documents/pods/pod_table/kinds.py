"""The parts of the table: kinds of values, fields, and types of objects.

A *kind* defines the values of a field; a *field* adds whether it is required, its first release,
and its use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Final, TypeAlias

from numalet.core.model import input_error
from numalet.core.model.findings import Finding, Location, Severity
from numalet.core.model.value import Value
from numalet.io.findings import documents

INT32: Final = (-(2**31), 2**31 - 1)
INT64: Final = (-(2**63), 2**63 - 1)


class FieldUse(Enum):
    """The effect of a field on a pod that the agent runs."""

    HONOURED = "honoured"
    """The effect that Kubernetes documents, or the one in ``words``."""
    KEPT = "kept"
    """Stored and shown, without an effect and without a note."""
    WARNED = "warned"
    """The pod runs without the protection or check of this field; a warning says so."""
    IGNORED = "ignored"
    """Without meaning for a program of the host; one note names all such fields of a pod."""
    REFUSED = "refused"
    """The agent refuses the pod, because its program would not do what the manifest describes."""


class TextKind(Value):
    """A text: one of ``allowed``, or a full match of ``pattern`` with at most ``most`` characters.

    The pattern is valid in Python and ECMAScript and does not apply to an empty text. ``expected``
    describes the values, and says that no later release adds one.
    """

    allowed: tuple[str, ...] = ()
    pattern: str = ""
    most: int | None = None
    expected: str = ""

    @property
    def is_free(self) -> bool:
        return not self.allowed and not self.pattern

    def accepts(self, text: str) -> bool:
        """Whether the text is a value; an empty text means absent, as in Kubernetes."""
        if not text or text in self.allowed:
            return True
        if self.allowed or (self.most is not None and len(text) > self.most):
            return False
        return re.fullmatch(self.pattern, text) is not None

    def refusal(self, shown: str, where: Location, severity: Severity = Severity.ERROR) -> Finding:
        """The finding about another value."""
        expected = self.expected or f"one of: {', '.join(self.allowed)}"
        return input_error.Invalid(
            f"invalid value {shown}", expected=expected, where=where, severity=severity
        )


class Whole(Value):
    """A whole number within bounds."""

    least: int
    most: int


class PlainKind(Enum):
    FLAG = "true or false"
    INT_OR_TEXT = "a whole number or a text"
    QUANTITY = "a quantity such as 500m or 4Gi"
    MOMENT = "a moment such as 2026-01-31T12:00:00Z"
    OBJECT = "an object"
    """With any members."""


class ListOf(Value):
    item: Kind


class MapOf(Value):
    value: Kind


class Use(Value):
    """The effect of a field, and the words about it.

    ``rule``: the rule of ``core.config.behaviour`` that enables the field, if any. ``instead``
    is the replacement of a refused field.
    """

    use: FieldUse | None = None
    words: str = ""
    rule: str = ""
    instead: str = ""


class Field(Use, kw_only=True):
    """One field of a type.

    ``missing`` reports a required field that is absent. ``since`` is the first release with the
    field; it is empty for those of v1.32.
    """

    kind: Kind
    is_needed: bool = False
    missing: type[documents.PartMissing] = documents.DocumentFieldMissing
    since: str = ""


class ObjectType(Value, eq=False, dict=True):
    """A type of objects under its name in Kubernetes; ``words`` describe such an object.

    ``is_of_servers``: servers write such objects, and people shorten them, so required fields may
    be absent.
    """

    name: str
    words: str
    fields: Mapping[str, Field]
    is_of_servers: bool = False

    def __repr__(self) -> str:
        # Without the fields, which would show all types below this one.
        return f"<ObjectType {self.name}>"

    @cached_property
    def plain_types(self) -> Mapping[str, type]:
        """The Python types of the fields that accept every value of one type."""
        return {
            name: bool if each.kind is PlainKind.FLAG else str
            for name, each in self.fields.items()
            if each.kind is PlainKind.FLAG
            or (isinstance(each.kind, TextKind) and each.kind.is_free)
        }

    @cached_property
    def needed(self) -> tuple[tuple[str, type[documents.PartMissing]], ...]:
        """Required fields, with the findings that report their absence."""
        return tuple((name, each.missing) for name, each in self.fields.items() if each.is_needed)

    def names(self, *uses: FieldUse) -> frozenset[str]:
        return frozenset(name for name, each in self.fields.items() if each.use in uses)


Kind: TypeAlias = TextKind | Whole | PlainKind | ListOf | MapOf | ObjectType


def reached(root: ObjectType) -> tuple[tuple[ObjectType, frozenset[FieldUse]], ...]:
    """All types below the root and itself, each with the uses of the fields that lead to it.

    A field without a use inherits the use of the field that led to its type.
    """
    order: dict[str, ObjectType] = {}
    uses: dict[str, set[FieldUse]] = {}
    open_types = [(root, FieldUse.HONOURED)]
    while open_types:
        kind, use = open_types.pop(0)
        if use in uses.setdefault(kind.name, set()):
            continue
        uses[kind.name].add(use)
        order.setdefault(kind.name, kind)
        for field in kind.fields.values():
            open_types += [(each, field.use or use) for each in _objects(field.kind)]
    return tuple((kind, frozenset(uses[name])) for name, kind in order.items())


def _objects(kind: Kind) -> Iterator[ObjectType]:
    match kind:
        case ObjectType():
            yield kind
        case ListOf():
            yield from _objects(kind.item)
        case MapOf():
            yield from _objects(kind.value)
        case _:
            return
