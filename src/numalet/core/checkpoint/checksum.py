"""The checksum in the kubelet's state files: FNV-1a, 32 bits, over a printed Go value.

``go_dump`` makes the printed form. If ``fnv-hash-fast`` is installed, it computes the same hash
fifty times faster (docs/decisions/0007).
"""

from __future__ import annotations

try:
    from fnv_hash_fast import fnv1a_32 as _of_bytes
except ImportError:
    from numalet.core.checkpoint.fnv import fnv1a_32 as _of_bytes


def fnv1a_32(text: str) -> int:
    return _of_bytes(text.encode())
