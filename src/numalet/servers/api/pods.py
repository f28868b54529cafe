"""Pods: list, watch, get, create, change, delete. A create is answered after the decision."""

from __future__ import annotations

import dataclasses
import random
import string
import uuid
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from numalet.adapters.documents.typed import Place
from numalet.adapters.documents.workload import WorkloadOptions, decode_workload
from numalet.adapters.documents.yaml_source import Document
from numalet.model.findings import Findings
from numalet.servers.api import changing, deleting, forms, requests, selectors, status, watching
from numalet.servers.api.changing import Revision
from numalet.servers.api.objects import JSON
from numalet.servers.api.served import Served
from numalet.servers.api.status import Failure
from numalet.servers.api.watching import Step, Watched
from numalet.servers.door import PodChange, Refusal, Refused
from numalet.wording import kubernetes_api as words
from numalet.workload.spec import Workload

FIELDS: Final = frozenset(
    {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.podIP",
    }
)
_TRIES: Final = 5
"""So often a change is tried anew because something else happened to the pod."""
_LETTERS: Final = string.ascii_lowercase + string.digits


class Pods:
    """Handlers of ``/api/v1/pods`` and ``/api/v1/namespaces/{namespace}/pods``."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        """The paths."""
        of_namespace = "/api/v1/namespaces/{namespace}/pods"
        of_one = f"{of_namespace}/{{name}}"
        return [
            Route("/api/v1/pods", self.list, methods=["GET"]),
            Route(of_namespace, self.collection, methods=["GET", "POST"]),
            Route(of_one, self.one, methods=["GET", "DELETE", "PATCH", "PUT"]),
        ]

    async def collection(self, request: Request) -> Response:
        """All pods of a namespace, or one more."""
        return await (self.create if request.method == "POST" else self.list)(request)

    async def one(self, request: Request) -> Response:
        """One pod."""
        handlers = {"DELETE": self.delete, "PATCH": self.patch, "PUT": self.replace}
        return await handlers.get(request.method, self.get)(request)

    async def list(self, request: Request) -> Response:
        """All pods, or a watch of them."""
        namespace = request.path_params.get("namespace")
        passes = selectors.of_request(request, FIELDS)
        if watching.is_wanted(request):
            return watching.response(request, self._watched(namespace), passes)
        version = self._served.door.view().resource_version
        items = [item for _, item in self._served.pods(namespace) if passes(item.value)]
        return forms.of_list(request, "Pod", "v1", version, items)

    def _watched(self, namespace: str | None) -> Watched:
        served = self._served

        def since(version: int) -> AsyncIterator[Step] | Refused:
            changes = served.door.pod_changes(version)
            if isinstance(changes, Refused):
                return changes
            return _steps(served, changes, namespace)

        return Watched(
            kind="Pod",
            api_version="v1",
            now=lambda: (served.door.view().resource_version, served.pods(namespace)),
            since=since,
        )

    async def get(self, request: Request) -> Response:
        """One pod."""
        record = self._served.record(**request.path_params)
        return forms.of_one(request, self._served.pod(record))

    async def create(self, request: Request) -> Response:
        """Decide about a pod; 201 if it was accepted, whether it may run or not."""
        is_dry = _is_dry(request)
        document = await requests.document(request)
        findings = Findings()
        workload = workload_of(
            document, request.path_params["namespace"], self._served.door.view().node_name, findings
        )
        if is_dry:
            shown = self._served.foreseen(
                self._served.door.foresee_create(workload), workload.pod.name
            )
        else:
            answer = await self._served.door.create(workload)
            if isinstance(answer, Refused):
                raise status.of_refusal(answer, "pods", workload.pod.name)
            shown = self._served.pod(answer)
        response = Response(shown.text, 201, media_type=JSON)
        status.warn(response, findings.all)
        return response

    async def patch(self, request: Request) -> Response:
        """The pod after a patch."""
        return await self._revise(request, await changing.patch_of(request))

    async def replace(self, request: Request) -> Response:
        """The pod, with what the body says in its place."""
        return await self._revise(request, await changing.object_of(request))

    async def _revise(self, request: Request, revision: Revision) -> Response:
        """Let the pod be otherwise; what happened to it meanwhile is no reason to give up."""
        is_dry, name = _is_dry(request), request.path_params["name"]
        for _ in range(_TRIES):
            record = self._served.record(**request.path_params)
            pod = self._served.pod(record)
            revised = await changing.revised(revision, record, pod.value)
            if revised is None:
                return Response(pod.text, media_type=JSON)
            if is_dry:
                after = dataclasses.replace(record, workload=revised.workload)
                return Response(self._served.as_is(after).text, media_type=JSON)
            answer = await self._served.door.revise(
                record.workload, revised.workload, version=revised.version
            )
            if not isinstance(answer, Refused):
                return Response(self._served.pod(answer).text, media_type=JSON)
            if answer.why is not Refusal.CONFLICT:
                raise status.of_refusal(answer, "pods", name)
        raise status.conflict("pods", name, words.VERSION_DIFFERS)

    async def delete(self, request: Request) -> Response:
        """Ask a pod to end and go; the answer shows it as it ends."""
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        record = self._served.record(namespace, name)
        wanted = await deleting.wanted(request)
        wanted.check(record)
        door, grace = self._served.door, wanted.grace_seconds
        if wanted.is_dry:
            foreseen = door.foresee_delete(namespace, name, grace_seconds=grace, uid=record.uid)
            return Response(self._served.foreseen(foreseen, name).text, media_type=JSON)
        answer = await door.delete(namespace, name, grace_seconds=grace, uid=record.uid)
        if isinstance(answer, Refused):
            raise status.of_refusal(answer, "pods", name)
        return Response(self._served.pod(answer).text, media_type=JSON)


def _is_dry(request: Request) -> bool:
    return requests.dry_run(request.query_params.getlist("dryRun"))


async def _steps(
    served: Served, changes: AsyncIterator[PodChange], namespace: str | None
) -> AsyncIterator[Step]:
    async for change in changes:
        record = change.record
        if namespace in (None, record.workload.pod.namespace):
            item = served.pod(record)
            yield Step(change.kind, record.uid, item, change.resource_version)


def workload_of(
    document: Document | None, namespace: str, node_name: str, findings: Findings
) -> Workload:
    """The workload that a posted object says. Raises ``Failure`` with everything wrong in it.

    ``findings`` gets what the author of the object should know though it is accepted.
    """
    value: Mapping[Any, Any] = requests.of_kind(document, "v1", "Pod")
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping):
        if metadata.get("namespace") not in (None, "", namespace):
            raise Failure(400, words.NAMESPACE_DIFFERS)
        if not metadata.get("name") and isinstance(metadata.get("generateName"), str):
            ending = "".join(random.choices(_LETTERS, k=5))  # noqa: S311 - it is no secret
            name = metadata["generateName"] + ending
            value = {**value, "metadata": {**metadata, "name": name}}
    options = WorkloadOptions(uid=str(uuid.uuid4()), namespace=namespace, node_name=node_name)
    workload = decode_workload(value, Place(""), options, findings)
    if workload is None:
        name = str(metadata.get("name", "")) if isinstance(metadata, Mapping) else ""
        raise status.invalid("Pod", name[:253], findings.all)
    return workload
