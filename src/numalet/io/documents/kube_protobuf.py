"""Reads Kubernetes objects that are written as protocol buffers, as Go's clients send them.

Typed clients of Go prefer them since v1.32 and do not fall back to JSON where a server declines. An
object comes in an envelope: four bytes, then ``runtime.Unknown`` with its kind and its bytes. What
comes out is the plain value that the same object has as JSON. A field that is not known here is
refused unless it is empty, because the meaning of the object would be unknown without it.

https://protobuf.dev/programming-guides/encoding, Kubernetes v1.32: ``serializer/protobuf``.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from numalet.core.model.findings import BadInput, Location
from numalet.io.documents import kube_protobuf_fields
from numalet.io.documents.kube_protobuf_fields import WireField
from numalet.io.findings.documents import ProtobufUnreadable

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\0"

_Wire: TypeAlias = "int | bytes"
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS: Final = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT: Final = 10
_SIGN: Final = 1 << 63
_BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS: Final = ("Pod", "Eviction", "DeleteOptions")


class _Unreadable(Exception):  # noqa: N818 - caught here
    """What is wrong with the bytes."""


def decoded(content: bytes, name: str) -> dict[str, Any]:
    """The object as JSON would have it.

    Raises:
        BadInput: it is no such object, of a kind that is not known, or has a field that is not.
    """
    try:
        return _object(content)
    except _Unreadable as problem:
        raise BadInput([ProtobufUnreadable(problem=str(problem), where=Location(name))]) from None


def _object(content: bytes) -> dict[str, Any]:
    if not content.startswith(MAGIC):
        raise _Unreadable("it does not begin with k8s and a zero byte")
    envelope = _message(content[len(MAGIC) :], "Unknown")
    if envelope.get("contentEncoding"):
        raise _Unreadable(f"its content is encoded: {envelope['contentEncoding']}")
    kind = envelope.get("typeMeta", {}).get("kind", "")
    if kind not in _KINDS:
        raise _Unreadable(f"{kind or 'an object without a kind'} is not read here")
    return {**envelope["typeMeta"], **_message(envelope.get("raw", b""), kind)}


def _message(content: bytes, message: str) -> dict[str, Any]:
    """The members of a message, as JSON has them."""
    known = kube_protobuf_fields.fields(message)
    members: dict[str, Any] = {}
    for number, wire in _wires(content):
        field = known.get(number)
        if field is None:
            if wire and known:
                raise _Unreadable(f"{message} has a field {number} that is not known here")
            continue
        if field.type == "-":
            continue
        if field.is_map:
            key, value = _entry(wire, field)
            members.setdefault(field.name, {})[key] = value
        elif field.is_list:
            packed = isinstance(wire, bytes) and field.type == "i"
            values = [*_packed(wire)] if packed else [_value(wire, field)]
            members.setdefault(field.name, []).extend(values)
        elif not field.name:
            members.update(_value(wire, field))
        else:
            value = _value(wire, field)
            is_empty = value in ("", 0, False, None) and not isinstance(value, dict)
            if field.is_optional or not is_empty:
                members[field.name] = value
    return members


def _value(wire: _Wire, field: WireField) -> Any:
    match field.type:
        case "s":
            return _text(_of_bytes(wire, field))
        case "raw":
            return _of_bytes(wire, field)
        case "i":
            return _number(wire, field)
        case "b":
            return _number(wire, field) != 0
        case "q":
            amount = dict(_wires(_of_bytes(wire, field))).get(1, b"")
            return _text(_of_bytes(amount, field))
        case "t":
            return _moment(_of_bytes(wire, field), field)
        case "x":
            return _number_or_text(_of_bytes(wire, field), field)
        case message:
            return _message(_of_bytes(wire, field), message)


def _entry(wire: _Wire, field: WireField) -> tuple[str, Any]:
    """The key and the value of an entry of a map."""
    parts = dict(_wires(_of_bytes(wire, field)))
    return _text(_of_bytes(parts.get(1, b""), field)), _value(parts.get(2, b""), field)


def _packed(wire: _Wire) -> Iterator[int]:
    assert isinstance(wire, bytes)
    at = 0
    while at < len(wire):
        value, at = _varint(wire, at)
        yield _signed(value)


def _moment(content: bytes, field: WireField) -> str | None:
    """A moment; None for the one that Go writes where there is none."""
    parts = dict(_wires(content))
    if not parts:
        return None
    seconds, nanos = (_number(parts.get(number, 0), field) for number in (1, 2))
    try:
        at = _BEGINNING + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        raise _Unreadable(f"{field.name} is no moment") from None
    return at.isoformat().removesuffix("+00:00") + "Z"


def _number_or_text(content: bytes, field: WireField) -> int | str:
    parts = dict(_wires(content))
    if _number(parts.get(1, 0), field):
        return _text(_of_bytes(parts.get(3, b""), field))
    return _number(parts.get(2, 0), field)


def _number(wire: _Wire, field: WireField) -> int:
    if not isinstance(wire, int):
        raise _Unreadable(f"{field.name} is no number")
    return _signed(wire)


def _signed(value: int) -> int:
    return value - (_SIGN << 1) if value >= _SIGN else value


def _of_bytes(wire: _Wire, field: WireField) -> bytes:
    if not isinstance(wire, bytes):
        raise _Unreadable(f"{field.name} is a number")
    return wire


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise _Unreadable("a text is not UTF-8") from None


def _wires(content: bytes) -> Iterator[tuple[int, _Wire]]:
    """Number and content of each field, as they come."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(content, at)
            yield number, value
            continue
        if kind == _BYTES:
            width, at = _varint(content, at)
        elif kind in _WIDTHS:
            width = _WIDTHS[kind]
        else:
            raise _Unreadable(f"a field of the kind {kind}")
        if at + width > len(content):
            raise _Unreadable("it ends in the middle of a field")
        yield number, content[at : at + width]
        at += width


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where what follows it begins."""
    value = 0
    for index, byte in enumerate(content[at : at + _LONGEST_VARINT]):
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return value & (1 << 64) - 1, at + index + 1
    raise _Unreadable("it ends in the middle of a number")
