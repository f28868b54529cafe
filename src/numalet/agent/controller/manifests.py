"""The manifest folder: one pod per file, like the kubelet's static pods.

A uid is a hash of content, node and path, so a changed file is another pod. Unlike the kubelet, an
unreadable file keeps its pod, because it may be half-written. Kubelet:
``pkg/kubelet/config/file.go`` and ``common.go``, v1.32.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from numalet.agent.controller.requests import FolderRead
from numalet.core.config.behaviour import EXACT, Behaviour
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Findings, Location, Severity
from numalet.core.model.value import Value
from numalet.core.workload import static_pods
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.io import os_problem
from numalet.io.documents.pods import workload as workloads
from numalet.io.documents.pods.workload import Programs, WorkloadOptions
from numalet.io.documents.text import typed, yaml_source
from numalet.io.documents.text.typed import Place
from numalet.io.files import folder_news, trust
from numalet.io.findings.documents import DocumentUnreadable
from numalet.shared.findings.agent import ManifestsBug

FULL_READ_SECONDS: Final = 20.0
LARGEST_BYTES: Final = 10 * 1024 * 1024
"""The kubelet's limit for a file."""
UNREAD: Final = "document/unreadable"
RETRY_SECONDS: Final = 0.5
"""A broken file may be half-written, so read it again soon."""


class _Seen(Value):
    """The result of reading a file.

    Without a workload, ``findings`` say why; else they are remarks for the author.
    """

    content: bytes
    workload: Workload | None
    findings: tuple[Finding, ...] = ()


