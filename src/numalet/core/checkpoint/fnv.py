"""FNV-1a with 32 bits in Python, the fallback of ``checksum`` (docs/decisions/0007)."""

from __future__ import annotations

_OFFSET = 2166136261
_PRIME = 16777619
_MASK = 0xFFFFFFFF


def fnv1a_32(data: bytes) -> int:
    value, odd = _OFFSET, len(data) % 3
    for byte in data[:odd]:
        value = (value ^ byte) * _PRIME & _MASK
    # Three steps at a time are faster: bits above the 32nd never affect lower ones, so one mask
    # after three steps is enough.
    for a, b, c in zip(data[odd::3], data[odd + 1 :: 3], data[odd + 2 :: 3], strict=True):
        value = (((value ^ a) * _PRIME ^ b) * _PRIME ^ c) * _PRIME & _MASK
    return value
