"""The checksum in the kubelet's state files: FNV-1a, 32 bits, over a printed Go value.

``go_dump`` makes what is printed. Where ``fnv-hash-fast`` is installed it does the hashing:
the same sums, fifty times sooner (docs/decisions/0007).
"""

from __future__ import annotations

try:
    from fnv_hash_fast import fnv1a_32 as _of_bytes
except ImportError:
    from numalet.core.checkpoint.fnv import fnv1a_32 as _of_bytes


def fnv1a_32(text: str) -> int:
    """The 32-bit FNV-1a hash of the text's UTF-8 bytes."""
    return _of_bytes(text.encode())
