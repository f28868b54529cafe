"""The Jobs that a breaker has suspended, followed from the API server by their mark."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.findings import Findings
from numalet.insight.rejections import patches
from numalet.insight.rejections.shape_questions import SuspendedJob
from numalet.io.documents.cluster_pods import PodReader
from numalet.io.documents.typed import Place
from numalet.io.kube_api import follow, listing
from numalet.io.kube_api.client import ApiClient
from numalet.io.kube_api.follow import Changed, Deleted, Disconnected, News, Replaced
from numalet.io.kube_api.listing import ApiCollection
from numalet.io.kube_api.pace import PACE, Pace

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
