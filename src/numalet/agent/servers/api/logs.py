"""The container log endpoint: all, tail, or follow.

A follower reads a rotated file to its end and continues with the new one.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import BinaryIO, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from numalet.agent.servers.api import log_lines, requests
from numalet.agent.servers.api.served import Served
from numalet.agent.servers.api.status import Failure
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.records import PodRecord
from numalet.core.workload.run import ContainerPhase
from numalet.core.workload.spec import WorkloadSource
from numalet.wording import kubernetes_api as words

POLL_SECONDS: Final = 0.2
"""Poll interval for new output."""

_CHUNK_BYTES: Final = 64 * 1024
_TEXT: Final = "text/plain; charset=utf-8"


class Logs:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        return [Route("/api/v1/namespaces/{namespace}/pods/{name}/log", self.log, methods=["GET"])]

    async def log(self, request: Request) -> Response:
        record = self._served.record(**request.path_params)
        wanted = log_lines.shape(request)
        previous = requests.flag(request, "previous")
        follow = requests.flag(request, "follow") and not previous
        tail = requests.whole_number(request, "tailLines")
        limit = requests.whole_number(request, "limitBytes")
        key = ContainerKey(record.uid, _container(record, request.query_params.get("container")))
        path = self._served.door.log_path(key, previous=previous)
        file = await asyncio.to_thread(_opened, path)
        if file is None and (previous or not _has_begun(record, key.container)):
            raise _nothing_to_show(record, key.container, previous)
        lines = log_lines.shaped(self._chunks(key, path, file, tail, follow=follow), wanted)
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
