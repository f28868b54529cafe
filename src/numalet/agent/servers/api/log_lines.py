"""Converts log entries ``TIME STREAM TAG LINE`` into lines for clients.

Tag P: the line continues in the next entry. Malformed entries pass unchanged. Kubelet:
``kuberuntime/logs``, v1.32.
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
    """Whether to show times; the earliest time (empty: all)."""

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
    """The time as in entries, without "Z", so that it sorts before every fraction of its second."""
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"


async def shaped(
    chunks: AsyncGenerator[bytes, None], wanted: LogShape
) -> AsyncGenerator[bytes, None]:
    """Convert the chunks; a partial entry waits for its rest."""
    rest, begun = b"", False
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        # A file in another format may have no newline at all.
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
    """Return the text of an entry, and whether its line continues."""
    head = _HEAD.match(entry)
    if head is None:
        return entry + b"\n", False
    goes_on = head[2] == b"P"
    if head[1] < wanted.since:
        return b"", goes_on
    time = head[1] + b" " if wanted.timestamps and not begun else b""
    return time + entry[head.end() :] + (b"" if goes_on else b"\n"), goes_on
