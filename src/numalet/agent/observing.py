"""Beside a kubelet: follow its books as they change, and hold them against the kernel.

Nothing is written and nobody is asked: state files, links to logs and the files of cgroups are
read, whenever the kubelet writes its state and from time to time. What a look comes to is a value
(``reports.kubelet_look``); the keeper shows it, as it shows books of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from numalet.adapters import kubelets
from numalet.adapters.files import folder_news, state_directory
from numalet.adapters.kubelet_node import containers
from numalet.agent.recovery import Premises
from numalet.agent.requests import KubeletSeen
from numalet.config.rules import StartRefused
from numalet.enforcement.reality import Reality
from numalet.model.findings import BadInput, Finding, Severity
from numalet.model.pod import ContainerKey
from numalet.node import node as nodes
from numalet.node.node import Node
from numalet.reports import kubelet_look
from numalet.reports.kubelet_look import Evidence, KubeletLook, PodName
from numalet.wording import kubelet_start


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletPlaces:
    """Where what a kubelet leaves on its node is looked for."""

    root: Path = kubelets.ROOT
    cgroups: Path = containers.CGROUPS
    logs: Path = containers.LOGS


@dataclass(slots=True, kw_only=True)
class KubeletWatch:
    """Looks at one kubelet. ``config`` is the file of its configuration, empty if unknown."""

    places: KubeletPlaces
    premises: Premises
    config: str
    page_sizes: tuple[int, ...]
    clock: Callable[[], datetime]
    every_seconds: float
    _last: KubeletLook | None = field(default=None, init=False)

    async def looks(self) -> AsyncIterator[KubeletSeen]:
        """A look now, then after every change of a state file and from time to time."""
        while True:
            yield await asyncio.to_thread(self.look)
            await self._news()

    def look(self) -> KubeletSeen:
        """What there is now. Blocks."""
        files, unread = self._files()
        node, refusal = self._started(files)
        realities, pods = self._containers()
        evidence = Evidence(
            root=str(self.places.root),
            files=files,
            unread=unread,
            refusal=refusal,
            config=self.config,
            realities=realities,
            pods=pods,
        )
        self._last = kubelet_look.look(self._last, evidence, self.premises.machine, self.clock())
        return KubeletSeen(node, self._last)

    def _files(self) -> tuple[Mapping[str, str], tuple[Finding, ...]]:
        if not self.places.root.is_dir():
            # Another owner need not be a kubelet, and a kubelet may come later.
            return {}, ()
        try:
            return state_directory.read(self.places.root).files, ()
        except BadInput as bad:
            return {}, bad.findings

    def _started(self, files: Mapping[str, str]) -> tuple[Node | None, Finding | None]:
        """The node of a kubelet that starts on these files now, or why it would not start."""
        premises = self.premises
        if not self.config or not files:
            return None, None
        started = nodes.start(
            premises.config,
            premises.machine,
            files,
            premises.devices,
            behaviour=premises.behaviour,
        )
        if isinstance(started, StartRefused):
            text = kubelet_start.text(started, str(self.places.root))
            fields = {"text": text, "config": self.config}
            return None, Finding("kubelet/would-not-start", fields, severity=Severity.WARNING)
        return started, None

    def _containers(self) -> tuple[Mapping[ContainerKey, Reality], Mapping[str, PodName]]:
        names = containers.names(self.places.logs)
        found = {}
        for tree in containers.trees(self.places.cgroups):
            for container_id, path in containers.paths(tree).items():
                named = names.get(container_id)
                seen = named and containers.reality(tree, path, self.page_sizes)
                if named and seen:
                    found[named.key] = seen
        pods = {each.key.pod_uid: PodName(each.namespace, each.pod) for each in names.values()}
        return found, pods

    async def _news(self) -> None:
        """Wait until a state file may have changed, but no longer than until the next look."""
        root = self.places.root
        await folder_news.wait(
            (root, root / state_directory.DEVICE_PLUGINS),
            self.every_seconds,
            lambda path: path.name in state_directory.FILE_NAMES,
        )


def log_findings(look: KubeletLook) -> tuple[Finding, ...]:
    """What the log says of a look: which files changed, and problems that were not told before."""
    news = tuple(each.finding for each in look.news)
    if not look.changed:
        return news
    fields = {"files": ", ".join(look.changed)}
    return (Finding("kubelet/state-changed", fields, severity=Severity.NOTE), *news)
