"""What an unmodified kubelet knows, read from outside: files, its process, PodResources.

The node is the one that a kubelet would be that started on the state files now. Devices are those
that PodResources says can be given out, since state files do not say where devices are. Nothing is
written. Everything is read again when a state file changed and every second, and a node is made
anew only where something differs.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from numalet.agent.controller.kubelet_configuration import (
    ConfigurationReader,
    ObservedConfiguration,
)
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.usecases import kubelet_at_hand
from numalet.io.files import folder_news, kubelet_pod_folders, state_directory
from numalet.io.pod_resources_client import JsonAnswer, PodResourcesClient
from numalet.shared.findings.publish import (
    PublishNoConfiguration,
    PublishNoPodResources,
    PublishNotReadable,
)
from numalet.shared.publish import view
from numalet.shared.publish.view import PublishedView
from numalet.wording import kubelet_start

_CHECK_SECONDS: Final = 0.5
"""How often PodResources is asked; the kernel says when a state file changes."""
_SETTLE_SECONDS: Final = 0.05
"""A kubelet writes its state files one after the other; this long after the first they are read."""
_ANSWER_SECONDS: Final = 2.0
_LASTING_SECONDS: Final = 5.0
_SOCKET: Final = Path("pod-resources", "kubelet.sock")


class KubeletReading(Value, kw_only=True):
    """What there was; ``view`` is None where it can not be known, and ``findings`` say why."""

    view: PublishedView | None
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True, kw_only=True)
class KubeletSource:
    """Reads the kubelet of a root directory."""

    root: Path
    configuration: ConfigurationReader
    socket: Path | None = None
    """Its PodResources socket; None for the usual one below the root directory."""
    _evidence: tuple[Any, ...] | None = field(default=None, init=False)
    _last: KubeletReading | None = field(default=None, init=False)
    _has_answered: bool = field(default=False, init=False)

    async def readings(self) -> AsyncIterator[KubeletReading]:
        """A reading now, and another one whenever something changed.

        A kubelet writes its files one after the other, and one that is restarted is gone for
        seconds: that nothing can be known counts when it has lasted.
        """
        last: KubeletReading | None = None
        unknown_since: float | None = None
        while True:
            reading = await asyncio.to_thread(self.read)
            now = time.monotonic()
            if reading.view is not None:
                unknown_since = None
            elif unknown_since is None:
                unknown_since = now
            has_lasted = unknown_since is None or now - unknown_since >= _LASTING_SECONDS
            if reading is not last and has_lasted:
                yield reading
                last = reading
            await self._news()

    def read(self) -> KubeletReading:
        """The current reading; the same value as before if nothing changed. Blocks."""
        configuration = self.configuration.read()
        files, unread = self._files()
        listed, allocatable, problems = self._answers()
        known = kubelet_pod_folders.uids(self.root)
        evidence = (configuration, files, unread, listed, allocatable, problems, known)
        if self._last is None or evidence != self._evidence:
            self._evidence = evidence
            if listed is None and self._has_answered:
                # What it gave out is known no more, and what was published is nearer the truth.
                self._last = KubeletReading(view=None)
            else:
                self._last = self._reading(configuration, files, listed, allocatable, known)
            self._has_answered = self._has_answered or listed is not None
            findings = (*self._last.findings, *unread, *problems)
            self._last = KubeletReading(view=self._last.view, findings=findings)
        return self._last

    def _reading(
        self,
        configuration: ObservedConfiguration,
        files: Mapping[str, str],
        listed: Mapping[str, Any] | None,
        allocatable: Mapping[str, Any] | None,
        known: frozenset[str] | None,
    ) -> KubeletReading:
        if not configuration.file:
            finding = PublishNoConfiguration(root=str(self.root))
            return KubeletReading(view=None, findings=(*configuration.findings, finding))
        given = None if allocatable is None else view.allocatable_of(allocatable)
        premises = configuration.premises
        started = nodes.start(
            premises.config,
            premises.machine,
            files,
            {} if allocatable is None else kubelet_at_hand.devices_of_answer(allocatable),
            behaviour=premises.behaviour,
            identity=premises.identity,
        )
        if isinstance(started, StartRefused):
            text = kubelet_start.text(started, str(self.root))
            return KubeletReading(view=None, findings=(PublishNotReadable(problem=text),))
        node = _with_pods(started, known)
        pods = None if listed is None else view.pods_of(listed)
        return KubeletReading(view=view.of_answers(node, premises.config, given, pods))

    def _files(self) -> tuple[Mapping[str, str], tuple[Finding, ...]]:
        try:
            return state_directory.read(self.root).files, ()
        except BadInput as bad:
            return {}, tuple(each.of_severity(Severity.WARNING) for each in bad.findings)

    def _answers(
        self,
    ) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None, tuple[Finding, ...]]:
        """What List and GetAllocatableResources say, and why they say nothing."""
        client = PodResourcesClient(self.socket or self.root / _SOCKET, _ANSWER_SECONDS)
        documents: list[Mapping[str, Any] | None] = []
        problems: list[Finding] = []
        for ask in (client.list_pods, client.allocatable):
            try:
                answer = ask()
            except BadInput as bad:
                problem = "; ".join(str(each) for each in bad.findings)
                return None, None, (PublishNoPodResources(problem=problem),)
            if isinstance(answer, JsonAnswer):
                documents.append(answer.document)
            else:
                documents.append(None)
                problems.append(PublishNoPodResources(problem=f"{answer.code}: {answer.text}"))
        listed, allocatable = documents
        return listed, allocatable, tuple(problems)

    async def _news(self) -> None:
        """Wait until a state file may have changed, or until everything is read again anyway."""
        before = state_directory.signatures(self.root)
        began = time.monotonic()
        await folder_news.wait(
            state_directory.folders(self.root), _CHECK_SECONDS, state_directory.is_state_file
        )
        has_changed = before != state_directory.signatures(self.root)
        if has_changed or time.monotonic() - began < _SETTLE_SECONDS:
            await asyncio.sleep(_SETTLE_SECONDS)


def _with_pods(started: Node, known: frozenset[str] | None) -> Node:
    """The node on which the holders count as running that the kubelet works on."""
    held = started.leftovers()
    return started.assume_running(key for key in held if known is None or key.pod_uid in known)
