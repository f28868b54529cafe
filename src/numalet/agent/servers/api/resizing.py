"""A pod that is to have more or less CPU and memory: the answer that a kubelet would give.

An agent resizes no pod: what is promised to a pod stays as it was decided. Where the kubelet of the
release would not resize it either, the refusal has the kubelet's words. Where in-place resizing is
off there is no such path, as at an API server without it.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.agent.servers.api import changing, field_validation, forms, status
from numalet.agent.servers.api.objects import JSON
from numalet.agent.servers.api.served import Served
from numalet.agent.servers.api.status import Failure
from numalet.core.node import resizing
from numalet.core.node.resizing import Deferred, Infeasible
from numalet.core.workload import changes
from numalet.core.workload.record import PodRecord
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.wording import kubelet_resizes
from numalet.wording import kubernetes_api as words

_SIZES: Final = "spec.containers[*].resources"


class Resizing:
    """Handlers of ``/api/v1/namespaces/{namespace}/pods/{name}/resize``."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        path = "/api/v1/namespaces/{namespace}/pods/{name}/resize"
        return [Route(path, self.resize, methods=["GET", "PATCH", "PUT"])]

    async def resize(self, request: Request) -> Response:
        """The pod, if nothing about it is to change; else why it keeps what it has."""
        if not self._served.door.view().node.rules.release_rules.pods_are_resized:
            raise Failure(404, words.PATH_UNKNOWN)
        if request.method == "GET":
            record = self._served.record(**request.path_params)
            return forms.of_one(request, self._served.pod(record))
        of = changing.patch_of if request.method == "PATCH" else changing.object_of
        revision, wants = await of(request), field_validation.wanted(request)
        record = self._served.record(**request.path_params)
        shown = self._served.pod(record)
        after, _ = await changing.read(revision, record, shown.value, wants)
        before = changing.as_shown(record.workload, shown.value)
        if not changes.is_changed(before, after):
            return Response(shown.text, media_type=JSON)
        name = record.workload.pod.name
        raise status.unchangeable("Pod", name, [await self._why_not(record, before, after)])

    async def _why_not(
        self, record: PodRecord, before: Workload, after: Workload
    ) -> tuple[str, str]:
        """The field that stays as it is, and why."""
        if before.source is WorkloadSource.FILE:
            return "spec", words.UNCHANGEABLE_FILE
        if not changes.is_resize(before, after):
            return "spec", words.RESIZE_OTHER_FIELDS
        view = self._served.door.view()
        old, new = record.workload.pod, after.pod
        if old.qos_class is not new.qos_class:
            return "spec", words.RESIZE_CLASS
        if old.uid not in view.node.snapshot.pods:
            return _SIZES, words.RESIZE_INACTIVE
        answer = await asyncio.to_thread(resizing.answer, view.node, view.config, old, new)
        if isinstance(answer, Infeasible | Deferred):
            message = kubelet_resizes.message(answer, view.node.rules.release_rules)
            reason = kubelet_resizes.reason(answer)
            return _SIZES, words.RESIZE_REFUSED.format(reason=reason, message=message)
        return _SIZES, words.RESIZE_UNSUPPORTED.format(release=view.node.rules.release.name)
