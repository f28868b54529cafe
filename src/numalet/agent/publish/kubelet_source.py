"""Reads an unmodified kubelet: state files, process, PodResources. Writes nothing.

The node is the one that a kubelet would recover from the state files. Devices are from
PodResources, because state files have no NUMA nodes of devices.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from numalet.agent.controller.kubelet_configuration import (
    ConfigurationReader,
    ObservedConfiguration,
)
from numalet.agent.findings.kubelet import of_release
from numalet.core.config.releases import versions
from numalet.core.config.releases.versions import FollowedRelease
from numalet.core.config.rules import StartRefused
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput, Finding, Severity
from numalet.core.model.value import Value
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.usecases import kubelet_at_hand
from numalet.io.files import folder_news, kubelet_pod_folders, state_directory
from numalet.io.pod_resources_client import JsonAnswer, PodResourcesClient
from numalet.shared.findings.publish import (
    PublishNoPodResources,
    PublishReleaseUnknown,
)
from numalet.shared.publish.node_view import PublishedView, allocatable_of, pods_of, view_of_answers
from numalet.wording import kubelet_start

_CHECK_SECONDS: Final = 0.5
"""Poll interval of PodResources; inotify reports changes of state files."""
_SETTLE_SECONDS: Final = 0.05
"""A kubelet writes its state files one after another; wait this long after the first change."""
_ANSWER_SECONDS: Final = 2.0
_LASTING_SECONDS: Final = 5.0
_SOCKET: Final = Path("pod-resources", "kubelet.sock")


class KubeletReading(Value, kw_only=True):
    """``findings`` explain why there is no ``view``."""

    view: PublishedView | None
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True, kw_only=True)
class KubeletSource:
    root: Path
    configuration: ConfigurationReader
    socket: Path | None = None
    """Default: the usual socket below ``root``."""
    _evidence: tuple[Any, ...] | None = field(default=None, init=False)
    _last: KubeletReading | None = field(default=None, init=False)
    _has_answered: bool = field(default=False, init=False)

    async def readings(self) -> AsyncIterator[KubeletReading]:
        """Yield a reading now and after every change."""
        last: KubeletReading | None = None
        unknown_since: float | None = None
        while True:
            reading = await asyncio.to_thread(self.read)
            now = time.monotonic()
            if reading.view is not None:
                unknown_since = None
            elif unknown_since is None:
                unknown_since = now
            # A kubelet that restarts is unreadable for seconds, which is not worth a reading.
            has_lasted = unknown_since is None or now - unknown_since >= _LASTING_SECONDS
            if reading is not last and has_lasted:
                yield reading
                last = reading
            await self._news()

    def read(self) -> KubeletReading:
        """Return the current reading, or the previous object if nothing changed. Blocks."""
        configuration = self.configuration.read()
        files, unread = self._files()
        listed, allocatable, problems = self._answers()
        # The state files also list pods that have ended, until the kubelet's next clean-up; its pod
        # folders show which of them still exist.
        known = kubelet_pod_folders.uids(self.root)
        evidence = (configuration, files, unread, listed, allocatable, problems, known)
        # Starting a node costs much more than comparing the texts of its files.
        if self._last is None or evidence != self._evidence:
            self._evidence = evidence
            if listed is None and self._has_answered:
                # Without PodResources, devices are unknown; the published objects are closer to the
                # truth.
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
            finding = input_error.Required(
                f"nothing is published, because the configuration of the kubelet of {self.root} "
                "is unknown; run the command where the process of the kubelet is visible, or pass "
                "its configuration with -c",
                severity=Severity.WARNING,
            )
            return KubeletReading(view=None, findings=(*configuration.findings, finding))
        given = None if allocatable is None else allocatable_of(allocatable)
        premises = configuration.premises
        followed = configuration.release
        notes = tuple(_of_release(followed))
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
            return KubeletReading(
                view=None,
                findings=(
                    *notes,
                    input_error.Invalid(
                        "nothing new is published, because no kubelet would start with these "
                        f"state files: {text}",
                        severity=Severity.WARNING,
                    ),
                ),
            )
        node = _with_pods(started, known)
        pods = None if listed is None else pods_of(listed)
        return KubeletReading(
            view=view_of_answers(node, premises.config, given, pods, followed.published),
            findings=notes,
        )

    def _files(self) -> tuple[Mapping[str, str], tuple[Finding, ...]]:
        try:
            return state_directory.read(self.root).files, ()
        except BadInput as bad:
            return {}, tuple(each.of_severity(Severity.WARNING) for each in bad.findings)

    def _answers(
        self,
    ) -> tuple[Mapping[str, Any] | None, Mapping[str, Any] | None, tuple[Finding, ...]]:
        """List, GetAllocatableResources, and problems."""
        client = PodResourcesClient(self.socket or self.root / _SOCKET, _ANSWER_SECONDS)
        documents: list[Mapping[str, Any] | None] = []
        problems: list[Finding] = []
        # The v1 API got GetAllocatableResources in v1.21, one release after List: an older kubelet
        # answers only the first call.
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
        """Wait for a possible change of a state file, at most one poll interval."""
        before = state_directory.signatures(self.root)
        began = time.monotonic()
        await folder_news.wait(
            state_directory.folders(self.root),
            _CHECK_SECONDS,
            state_directory.is_state_file,
            # A change that arrived before the watch began is missed by inotify.
        )
        has_changed = before != state_directory.signatures(self.root)
        if has_changed or time.monotonic() - began < _SETTLE_SECONDS:
            await asyncio.sleep(_SETTLE_SECONDS)


def _of_release(followed: FollowedRelease) -> Iterator[Finding]:
    if followed.published is not followed.release:
        yield PublishReleaseUnknown(
            version=followed.kubelet_version,
            release=followed.published.name,
            nearest=followed.release.name,
            known=versions.known_names(),
        )
    elif followed.is_of_kubelet is False or not (followed.is_of_kubelet or followed.is_chosen):
        yield of_release(followed)


def _with_pods(started: Node, known: frozenset[str] | None) -> Node:
    """Let containers of known pods hold their allocations; the kubelet frees the rest."""
    held = started.leftovers()
    return started.assume_running(key for key in held if known is None or key.pod_uid in known)
