"""Pods: list, watch, get, create, delete. A create is answered after the decision."""

from __future__ import annotations

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
from numalet.servers.api import changing, forms, requests, selectors, status, watching
from numalet.servers.api.objects import JSON
from numalet.servers.api.served import Served
from numalet.servers.api.status import Failure
from numalet.servers.api.watching import Step, Watched
from numalet.servers.door import PodChange, Refused
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
            Route(of_one, self.one, methods=["GET", "DELETE", "PATCH"]),
        ]

    async def collection(self, request: Request) -> Response:
        """All pods of a namespace, or one more."""
        return await (self.create if request.method == "POST" else self.list)(request)

    async def one(self, request: Request) -> Response:
        """One pod."""
        handlers = {"DELETE": self.delete, "PATCH": self.patch}
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
        if request.query_params.get("dryRun"):
            raise Failure(400, words.DRY_RUN)
        document = await requests.document(request)
        findings = Findings()
        workload = workload_of(
            document, request.path_params["namespace"], self._served.door.view().node_name, findings
        )
        answer = await self._served.door.create(workload)
        if isinstance(answer, Refused):
            raise status.of_refusal(answer, "pods", workload.pod.name)
        response = Response(self._served.pod(answer).text, 201, media_type=JSON)
        status.warn(response, findings.all)
        return response

    async def patch(self, request: Request) -> Response:
        """The pod, if the patch leaves it as it is."""
        record = self._served.record(**request.path_params)
        pod = self._served.pod(record)
        await changing.check_patch(request, record, pod.value)
        return Response(pod.text, media_type=JSON)

    async def delete(self, request: Request) -> Response:
        """Ask a pod to end and go; the answer shows it as it ends."""
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        record = self._served.record(namespace, name)
        grace, uid = await _deletion(request)
        if uid is not None and uid != record.uid:
            problem = words.UID_DIFFERS.format(asked=uid, found=record.uid)
            raise Failure(409, words.CONFLICT.format(resource="pods", name=name, problem=problem))
        answer = await self._served.door.delete(
            namespace, name, grace_seconds=grace, uid=uid or record.uid
        )
        if isinstance(answer, Refused):
            raise status.of_refusal(answer, "pods", name)
        return Response(self._served.pod(answer).text, media_type=JSON)


async def _steps(
    served: Served, changes: AsyncIterator[PodChange], namespace: str | None
) -> AsyncIterator[Step]:
    async for change in changes:
        record = change.record
        if namespace in (None, record.workload.pod.namespace):
            item = served.pod(record)
            yield Step(change.kind, record.uid, item, change.resource_version)


async def _deletion(request: Request) -> tuple[float | None, str | None]:
    """Grace period and expected uid, from the query and from the body's ``DeleteOptions``."""
    document = await requests.document(request)
    options = document.value if document is not None else {}
    if not isinstance(options, Mapping):
        raise Failure(400, words.KIND_DIFFERS.format(found="a list", expected="DeleteOptions"))
    if options.get("dryRun") or request.query_params.get("dryRun"):
        raise Failure(400, words.DRY_RUN)
    grace: Any = options.get("gracePeriodSeconds")
    asked = requests.whole_number(request, "gracePeriodSeconds")
    grace = asked if asked is not None else grace
    preconditions = options.get("preconditions")
    uid = preconditions.get("uid") if isinstance(preconditions, Mapping) else None
    is_number = isinstance(grace, int) and not isinstance(grace, bool) and 0 <= grace < 2**31
    if grace is not None and not is_number:
        raise status.bad_query("gracePeriodSeconds", str(grace)[:40], "seconds are expected")
    return (None if grace is None else float(grace)), (None if uid is None else str(uid))


def workload_of(
    document: Document | None, namespace: str, node_name: str, findings: Findings
) -> Workload:
    """The workload that a posted object says. Raises ``Failure`` with everything wrong in it.

    ``findings`` gets what the author of the object should know though it is accepted.
    """
    value = None if document is None else document.value
    found = value.get("kind", "Pod") if isinstance(value, Mapping) else type(value).__name__
    if not isinstance(value, Mapping) or found != "Pod" or value.get("apiVersion", "v1") != "v1":
        raise Failure(400, words.KIND_DIFFERS.format(found=str(found)[:80], expected="a v1 Pod"))
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