class ManifestFolder:
    """A folder or a file. ``read`` blocks; ``readings`` yields after every change.

    ``runs_here``: programs run on this machine, so files that another user may write are refused.
    """

    def __init__(
        self,
        path: Path,
        node_name: str,
        clock: Callable[[], datetime],
        programs: Programs = Programs.COMMAND,
        *,
        runs_here: bool = True,
        behaviour: Behaviour = EXACT,
        report_bug: Callable[[Exception], None] = lambda _bug: None,
        full_read_seconds: float = FULL_READ_SECONDS,
    ) -> None:
        self._path = path
        self._node_name = node_name
        self._clock = clock
        self._programs = programs
        self._runs_here = runs_here
        self._behaviour = behaviour
        self._report_bug = report_bug
        self._full_read_seconds = full_read_seconds
        self._seen: dict[str, _Seen] = {}
        self._problem: Finding | None = None

    def read(self) -> FolderRead:
        """Read everything; ``broken`` are newly broken files.

        An unreadable folder is itself broken, and its content unknown.
        """
        finding = trust.doubt(self._path) if self._runs_here else None
        try:
            files = [] if finding is not None else self._files()
        except OSError as error:
            problem = os_problem.text(error)
            finding = DocumentUnreadable(reason=problem, where=Location(str(self._path)))
        if finding is not None:
            return self._unread(finding)
        before, self._seen = self._seen, {}
        self._problem = None
        broken: dict[str, tuple[Finding, ...]] = {}
        unreadable = set()
        for path in files:
            seen = self._read_file(path, before.get(str(path)))
            self._seen[str(path)] = seen
            if seen.workload is not None:
                continue
            unreadable.add(str(path))
            # Once per version of the file: the folder is read every few seconds.
            if seen != before.get(str(path)):
                broken[str(path)] = seen.findings
        # Of two files with one pod name, the last wins.
        by_name = {
            (each.workload.pod.namespace, each.workload.pod.name): each.workload
            for each in self._seen.values()
            if each.workload is not None
        }
        remarks = {
            each.workload.uid: each.findings
            for each in self._seen.values()
            if each.workload is not None and each.findings
        }
        return FolderRead(tuple(by_name.values()), broken, frozenset(unreadable), remarks)

    def _unread(self, finding: Finding) -> FolderRead:
        known, self._problem = self._problem, finding
        path = str(self._path)
        broken = {} if finding == known else {path: (finding,)}
        return FolderRead((), broken, frozenset([path]))

    async def readings(self) -> AsyncIterator[FolderRead]:
        """Yield a reading now, after every change, and periodically."""
        while True:
            reading = await asyncio.to_thread(self.read)
            yield reading
            await self._news(self._pause_seconds(reading))

    def _pause_seconds(self, reading: FolderRead) -> float:
        """Seconds until the next full read."""
        if reading.broken:
            return RETRY_SECONDS
        findings = (finding for each in self._seen.values() for finding in each.findings)
        is_unread = self._problem is not None or any(each.code == UNREAD for each in findings)
        # The agent may be out of descriptors, and no event reports when that ends.
        shortest = min(folder_news.UNWATCHED_SECONDS, self._full_read_seconds)
        return shortest if is_unread else self._full_read_seconds

    async def _news(self, seconds: float) -> None:
        """Wait for a change in the folder, at most this long."""
        # inotify needs an existing folder; the parent reports its creation.
        watched = self._path if self._path.is_dir() else self._path.parent
        await folder_news.wait([watched], seconds)

    def _files(self) -> list[Path]:
        """List the files. Raises ``OSError``."""
        try:
            if self._path.is_file():
                return [self._path]
            entries = sorted(self._path.iterdir())
        except FileNotFoundError:
            return []
        # Names with a dot are ignored as in the kubelet; editors write such files and rename them.
        return [each for each in entries if not each.name.startswith(".") and _may_be_a_file(each)]

    def _read_file(self, path: Path, before: _Seen | None) -> _Seen:
        finding = trust.doubt_of_entry(path) if self._runs_here else None
        if finding is not None:
            return _Seen(b"", None, (finding,))
        try:
            content = yaml_source.read_bytes(path, LARGEST_BYTES)
        except BadInput as bad:
            return _Seen(b"", None, bad.findings)
        if before is not None and before.content == content:
            return before
        try:
            return _Seen(content, *self._workload(content, str(path)))
        except BadInput as bad:
            return _Seen(content, None, bad.findings)
        except (OSError, MemoryError) as error:
            # Reading may import modules, so the error can be the agent's and not the file's.
            reason = os_problem.text(error) if isinstance(error, OSError) else "out of memory"
            return _Seen(b"", None, (DocumentUnreadable(reason=reason, where=Location(str(path))),))
        except Exception as bug:
            # One bad file must not stop the other pods.
            self._report_bug(bug)
            return _Seen(
                content,
                None,
                (ManifestsBug(problem=type(bug).__name__, where=Location(str(path))),),
            )

    def _workload(self, content: bytes, origin: str) -> tuple[Workload, tuple[Finding, ...]]:
        """Decode the pod of a file, with remarks for its author."""
        documents = yaml_source.load_documents(yaml_source.decode(content, origin), origin)
        filled = [each for each in documents if each.value is not None]
        if not filled:
            raise input_error.Required(
                "the document is empty",
                expected="a Pod or another object with pods",
                where=Location(origin),
            ).bad_input()
        first = filled[0]
        place = Place(origin, "$", first.line_of)
        findings = Findings()
        if not isinstance(first.value, Mapping):
            typed.wrong_type(first.value, "a Pod", place, findings)
            raise BadInput(findings.all)
        for each in first.duplicates:
            # As in the kubelet, the last duplicate wins.
            findings.add(each.of_severity(Severity.WARNING))
        if len(filled) > 1:
            others = len(filled) - 1
            findings.add(
                input_error.Ignored(
                    f"the agent uses the first document and ignores {others} others; write one "
                    "pod in each file",
                    where=place.location,
                )
            )
        return self._static_pod(first.value, origin, place, findings), findings.all

    def _static_pod(
        self, value: Mapping[Any, Any], origin: str, place: Place, findings: Findings
    ) -> Workload:
        manifest = static_pods.static_pod(
            value, node_name=self._node_name, path=origin, seen_at=self._clock()
        )
        is_dropped = self._behaviour.unknown_fields_are_dropped
        options = WorkloadOptions(
            source=WorkloadSource.FILE,
            origin=origin,
            node_name=self._node_name,
            programs=self._programs,
            behaviour=self._behaviour,
            unknown_fields=Severity.WARNING if is_dropped else Severity.ERROR,
        )
        workload = workloads.decode_workload(manifest, place, options, findings)
        if workload is None:
            raise BadInput(findings.all)
        return workload


def _may_be_a_file(path: Path) -> bool:
    """Whether this may be a manifest; an unreadable entry is reported on reading."""
    try:
        return path.is_file()
    except OSError:
        return True
