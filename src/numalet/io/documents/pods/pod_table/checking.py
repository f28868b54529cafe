"""Checks a value against the table: types, formats, bounds, required and unknown fields.

Most values are valid, so the path stays a text and becomes a place only for a finding. Null means
absent, as in Kubernetes.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from numalet.core.model import input_error, limits
from numalet.core.model.findings import Findings, Location, Severity
from numalet.core.model.value import Mutable, Value, field, replace
from numalet.io.documents.pods import pod_resources
from numalet.io.documents.pods.pod_table.kinds import (
    INT32,
    Kind,
    ListOf,
    MapOf,
    ObjectType,
    PlainKind,
    TextKind,
    Whole,
)
from numalet.io.documents.text import typed
from numalet.io.documents.text.typed import Place
from numalet.io.findings.documents import (
    DocumentMoreFindings,
    DocumentType,
    DocumentUnknownField,
)

_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})"
)


class Strictness(Value):
    """The severity of an unknown field; and of a missing field or an unknown value."""

    unknown: Severity = Severity.ERROR
    value: Severity = Severity.ERROR


STRICT: Final = Strictness()
OF_SERVERS: Final = Strictness(Severity.WARNING, Severity.WARNING)
"""For objects that a server wrote, perhaps of a newer release."""


def check(
    value: object, kind: Kind, place: Place, strictness: Strictness, findings: Findings
) -> None:
    """Report everything in the value that contradicts the table.

    Errors and warnings have separate limits, so that warnings never displace an error. Beyond a
    limit, one finding has the number of the others.
    """
    walk = _Walk(place, strictness, findings)
    _value(walk, value, kind, place.path)
    for severity, count in walk.counts.items():
        if count > limits.FINDINGS_OF_AN_OBJECT:
            more = count - limits.FINDINGS_OF_AN_OBJECT
            findings.add(
                DocumentMoreFindings(
                    count=more, kind=severity.value, where=place.location, severity=severity
                )
            )


@lru_cache(maxsize=4096)
def is_moment(text: str) -> bool:
    """Whether a text is an RFC 3339 time with a valid date."""
    if _MOMENT.fullmatch(text) is None:
        return False
    try:
        datetime.fromisoformat(text.replace(",", ".")).astimezone(UTC)
    except (ValueError, OverflowError):
        return False
    return True


def as_kept(value: Any, kind: Kind) -> Any:
    """A copy of a checked value as a server stores it.

    It lacks unknown fields, and quantities are in canonical form.
    """
    match kind:
        case ObjectType():
            fields = kind.fields
            return {
                name: member if member is None else as_kept(member, fields[name].kind)
                for name, member in value.items()
                if name in fields
            }
        case ListOf():
            return [as_kept(item, kind.item) for item in value]
        case MapOf():
            return {name: as_kept(member, kind.value) for name, member in value.items()}
        case PlainKind.QUANTITY:
            quantity = pod_resources.decode_quantity(value, Place(""), Findings())
            return value if quantity is None else str(quantity)
        case PlainKind.OBJECT:
            return copy.deepcopy(value)
        case _:
            return value


class _Walk(Mutable):
    """The state of one check; ``needs``: report missing fields.

    ``counts`` has the number of findings by severity, including those beyond the limit.
    """

    place: Place
    strictness: Strictness
    findings: Findings
    needs: bool = True
    counts: Counter[Severity] = field(default_factory=Counter)

    def lists(self, severity: Severity = Severity.ERROR) -> bool:
        """Count one more finding; True up to the limit."""
        self.counts[severity] += 1
        return self.counts[severity] <= limits.FINDINGS_OF_AN_OBJECT

    def at(self, path: str) -> Location:
        return self.place._replace(path=path).location

    def wrong_type(self, value: object, expected: str, path: str) -> None:
        if self.lists():
            got = typed.described(value)
            self.findings.add(DocumentType(expected=expected, got=got, where=self.at(path)))


def _value(walk: _Walk, value: Any, kind: Kind, path: str) -> None:
    _CHECKS[type(kind)](walk, value, kind, path)


def _object(walk: _Walk, value: Any, kind: ObjectType, path: str) -> None:
    if not isinstance(value, Mapping):
        walk.wrong_type(value, "an object", path)
        return
    if kind.is_of_servers:
        # People shorten objects that servers write, such as a status.
        walk = replace(walk, needs=False)
    plain_types, fields = kind.plain_types, kind.fields
    for name, member in value.items():
        # Most fields are free texts or booleans, and need no call.
        if plain_types.get(name) is type(member):
            continue
        known = fields.get(name)
        if known is None:
            _unknown(walk, name, kind, path)
        elif member is not None:
            _CHECKS[type(known.kind)](walk, member, known.kind, f"{path}.{name}")
    if walk.needs:
        severity = walk.strictness.value
        for name, missing in kind.needed:
            if value.get(name) is None and walk.lists(severity):
                noun = kind.name.lower()
                walk.findings.add(
                    missing(name=name, what=noun, where=walk.at(path), severity=severity)
                )


def _unknown(walk: _Walk, name: object, kind: ObjectType, path: str) -> None:
    if walk.lists(walk.strictness.unknown):
        near = typed.nearest(str(name)[:100], kind.fields)
        walk.findings.add(
            DocumentUnknownField(
                name=str(name),
                nearest=near,
                where=walk.at(path),
                severity=walk.strictness.unknown,
            )
        )


def _list(walk: _Walk, value: Any, kind: ListOf, path: str) -> None:
    if not isinstance(value, list):
        walk.wrong_type(value, "a list", path)
        return
    check_item, item_kind = _CHECKS[type(kind.item)], kind.item
    for index, item in enumerate(value):
        check_item(walk, item, item_kind, f"{path}[{index}]")


def _map(walk: _Walk, value: Any, kind: MapOf, path: str) -> None:
    if not isinstance(value, Mapping):
        walk.wrong_type(value, "an object", path)
        return
    for name, member in value.items():
        if not isinstance(name, str):
            walk.wrong_type(name, "the name of a member, a text,", path)
        else:
            _value(walk, member, kind.value, f"{path}.{name}")


def _text(walk: _Walk, value: Any, kind: TextKind, path: str) -> None:
    if not isinstance(value, str):
        walk.wrong_type(value, "a text", path)
    elif not kind.is_free and not kind.accepts(value):
        # A newer release may allow a value that this table lacks.
        severity = Severity.ERROR if kind.expected else walk.strictness.value
        if not walk.lists(severity):
            return
        walk.findings.add(kind.refusal(typed.described(value), walk.at(path), severity))


def _whole(walk: _Walk, value: Any, kind: Whole, path: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool):
        walk.wrong_type(value, "a whole number", path)
    elif not kind.least <= value <= kind.most and walk.lists():
        walk.findings.add(
            input_error.Invalid(
                f"{typed.described(value)} is out of range",
                expected=f"{kind.least} to {kind.most}",
                where=walk.at(path),
            )
        )


def _plain(walk: _Walk, value: Any, kind: PlainKind, path: str) -> None:
    if kind is PlainKind.QUANTITY:
        if not (isinstance(value, str) and _is_quantity(value)):
            of_value = Findings()
            pod_resources.decode_quantity(value, walk.place._replace(path=path), of_value)
            walk.findings.extend(each for each in of_value.all if walk.lists())
    elif not _IS_PLAIN[kind](value):
        walk.wrong_type(value, kind.value, path)


@lru_cache(maxsize=4096)
def _is_quantity(text: str) -> bool:
    return pod_resources.decode_quantity(text, Place(""), Findings()) is not None


def _is_int_or_text(value: object) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and INT32[0] <= value <= INT32[1]
    return isinstance(value, str)


_IS_PLAIN: Final[Mapping[PlainKind, Callable[[Any], bool]]] = {
    PlainKind.FLAG: lambda value: isinstance(value, bool),
    PlainKind.INT_OR_TEXT: _is_int_or_text,
    PlainKind.MOMENT: lambda value: isinstance(value, str) and is_moment(value),
    PlainKind.OBJECT: lambda value: isinstance(value, Mapping),
}
_CHECKS: Final[Mapping[type, Callable[[_Walk, Any, Any, str], None]]] = {
    ObjectType: _object,
    ListOf: _list,
    MapOf: _map,
    TextKind: _text,
    Whole: _whole,
    PlainKind: _plain,
}
