"""Links to What if that contain a manifest, limited in size."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Final
from urllib.parse import urlencode

LONGEST_LINK_CHARS: Final = 8_000
"""Browsers, servers and chats accept links of this length."""

LARGEST_UNPACKED_BYTES: Final = 256 * 1024


def to_manifest(path: str, text: str, policy: str = "", scope: str = "") -> str | None:
    """Return the link with this manifest, unless it would be too long."""
    packed = zlib.compress(text.encode("utf-8", "replace"), 9)
    coded = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    if len(coded) > LONGEST_LINK_CHARS or len(text.encode()) > LARGEST_UNPACKED_BYTES:
        return None
    return _link(path, m=coded, policy=policy, scope=scope)


def to_pod(path: str, uid: str, way: str = "") -> str:
    return _link(path, uid=uid, way=way)


def unpacked(coded: str) -> str | None:
    """Return the manifest of a link, if it is valid and not too long."""
    if len(coded) > LONGEST_LINK_CHARS:
        return None
    try:
        packed = base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True)
        reader = zlib.decompressobj()
        # The limit stops a small link from unpacking to gigabytes.
        content = reader.decompress(packed, LARGEST_UNPACKED_BYTES)
        is_whole = reader.eof
    except (binascii.Error, ValueError, zlib.error):
        return None
    return content.decode("utf-8", "replace") if is_whole else None


def _link(path: str, **values: str) -> str:
    return f"{path}/what-if?" + urlencode({name: value for name, value in values.items() if value})
