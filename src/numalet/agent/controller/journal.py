"""The journal of events and verdicts: JSON lines in two files of limited size.

It is informative; no decision reads it. Truncated lines are skipped, and lines wait in memory while
the disk is full. Events with the kubelet's text, and ``InvalidManifest``, have a ``message``.
Others have ``causes``, from which the message is built; older releases wrote a message for all.
"""

from __future__ import annotations

import errno
import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from numalet.agent.findings import events
from numalet.core.model.pod import Pod
from numalet.core.workload.records import EventKind, NodeEvent
from numalet.core.workload.run import Cause, Verdict

FILE_NAME: Final = "journal.jsonl"
OLDER_NAME: Final = "journal.jsonl.1"
MOST_BYTES: Final = 4 << 20
"""Read whole at each start; holds more than ten thousand events."""
_WAITING_LINES: Final = 1000
"""As many as the events in the API."""


class Journal:
    """A new file starts at ``most_bytes``."""

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self._path = folder / FILE_NAME
        self._older = folder / OLDER_NAME
        self._most_bytes = most_bytes
        self._waiting: deque[str] = deque(maxlen=_WAITING_LINES)

    def append(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Append lines. On ``OSError`` they are kept for the next call."""
        self._waiting.extend(json.dumps(line, separators=(",", ":")) for line in lines)
        if not self._waiting:
            return
        self._make_room()
        text = "".join(f"{line}\n" for line in self._waiting).encode()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path, flags, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            # A crash may have left half a line; start a new one.
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                text = b"\n" + text
            _append(descriptor, text, size)
        finally:
            os.close(descriptor)
        # Only after the write, or failed lines would be lost.
        self._waiting.clear()

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """All valid lines, oldest first."""
        for path in (self._older, self._path):
            try:
                text = path.read_text(errors="replace")
            except OSError:
                continue
            for line in text.splitlines():
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(value, dict):
                    yield value

    def _make_room(self) -> None:
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return
        if size >= self._most_bytes:
            self._path.replace(self._older)


def line_of(event: NodeEvent) -> dict[str, Any]:
    said: dict[str, Any] = {"message": event.message}
    if event.causes:
        said = {
            "causes": [{"code": each.code, "fields": dict(each.fields)} for each in event.causes]
        }
    return {
        "at": event.at.isoformat(),
        "version": event.resource_version,
        "type": event.kind.value,
        "reason": event.reason,
        **said,
        "uid": event.pod_uid,
        "pod": event.pod_name,
        "namespace": event.namespace,
        "container": event.container,
        "count": event.count,
        "first_at": None if event.first_at is None else event.first_at.isoformat(),
    }


def verdict_line(pod: Pod, verdict: Verdict, at: datetime) -> dict[str, Any]:
    return {
        "at": at.isoformat(),
        "verdict": "admitted" if verdict.admitted else "rejected",
        "uid": pod.uid,
        "pod": pod.name,
        "namespace": pod.namespace,
        "cause": verdict.cause,
    }


def _append(descriptor: int, text: bytes, size_bytes: int) -> None:
    """Append the whole text or nothing. Raises ``OSError``."""
    if os.write(descriptor, text) != len(text):
        # A full disk may accept part of the text; half a line would corrupt the next.
        os.ftruncate(descriptor, size_bytes)
        raise OSError(errno.ENOSPC, "the journal was written in part")


def _cause(written: Mapping[str, Any]) -> Cause:
    fields = written["fields"]
    return Cause(str(written["code"]), {name: str(fields[name]) for name in fields})


def event_of(line: Mapping[str, Any]) -> NodeEvent | None:
    """The event in a line, if it has one."""
    try:
        first_at = line["first_at"]
        causes = tuple(map(_cause, line.get("causes", ())))
        return NodeEvent(
            kind=EventKind(line["type"]),
            reason=str(line["reason"]),
            message=events.text(causes) if causes else str(line["message"]),
            causes=causes,
            at=datetime.fromisoformat(line["at"]),
            resource_version=int(line["version"]),
            pod_uid=str(line["uid"]),
            pod_name=str(line["pod"]),
            namespace=str(line["namespace"]),
            container=str(line["container"]),
            first_at=None if first_at is None else datetime.fromisoformat(first_at),
            count=int(line["count"]),
        )
    except (KeyError, ValueError, TypeError):
        return None
