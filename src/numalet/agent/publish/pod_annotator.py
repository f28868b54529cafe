"""Keeps KAI's annotations on the pods of a node: only its own keys, and only after a change.

A pod whose keys belong to another field manager is left alone unless ``force`` is set.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from numalet.core.model.findings import Finding, Findings
from numalet.core.model.pod_standing import TERMINAL_PHASES
from numalet.core.model.value import Value
from numalet.io.documents.pods import served_pod
from numalet.io.kube_api import follow, listing, paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Connected, Deleted, Disconnected, Replaced
from numalet.io.tasks import together
from numalet.shared.findings.publish import (
    PublishCurrentAgain,
    PublishForeignAnnotations,
    PublishRefused,
    PublishUnreachable,
)
from numalet.shared.kubernetes import kai
from numalet.shared.kubernetes.kai import PodProgress
from numalet.shared.publish.node_view import PublishedView
from numalet.shared.publish.writer import WriteCounts

_SETTLE_SECONDS: Final = 1.0
"""A pod's status may arrive before the reading of the node that explains it."""
_AGAIN_SECONDS: Final = 60.0
"""The same values are written again after this time alone, also if another writer removes them."""
_SOON_SECONDS: Final = 5.0


class WatchedPod(Value):
    """A pod that has not ended. ``own`` are the keys that numalet manages, with their values.

    ``groups`` is the value of the memory groups, also if another publisher wrote it.
    """

    progress: PodProgress
    own: Mapping[str, str]
    groups: str | None


def decode(content: bytes) -> WatchedPod | None:
    value = msgspec.json.decode(content)
    metadata = value["metadata"]
    pod = served_pod.decode(value, Findings())
    if pod is None or pod.phase in TERMINAL_PHASES:
        return None
    statuses = served_pod.statuses(value)
    running = frozenset(each["name"] for each in statuses if "running" in _state(each))
    ended = frozenset(
        each["name"]
        for each in statuses
        if "terminated" in _state(each) or each.get("restartCount")
    )
    notes = metadata.get("annotations") or {}
    return WatchedPod(
        PodProgress(pod=pod, started=running | ended, running=running),
        {key: notes[key] for key in _managed_keys(metadata) if key in notes},
        notes.get(kai.GROUPS),
    )


def _state(status: Mapping[str, Any]) -> Mapping[str, Any]:
    return status.get("state") or {}


def _managed_keys(metadata: Mapping[str, Any]) -> list[str]:
    return [
        name.removeprefix("f:")
        for each in metadata.get("managedFields") or ()
        if each.get("manager") == kai.MANAGER
        for name in each["fieldsV1"].get("f:metadata", {}).get("f:annotations", {})
        if name != "."
    ]


class _Tried(Value):
    """The last values that were sent for a pod, when, and why they were refused."""

    values: Mapping[str, str]
    at_seconds: float
    refusal: Finding | None = None


@dataclass(slots=True, kw_only=True)
class PodAnnotator:
    """``report`` gets a finding at the first failure in a row, and one at the next success."""

    api: ApiClient
    node_name: str
    force: bool
    report: Callable[[Finding], None]
    counts: WriteCounts = field(default_factory=WriteCounts)
    _view: PublishedView | None = field(default=None, init=False)
    _pods: dict[str, WatchedPod] | None = field(default=None, init=False)
    _tried: dict[str, _Tried] = field(default_factory=dict, init=False)
    _failure: str = field(default="", init=False)
    _news: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def offer(self, view: PublishedView) -> None:
        self._view = view
        self._news.set()

    @property
    def is_current(self) -> bool:
        """Whether the last attempt for every pod has succeeded."""
        return self._pods is not None and not self._failure

    async def run(self) -> None:
        """Write whenever something changes, until cancelled."""
        async with together() as group:
            group.create_task(self._follow())
            group.create_task(self._write())

    async def write_once(self) -> None:
        try:
            found = await listing.listed(self.api, self._collection, decode, key=listing.uid)
        except (ApiRefused, ApiUnreachable) as failed:
            self._failed(failed.finding)
            return
        self._pods = dict(found.items)
        await self._write_changed()

    @property
    def _collection(self) -> listing.ApiCollection:
        chosen = f"spec.nodeName={self.node_name}"
        return listing.ApiCollection(paths.PODS, field_selector=chosen)

    async def _follow(self) -> None:
        async for each in follow.follow(self.api, self._collection, decode, key=listing.uid):
            pods = self._pods if self._pods is not None else {}
            match each:
                case Replaced(items):
                    pods = dict(items)
                case Changed(uid, pod):
                    pods[uid] = pod
                case Deleted(uid):
                    pods.pop(uid, None)
                case Disconnected(why, _, status):
                    refused = PublishRefused(problem=why)
                    self._failed(refused if status else PublishUnreachable(problem=why))
                    continue
                case Connected():
                    pass
            self._pods = pods
            self._news.set()

    async def _write(self) -> None:
        wait = _AGAIN_SECONDS
        while True:
            try:
                async with asyncio.timeout(wait):
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()
            await asyncio.sleep(_SETTLE_SECONDS)
            wait = _AGAIN_SECONDS if await self._write_changed() else _SOON_SECONDS

    async def _write_changed(self) -> bool:
        """Write every pod that needs it; False if the API server answers for none."""
        view, pods = self._view, self._pods
        # Without an answer of PodResources the devices of the node are unknown.
        if view is None or view.topology is None or pods is None:
            return True
        now = asyncio.get_running_loop().time()
        self._tried = {uid: tried for uid, tried in self._tried.items() if uid in pods}
        for uid, each in list(pods.items()):
            values = kai.observed(view.node, each.progress, each.groups)
            if values == each.own:
                self._tried.pop(uid, None)
                continue
            before = self._tried.get(uid)
            is_known = before is not None and before.values == values
            if before is not None and is_known and now < before.at_seconds + _AGAIN_SECONDS:
                continue
            path, body = kai.patch(each.progress.pod, values)
            try:
                await self.api.apply(path, body, kai.MANAGER, force=self.force)
            except ApiUnreachable as unreachable:
                self._failed(PublishUnreachable(problem=str(unreachable)))
                return False
            except ApiRefused as refused:
                if refused.status.is_absent:
                    continue  # It was deleted in the meantime; the watch says so, too.
                self.counts.failed += 1
                refusal = self._explained(refused, str(each.progress.pod))
                if refused.status.is_temporary:
                    self._failed(refusal)
                    return False
                self._tried[uid] = _Tried(values, now, refusal)
            else:
                self.counts.written += 1
                self._tried[uid] = _Tried(values, now)
        refusals = [each.refusal for each in self._tried.values() if each.refusal is not None]
        if refusals:
            self._failed(refusals[0])
        elif self._failure:
            self._failure = ""
            self.report(PublishCurrentAgain(what="KAI's annotations"))
        return True

    def _explained(self, refused: ApiRefused, pod: str) -> Finding:
        if refused.status.is_conflict and not self.force:
            return PublishForeignAnnotations(pod=pod, problem=refused.status.message)
        return PublishRefused(problem=str(refused))

    def _failed(self, finding: Finding) -> None:
        if self._failure != finding.code:
            self.report(finding)
        self._failure = finding.code
