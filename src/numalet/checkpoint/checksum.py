"""The checksum in the kubelet's state files: FNV-1a, 32 bits, over a printed Go value.

The hash is defined by two constants and one step (docs/decisions/0007). What is printed is
said by ``go_dump``.
"""

from __future__ import annotations

_OFFSET = 2166136261
_PRIME = 16777619
_MASK = 0xFFFFFFFF


def fnv1a_32(text: str) -> int:
    """The 32-bit FNV-1a hash of the text's UTF-8 bytes."""
    data, value = text.encode(), _OFFSET
    odd = len(data) % 3
    for byte in data[:odd]:
        value = (value ^ byte) * _PRIME & _MASK
    # Three steps at a time are faster: bits above the 32nd never come down again, so they need
    # not be cut off after each.
    for a, b, c in zip(data[odd::3], data[odd + 1 :: 3], data[odd + 2 :: 3], strict=True):
        value = (((value ^ a) * _PRIME ^ b) * _PRIME ^ c) * _PRIME & _MASK
    return value
