"""Observes a kubelet: its state files, and whether the kernel enforces them.

Reads state files, log links, cgroups and PodResources at every change and periodically. Writes
nothing. Each observation is a value (``agent.kubelet.observed``) that the controller publishes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from numalet.agent.controller.kubelet_configuration import (
    ConfigurationReader,
    ObservedConfiguration,
)
from numalet.agent.controller.recovery import Premises
from numalet.agent.controller.requests import KubeletSeen
from numalet.agent.findings.kubelet import (
    KubeletStateChanged,
    KubeletStateRemoved,
    KubeletWouldNotStart,
)
from numalet.agent.host import kubelet_containers
from numalet.agent.kubelet import observed
from numalet.agent.kubelet.observed import Evidence, KubeletObservation, PodName
from numalet.core.config.rules import StartRefused
from numalet.core.enforcement.comparison import Reality
from numalet.core.model.findings import BadInput, Finding
from numalet.core.model.pod import ContainerKey
from numalet.core.model.value import Value, replace
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io import kubelets
from numalet.io.files import folder_news, kubelet_pod_folders, state_directory
from numalet.wording import kubelet_start

_CHECK_SECONDS: Final = 1.0
"""How often state files are compared with ``stat``.

It bounds the delay for changes between two inotify watches.
"""
_SETTLE_SECONDS: Final = 0.5
"""Interval while a problem may still disappear."""

_POD_RESOURCES: Final = Path("pod-resources", "kubelet.sock")
_ANSWER_SECONDS: Final = 2.0


class KubeletPlaces(Value, kw_only=True):
    root: Path = kubelets.ROOT
    proc: Path = kubelets.PROC
    cgroups: Path = kubelet_containers.CGROUPS
    logs: Path = kubelet_containers.LOGS


@dataclass(slots=True, kw_only=True)
class KubeletWatch:
    """Observes one kubelet with its present configuration."""

    places: KubeletPlaces
    configuration: ConfigurationReader
    page_sizes: tuple[int, ...]
    clock: Callable[[], datetime]
    every_seconds: float
    _last: KubeletObservation | None = field(default=None, init=False)
    _read: tuple[object, ...] = field(default=(), init=False)
    """Signatures of the state files at the last reading."""

    async def observations(self) -> AsyncIterator[KubeletSeen]:
        """Yield an observation now, after every change, and periodically."""
        while True:
            yield await asyncio.to_thread(self.observe)
            await self._news()

    def observe(self) -> KubeletSeen:
        """Blocks."""
        # Take signatures first, so that a write during the reading is noticed as a change.
        self._read = state_directory.signatures(self.places.root)
        files, unread = self._files()
        configuration = self.configuration.read()
        node, refusal = self._started(configuration, files)
        realities, pods = self._containers()
        evidence = Evidence(
            root=str(self.places.root),
            files=files,
            unread=(*unread, *configuration.findings),
            refusal=refusal,
            config=configuration.file,
            settings=configuration.premises.config if configuration.file else None,
            followed=configuration.release,
            running=self._running(),
            realities=realities,
            pods=pods,
            known_pods=kubelet_pod_folders.uids(self.places.root),
            app_containers=self._app_containers(),
        )
        machine = configuration.premises.machine
        self._last = observed.observe(self._last, evidence, machine, self.clock())
        return KubeletSeen(node, self._last)

    def _running(self) -> str | None:
        """The running kubelet; empty if it is down, None if unknown."""
        if not self.places.proc.is_dir():
            return None
        return kubelets.at_work_in(self.places.root, self.places.proc) or ""

    def _app_containers(self) -> Mapping[PodName, frozenset[str]] | None:
        """Containers by pod from PodResources: app containers and sidecars.

        Kubelet v1.32: ``v1PodResourcesServer.List``.
        """
        socket = self.places.root / _POD_RESOURCES
        if not socket.is_socket():
            return None
        # Imported late: gRPC is needed only here.
        from numalet.io.pod_resources_client import JsonAnswer, PodResourcesClient

        try:
            answer = PodResourcesClient(socket, _ANSWER_SECONDS).list_pods()
        except BadInput:
            return None
        if not isinstance(answer, JsonAnswer):
            return None
        return {
            PodName(pod.get("namespace", ""), pod.get("name", "")): frozenset(
                container.get("name", "") for container in pod.get("containers", ())
            )
            for pod in answer.document.get("podResources", ())
        }

    def _files(self) -> tuple[Mapping[str, str], tuple[Finding, ...]]:
        if not self.places.root.is_dir():
            # The owner may be another manager, and a kubelet may come later.
            return {}, ()
        try:
            return state_directory.read(self.places.root).files, ()
        except BadInput as bad:
            return {}, bad.findings

    def _started(
        self, configuration: ObservedConfiguration, files: Mapping[str, str]
    ) -> tuple[Node | None, Finding | None]:
        """Start a node on these files, as the kubelet would, or explain the refusal.

        After a refusal, the node still has the allocations in the files.
        """
        if not configuration.file or not files:
            return None, None
        premises = configuration.premises
        started = _start(premises, files)
        if isinstance(started, StartRefused):
            release = configuration.release
            text = kubelet_start.text(started, str(self.places.root))
            refusal = KubeletWouldNotStart(
                text=text, config=configuration.file, release=release.release.name
            )
            if release.may_have_unknown_rules:
                # The release is unknown, so its rules may differ and the files be right.
                return _with_promises(_start(premises, {}), files), None
            return _with_promises(_start(premises, {}), files), refusal
        return started, None

    def _containers(self) -> tuple[Mapping[ContainerKey, Reality], Mapping[str, PodName]]:
        names = kubelet_containers.names(self.places.logs)
        realities = {}
        for tree in kubelet_containers.trees(self.places.cgroups):
            for container_id, path in kubelet_containers.paths(tree).items():
                named = names.get(container_id)
                seen = named and kubelet_containers.reality(tree, path, self.page_sizes)
                if named and seen:
                    realities[named.key] = seen
        pods = {each.key.pod_uid: PodName(each.namespace, each.pod) for each in names.values()}
        return realities, pods

    async def _news(self) -> None:
        """Wait until a state file may have changed, or the next observation is due."""
        last = self._last
        is_unsettled = last is not None and last.is_unsettled
        within = min(_SETTLE_SECONDS if is_unsettled else self.every_seconds, self.every_seconds)
        until = time.monotonic() + within
        while (left := until - time.monotonic()) > 0:
            await folder_news.wait(
                state_directory.folders(self.places.root),
                min(left, _CHECK_SECONDS),
                state_directory.is_state_file,
            )
            # Not every event changes a state file, so compare signatures.
            if self._read != state_directory.signatures(self.places.root):
                return


def _start(premises: Premises, files: Mapping[str, str]) -> Node | StartRefused:
    return nodes.start(
        premises.config,
        premises.machine,
        files,
        premises.devices,
        behaviour=premises.behaviour,
        identity=premises.identity,
    )


def _with_promises(empty: Node | StartRefused, files: Mapping[str, str]) -> Node | None:
    """Put the decodable allocations of the files into a node."""
    if isinstance(empty, StartRefused):
        return None
    promised = observed.promises(files)
    snapshot = empty.snapshot
    if promised.cpu.exclusive or promised.cpu.default:
        snapshot = replace(snapshot, cpu=promised.cpu)
    if promised.memory.nodes:
        snapshot = replace(snapshot, memory=promised.memory)
    return empty.at(snapshot)


def log_findings(observation: KubeletObservation) -> tuple[Finding, ...]:
    """Log entries for an observation: changed files and new lasting problems."""
    news = [*observation.notes, *(each.finding for each in observation.news)]
    if observation.changed:
        news.insert(0, KubeletStateChanged(files=", ".join(observation.changed)))
    if observation.removed:
        news.insert(0, KubeletStateRemoved(files=", ".join(observation.removed)))
    return tuple(news)
