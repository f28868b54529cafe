"""Read form fields with size limits; one text field may hold a manifest."""

from __future__ import annotations

import asyncio
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request

from numalet.wording import kubernetes_api as words

_LARGEST_FORM_BYTES: Final = 3 * words.LARGEST_BODY_BYTES + 64 * 1024
"""A form encodes most characters of a manifest as three bytes."""

_MOST_FIELDS: Final = 16
_TOO_LARGE: Final = words.TOO_LARGE.format(limit_bytes=words.LARGEST_BODY_BYTES)


class FormRefused(Exception):  # noqa: N818 - it is not an error of the program
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def fields(request: Request, text_field: str) -> dict[str, str]:
    """Return the fields by name; ``text_field`` is the one that may be large.

    Raises:
        FormRefused: The form is too large, incomplete, or has too many fields.
    """
    content = bytearray()
    try:
        async for chunk in request.stream():
            content += chunk
            if len(content) > _LARGEST_FORM_BYTES:
                raise FormRefused(413, _TOO_LARGE)
    except ClientDisconnect:
        raise FormRefused(400, words.CLIENT_LEFT) from None
    # Parsing megabytes would stall the event loop.
    values = await asyncio.to_thread(_parsed, bytes(content))
    text = values.get(text_field, "")
    if len(text.encode("utf-8", "replace")) > words.LARGEST_BODY_BYTES:
        raise FormRefused(413, _TOO_LARGE)
    return values


def _parsed(content: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(content.decode("latin-1"), max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise FormRefused(400, "This form has too many fields.") from None
    return dict(pairs)
