"""``numalet breaker undo``: undoes every change of breakers, from the objects alone.

It needs no breaker and no memory, so that it works after a crash. A second run does nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from numalet.cluster.breaker.breaker_metrics import ActionOutcome, AuditFile
from numalet.cluster.breaker.performing import HELD, ActionWorker
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.findings import BadInput, Findings
from numalet.insight.rejections import patches
from numalet.insight.rejections.actions import Action
from numalet.insight.rejections.shape_questions import SuspendedJob
from numalet.io.documents.cluster.cluster_pods import PodReader
from numalet.io.documents.text.typed import Place
from numalet.io.kube_api import client, follow, listing, paths
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Deleted, Disconnected, News, Replaced
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.pace import PACE, Pace
from numalet.io.kube_api.values import Access

JOBS: Final = ApiCollection("/apis/batch/v1/jobs")
_PLACE: Final = Place("the API server", "Job")


class SuspendedJobs:
    """Kept current by ``follow``. ``say`` is called once if they cannot be read."""

    def __init__(
        self, changed: asyncio.Event, say: Callable[[str], None], pace: Pace = PACE
    ) -> None:
        self.is_listed = False
        self._changed = changed
        self._say = say
        self._said = ""
        self._pace = pace
        self._reader = PodReader()
        self._jobs: dict[str, SuspendedJob] = {}

    @property
    def jobs(self) -> Mapping[str, SuspendedJob]:
        return dict(self._jobs)

    async def follow(self, api: ApiClient) -> None:
        """Keep the Jobs current until this is cancelled.

        Raises ``BadInput`` if the credentials could never be read.
        """
        news = follow.follow(api, JOBS, self._decoded, listing.uid, self._pace)
        async with contextlib.aclosing(news):
            async for each in news:
                self._put(each)
                self._changed.set()

    def _put(self, news: News[SuspendedJob]) -> None:
        match news:
            case Replaced(items):
                self._jobs, self.is_listed = dict(items), True
            case Changed(uid, item):
                self._jobs[uid] = item
            case Deleted(uid):
                self._jobs.pop(uid, None)
            case Disconnected(status=status) if status is not None and status.is_forbidden:
                # These credentials lack this permission; the breaker continues without it.
                self.is_listed = True
                text = f"cannot watch Jobs, so they are not resumed: {status.message}"
                if text != self._said:
                    self._said = text
                    self._say(text)
            case _:
                pass

    def _decoded(self, content: bytes) -> SuspendedJob | None:
        job = json.loads(content)
        metadata = job["metadata"]
        mark = patches.on_job(metadata.get("annotations") or {})
        if mark is None:
            return None
        return SuspendedJob(
            namespace=str(metadata.get("namespace") or ""),
            name=str(metadata["name"]),
            uid=str(metadata.get("uid") or ""),
            until_seconds=mark.until_seconds,
            shape=mark.shape,
            pod=self._template(job),
        )

    def _template(self, job: Mapping[str, Any]) -> ClusterPod | None:
        of_job = job["metadata"]
        template = (job.get("spec") or {}).get("template") or {}
        metadata = {
            "name": of_job["name"],
            "namespace": of_job.get("namespace"),
            "uid": of_job.get("uid"),
            "labels": (template.get("metadata") or {}).get("labels"),
        }
        pod = {"kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}
        return self._reader.read(json.dumps(pod).encode(), _PLACE, Findings())


_Object: TypeAlias = dict[str, Any]


async def undo(access: Access, audit_file: AuditFile, say: Callable[[str], None]) -> bool:
    """Undo all changes; return whether all succeeded. Each change is reported and audited.

    Raises ``BadInput`` if the server is unreachable or refuses a list, or the audit cannot be
    written.
    """
    try:
        async with client.opened(access, "numalet-breaker") as api:
            return await _undone(api, audit_file, say)
    except (ApiRefused, ApiUnreachable) as no:
        raise BadInput([no.finding]) from None


async def _undone(api: ApiClient, audit_file: AuditFile, say: Callable[[str], None]) -> bool:
    worker = ActionWorker(api, say)

    async def done(plan: Iterable[Action]) -> bool:
        is_all = True
        for action in plan:
            performed = await worker.perform(action)
            audit_file.write(action, performed.outcome, performed.problem)
            text = f"{performed.outcome.value}: {patches.audit_line(action).text}"
            say(f"{text} ({performed.problem})" if performed.problem else text)
            is_all &= performed.outcome in (ActionOutcome.DONE, ActionOutcome.NOT_NEEDED)
        return is_all

    # Taints are undone first, in case the user may not list Jobs.
    nodes = await _changed(api, ApiCollection(paths.NODES), _is_changed_node)
    are_nodes_done = await done(patches.undo_plan(nodes, ()))
    are_released = await done(patches.release_plan(await _held(api)))
    jobs = await _changed(api, JOBS, _is_changed_job)
    return await done(patches.undo_plan((), jobs)) and are_nodes_done and are_released


async def _held(api: ApiClient) -> _Object:
    """Return the ConfigMap of held controllers, empty if the cluster has none."""
    try:
        return _Object(json.loads(await api.get(HELD)))
    except ApiRefused as refused:
        if not refused.status.is_absent:
            raise
        return {}


async def _changed(
    api: ApiClient, collection: ApiCollection, is_changed: Callable[[_Object], bool]
) -> list[_Object]:
    """Return the objects that a breaker has changed, without keeping the others in memory."""

    def decoded(content: bytes) -> _Object | None:
        value: _Object = json.loads(content)
        return value if is_changed(value) else None

    return [*(await listing.listed(api, collection, decoded)).items.values()]


def _is_changed_node(node: Mapping[str, Any]) -> bool:
    return bool(patches.undo_plan([node], ()))


def _is_changed_job(job: Mapping[str, Any]) -> bool:
    return bool(patches.undo_plan((), [job]))
