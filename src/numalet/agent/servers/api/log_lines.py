"""The lines of a container's output as clients want them, without the runtime's notes.

A file has ``TIME STREAM TAG LINE``, the form of the container runtimes; a tag P says that the line
goes on in the next entry. Clients get the lines alone, or with their times if they ask, and may
leave out what was written before a moment. An entry in no such form is passed on as it is.
Kubelet: ``kuberuntime/logs``, v1.32.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Final

from starlette.requests import Request

from numalet.agent.servers.api import requests
from numalet.agent.servers.api.status import bad_query
from numalet.core.model.value import Value

_HEAD: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\S+Z) (?:stdout|stderr) ([PF])(?::\S*)? ")
_LONGEST_ENTRY_BYTES: Final = 1 << 20
_LONGEST_AGO_SECONDS: Final = 10**9


class LogShape(Value):
    """Whether times are shown, and from which moment on (empty: from the beginning)."""

    timestamps: bool = False
    since: bytes = b""


def shape(request: Request) -> LogShape:
    since = ""
    ago = requests.whole_number(request, "sinceSeconds")
    if text := request.query_params.get("sinceTime"):
        try:
            since = _written(datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            raise bad_query("sinceTime", text[:40], "a time is expected") from None
    elif ago is not None:
        if ago > _LONGEST_AGO_SECONDS:
            raise bad_query("sinceSeconds", str(ago), "fewer seconds are expected")
        since = _written(datetime.now(UTC) - timedelta(seconds=ago))
    return LogShape(requests.flag(request, "timestamps"), since.encode())


def _written(at: datetime) -> str:
    """As entries have it, without its end, so that it comes before any part of its second."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"


async def shaped(
    chunks: AsyncGenerator[bytes, None], wanted: LogShape
) -> AsyncGenerator[bytes, None]:
    """The output in this shape; what has come without its end waits for the rest."""
    rest, begun = b"", False
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_ENTRY_BYTES:
            yield rest
            rest = b""
        lines = []
        for entry in whole:
            line, begun = _line(entry, wanted, begun)
            lines.append(line)
        if lines:
            yield b"".join(lines)
    if rest:
        yield _line(rest, wanted, begun)[0].removesuffix(b"\n")


def _line(entry: bytes, wanted: LogShape, begun: bool) -> tuple[bytes, bool]:
    """What is shown of an entry, and whether the next one goes on with the same line."""
    head = _HEAD.match(entry)
    if head is None:
        return entry + b"\n", False
    goes_on = head[2] == b"P"
    if head[1] < wanted.since:
        return b"", goes_on
    time = head[1] + b" " if wanted.timestamps and not begun else b""
    return time + entry[head.end() :] + (b"" if goes_on else b"\n"), goes_on
