"""The checksum in the kubelet's state files: FNV-1a, 32 bits, over a printed Go value.

The hash is defined by two constants and one line (docs/decisions/0007). What is printed is
said by ``go_dump``.
"""

from __future__ import annotations

_OFFSET = 2166136261
_PRIME = 16777619


def fnv1a_32(text: str) -> int:
    """The 32-bit FNV-1a hash of the text's UTF-8 bytes."""
    value = _OFFSET
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value
