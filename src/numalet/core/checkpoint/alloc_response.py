"""Whether bytes decode as a device plugin's response to ``Allocate``, in protocol buffers.

The kubelet decodes the stored response at its start and skips an undecodable entry; otherwise only
the container runtime uses the content, so this module only checks its shape. Kubelet:
``ContainerAllocateResponse`` of the plugin API v1beta1, v1.32.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from numalet.core.model.value import Value

_VARINT, _BYTES = 0, 2
_LONGEST_VARINT = 10


class _Message(Value):
    """The fields of a message: a wire type, or a nested message."""

    fields: Mapping[int, int | _Message]


_TEXTS = _Message(MappingProxyType({1: _BYTES, 2: _BYTES}))
_MOUNT = _Message(MappingProxyType({1: _BYTES, 2: _BYTES, 3: _VARINT}))
_DEVICE = _Message(MappingProxyType({1: _BYTES, 2: _BYTES, 3: _BYTES}))
_CDI_DEVICE = _Message(MappingProxyType({1: _BYTES}))
_RESPONSE = _Message(
    MappingProxyType({1: _TEXTS, 2: _MOUNT, 3: _DEVICE, 4: _TEXTS, 5: _CDI_DEVICE})
)


class _Unsound(Exception):  # noqa: N818 - never leaves this module
    """The bytes do not decode."""


def is_sound(response: bytes) -> bool:
    """Return whether the bytes decode; empty bytes do."""
    try:
        _walk(response, _RESPONSE)
    except _Unsound:
        return False
    return True


def _walk(data: bytes, message: _Message) -> None:
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire_type = key >> 3, key & 7
        if number == 0:
            raise _Unsound
        # As in protocol buffers, unknown fields are skipped, but must be complete.
        expected = message.fields.get(number)
        if expected is None:
            at = _skip(data, at, wire_type)
            continue
        wanted = expected if isinstance(expected, int) else _BYTES
        # The kubelet's decoder rejects a known field of another wire type.
        if wire_type != wanted:
            raise _Unsound
        end = _skip(data, at, wire_type)
        if isinstance(expected, _Message):
            length, start = _varint(data, at)
            _walk(data[start : start + length], expected)
        at = end


def _skip(data: bytes, at: int, wire_type: int) -> int:
    match wire_type:
        case 0:
            at = _varint(data, at)[1]
        case 1:
            at += 8
        case 2:
            length, at = _varint(data, at)
            at += length
        case 3:
            at = _skip_group(data, at)
        case 5:
            at += 4
        case _:
            raise _Unsound
    if at > len(data):
        raise _Unsound
    return at


def _skip_group(data: bytes, at: int) -> int:
    """Return the offset after a group; groups may be nested."""
    # A group has no length, so its end is found only by reading every field in it. Groups are
    # obsolete, but the kubelet's generated decoder still skips them.
    depth = 1
    while depth:
        key, at = _varint(data, at)
        match key & 7:
            case 3:
                depth += 1
            case 4:
                depth -= 1
            case wire_type:
                at = _skip(data, at, wire_type)
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    # A longer varint would overflow 64 bits.
    for index, byte in enumerate(data[at : at + _LONGEST_VARINT]):
        number |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return number, at + index + 1
    raise _Unsound
