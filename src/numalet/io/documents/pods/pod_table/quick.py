"""A quick check for thousands of objects, which are mostly valid.

msgspec converts a value to types made from the table, all in C. This is slightly stricter than
``checking`` (it refuses the 31st of any month, for example), so ``checking`` decides after a
failure.
"""

from __future__ import annotations

from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Final, Literal

import msgspec

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

_QUANTITY: Final = r"^[0-9]{1,12}([KMGT]i|[mkMGT])?\Z"
_MOMENT: Final = (
    r"^(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?Z\Z"
)
_PLAIN: Final[dict[PlainKind, Any]] = {
    PlainKind.FLAG: bool,
    PlainKind.INT_OR_TEXT: Annotated[int, msgspec.Meta(ge=INT32[0], le=INT32[1])] | str,
    PlainKind.QUANTITY: Annotated[str, msgspec.Meta(pattern=_QUANTITY)],
    PlainKind.MOMENT: Annotated[str, msgspec.Meta(pattern=_MOMENT)],
    PlainKind.OBJECT: dict,
}


def fits(value: object, kind: ObjectType) -> bool:
    """True if the value is valid; after False, ``checking`` decides."""
    try:
        msgspec.convert(value, _type(kind))
    except (msgspec.ValidationError, UnicodeEncodeError, RecursionError):
        return False
    return True


@cache
def _type(kind: Kind) -> Any:
    match kind:
        case ObjectType():
            return msgspec.defstruct(
                kind.name,
                [
                    (name, _type(each.kind))
                    if each.is_needed and not kind.is_of_servers
                    else (name, _type(each.kind) | None, None)
                    for name, each in kind.fields.items()
                ],
                forbid_unknown_fields=True,
                kw_only=True,
                gc=False,
            )
        case ListOf():
            return GenericAlias(list, (_type(kind.item),))
        case MapOf():
            return GenericAlias(dict, (str, _type(kind.value)))
        case Whole():
            return Annotated[int, msgspec.Meta(ge=kind.least, le=kind.most)]
        case TextKind() if kind.allowed:
            return Literal[kind.allowed]
        case TextKind() if kind.pattern:
            pattern = rf"^{kind.pattern}\Z"
            return Annotated[str, msgspec.Meta(pattern=pattern, max_length=kind.most)]
        case TextKind():
            return str
        case PlainKind():
            return _PLAIN[kind]
