"""The container log endpoint: all, tail, or follow.

A follower reads a rotated file to its end and continues with the new one. Log entries are
``TIME STREAM TAG LINE``; tag P means that the line continues in the next entry. Malformed entries
pass unchanged. Kubelet: ``kuberuntime/logs``, v1.32.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from numalet.agent.servers.api import requests
from numalet.agent.servers.api.served import Served
from numalet.agent.servers.api.status import Failure, bad_query
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerPhase
from numalet.core.workload.spec import WorkloadSource
from numalet.wording import kubernetes_api as words

_HEAD: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\S+Z) (?:stdout|stderr) ([PF])(?::\S*)? ")
_LONGEST_ENTRY_BYTES: Final = 1 << 20
_LONGEST_AGO_SECONDS: Final = 10**9

POLL_SECONDS: Final = 0.2
"""Poll interval for new output."""

_CHUNK_BYTES: Final = 64 * 1024
_TEXT: Final = "text/plain; charset=utf-8"


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


class Logs:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        return [Route("/api/v1/namespaces/{namespace}/pods/{name}/log", self.log, methods=["GET"])]

    async def log(self, request: Request) -> Response:
        record = self._served.record(**request.path_params)
        wanted = shape(request)
        previous = requests.flag(request, "previous")
        follow = requests.flag(request, "follow") and not previous
        tail = requests.whole_number(request, "tailLines")
        limit = requests.whole_number(request, "limitBytes")
        key = ContainerKey(record.uid, _container(record, request.query_params.get("container")))
        path = self._served.door.log_path(key, previous=previous)
        file = await asyncio.to_thread(_opened, path)
        if file is None and (previous or not _has_begun(record, key.container)):
            raise _nothing_to_show(record, key.container, previous)
        lines = shaped(self._chunks(key, path, file, tail, follow=follow), wanted)
        return StreamingResponse(_cut(lines, limit), media_type=_TEXT)

    async def _chunks(
        self,
        key: ContainerKey,
        path: Path | None,
        file: BinaryIO | None,
        tail: int | None,
        *,
        follow: bool,
    ) -> AsyncGenerator[bytes, None]:
        # A runtime may have no log file yet; an empty response is right then, not an error.
        while file is None and follow and self._runs(key):
            await asyncio.sleep(POLL_SECONDS)
            file = await asyncio.to_thread(_opened, path)
        if path is None or file is None:
            return
        try:
            if tail is not None:
                await asyncio.to_thread(_to_tail, file, tail)
            while True:
                # Read the state first: then the final output is read even if the container ends
                # now.
                goes_on = follow and self._runs(key)
                while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
                    yield chunk
                if not goes_on:
                    return
                newer = await asyncio.to_thread(_begun_anew, path, file)
                # The writer may have appended to the old file before the rotation.
                if newer is not None:
                    while chunk := await asyncio.to_thread(file.read, _CHUNK_BYTES):
                        yield chunk
                    file.close()
                    file = newer
                    continue
                await asyncio.sleep(POLL_SECONDS)
        finally:
            file.close()

    def _runs(self, key: ContainerKey) -> bool:
        record = self._served.door.view().records.get(key.pod_uid)
        alive = (ContainerPhase.STARTING, ContainerPhase.RUNNING)
        return record is not None and record.run.of(key.container).phase in alive


async def _cut(
    chunks: AsyncGenerator[bytes, None], limit: int | None
) -> AsyncGenerator[bytes, None]:
    left = limit
    async for chunk in chunks:
        yield chunk if left is None else chunk[:left]
        if left is not None:
            left -= len(chunk)
            if left <= 0:
                return


def _container(record: PodRecord, wanted: str | None) -> str:
    names = [container.name for container in record.workload.containers]
    apps = [container.name for container in record.workload.pod.app_containers]
    pod = record.workload.pod.name
    if wanted is None:
        if len(apps) != 1:
            message = words.CONTAINER_NEEDED.format(pod=pod, names=" ".join(names))
            raise Failure(400, message)
        return apps[0]
    if wanted not in names:
        raise Failure(400, words.CONTAINER_UNKNOWN.format(container=wanted[:253], pod=pod))
    return wanted


def _has_begun(record: PodRecord, container: str) -> bool:
    """Whether the container has run; then a missing file means no output."""
    if record.workload.source is WorkloadSource.RUN:
        return False
    run = record.run.of(container)
    return run.phase in (ContainerPhase.RUNNING, ContainerPhase.TERMINATED)


def _nothing_to_show(record: PodRecord, container: str, previous: bool) -> Failure:
    if record.workload.source is WorkloadSource.RUN:
        return Failure(400, words.OUTPUT_IS_THE_CALLERS.format(pod=record.workload.pod.name))
    about = {"container": container, "pod": record.workload.pod.name}
    if previous:
        return Failure(400, words.NO_PREVIOUS.format(**about))
    verdict = record.run.verdict
    rejected = verdict is not None and not verdict.admitted
    reason = verdict.reason if verdict is not None and rejected else "ContainerCreating"
    return Failure(400, words.CONTAINER_WAITS.format(reason=reason, **about))


def _opened(path: Path | None) -> BinaryIO | None:
    try:
        return None if path is None else path.open("rb")
    except FileNotFoundError:
        return None


def _begun_anew(path: Path, file: BinaryIO) -> BinaryIO | None:
    """The new file of this name, if the log was rotated."""
    try:
        now = path.stat()
    except FileNotFoundError:
        return None
    # A smaller file with the same inode was truncated.
    here = os.fstat(file.fileno())
    if (now.st_dev, now.st_ino) == (here.st_dev, here.st_ino) and now.st_size >= file.tell():
        return None
    return _opened(path)


def _to_tail(file: BinaryIO, lines: int) -> None:
    """Seek to the start of the last lines, reading backwards."""
    end = position = file.seek(0, os.SEEK_END)
    count = 0
    while position > 0 and lines:
        size = min(_CHUNK_BYTES, position)
        position -= size
        file.seek(position)
        block = file.read(size)
        at = len(block)
        while (at := block.rfind(b"\n", 0, at)) >= 0:
            # The newline at the very end starts no line.
            count += position + at != end - 1
            if count == lines:
                file.seek(position + at + 1)
                return
    file.seek(0 if lines else end)
