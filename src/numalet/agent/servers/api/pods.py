"""Pods: list, watch, get, create, change, delete. A create is answered after the decision."""

from __future__ import annotations

import random
import string
import uuid
from collections.abc import Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from numalet.agent.servers.api import collection, forms, list_options, patches, requests, status
from numalet.agent.servers.api.derived import POD, of_records
from numalet.agent.servers.api.forms import JSON
from numalet.agent.servers.api.patches import Revised
from numalet.agent.servers.api.requests import FieldValidation
from numalet.agent.servers.api.served import Served
from numalet.agent.servers.api.status import Failure
from numalet.agent.servers.door import AgentView, RequestRefusal, RequestRefused
from numalet.core.model.findings import Findings, Severity
from numalet.core.model.value import Value, replace
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload
from numalet.io.documents.pods.workload import WorkloadOptions, decode_workload
from numalet.io.documents.text.typed import Place
from numalet.io.documents.text.yaml_source import YamlDocument
from numalet.wording import kubernetes_api as words

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
EVICTIONS: Final = ("policy/v1", "policy/v1beta1")
_TRIES: Final = 5
"""How often a patch is retried after concurrent changes."""
_LETTERS: Final = string.ascii_lowercase + string.digits


class DeleteOptions(Value):
    """``grace_seconds`` defaults to the pod's period; unset ``uid`` and ``version`` match any."""

    grace_seconds: float | None
    uid: str | None
    version: str | None
    is_dry: bool

    def check(self, record: PodRecord) -> None:
        """Raise ``Failure`` 409 if the preconditions name another pod."""
        name = record.workload.pod.name
        if self.uid not in (None, record.uid):
            problem = words.UID_DIFFERS.format(asked=self.uid, found=record.uid)
            raise status.conflict("pods", name, problem)
        if self.version not in (None, str(record.resource_version)):
            raise status.conflict("pods", name, words.VERSION_DIFFERS)


async def delete_options(request: Request) -> DeleteOptions:
    """Raises ``Failure``."""
    document = await requests.document(request)
    return of_options(request, document.value if document is not None else {})


def of_options(request: Request, options: object) -> DeleteOptions:
    """Merge body and query. Raises ``Failure``."""
    if not isinstance(options, Mapping):
        raise Failure(400, words.KIND_DIFFERS.format(found="a list", expected="DeleteOptions"))
    in_body = options.get("dryRun")
    dry = [*(in_body if isinstance(in_body, list) else [in_body])]
    conditions = options.get("preconditions")
    given = conditions if isinstance(conditions, Mapping) else {}
    uid, version = given.get("uid"), given.get("resourceVersion")
    return DeleteOptions(
        grace_seconds=_grace_seconds(request, options),
        uid=None if uid is None else str(uid),
        version=None if version is None else str(version),
        is_dry=requests.dry_run([*dry, *request.query_params.getlist("dryRun")]),
    )


def _grace_seconds(request: Request, options: Mapping[Any, Any]) -> float | None:
    asked = requests.whole_number(request, "gracePeriodSeconds")
    grace = asked if asked is not None else options.get("gracePeriodSeconds")
    # In Python a bool is an int, but JSON true is not a number of seconds.
    is_number = isinstance(grace, int) and not isinstance(grace, bool) and 0 <= grace < 2**31
    if grace is not None and not is_number:
        raise status.bad_query("gracePeriodSeconds", str(grace)[:40], "seconds are expected")
    return None if grace is None else float(grace)


class Pods:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        of_namespace = "/api/v1/namespaces/{namespace}/pods"
        of_one = f"{of_namespace}/{{name}}"
        return [
            Route("/api/v1/pods", self.list, methods=["GET"]),
            Route(of_namespace, self.collection, methods=["GET", "POST"]),
            Route(of_one, self.one, methods=["GET", "DELETE", "PATCH"]),
            Route(f"{of_one}/eviction", self.evict, methods=["POST"]),
        ]

    async def collection(self, request: Request) -> Response:
        return await (self.create if request.method == "POST" else self.list)(request)

    async def one(self, request: Request) -> Response:
        handlers = {"DELETE": self.delete, "PATCH": self.patch}
        return await handlers.get(request.method, self.get)(request)

    async def list(self, request: Request) -> Response:
        namespace = request.path_params.get("namespace")
        passes = list_options.selector_of(request, FIELDS)
        return await collection.response(request, of_records(self._served, namespace, POD), passes)

    async def get(self, request: Request) -> Response:
        record = self._served.record(**request.path_params)
        return forms.of_one(request, self._served.pod(record))

    async def create(self, request: Request) -> Response:
        """Admit or reject a pod; 201 in both cases."""
        is_dry = _is_dry(request)
        wants = requests.field_validation(request)
        document = await requests.document_as_it_is(request)
        findings = Findings()
        namespace, view = request.path_params["namespace"], self._served.door.view()
        workload = await requests.read_out(
            request, lambda: workload_of(document, namespace, view, wants, findings)
        )
        if is_dry:
            foreseen = await requests.read_out(
                request, lambda: self._served.door.foresee_create(workload)
            )
            shown = self._served.foreseen(foreseen, workload.pod.name)
        else:
            answer = await self._served.door.create(workload)
            if isinstance(answer, RequestRefused):
                raise status.of_refusal(answer, "pods", workload.pod.name)
            shown = self._served.pod(answer)
        response = Response(shown.text, 201, media_type=JSON)
        unknown = requests.field_warnings(wants, findings.all)
        others = status.warnings(requests.other_findings(findings.all))
        status.warn(response, [*unknown, *others])
        return response

    async def patch(self, request: Request) -> Response:
        """Patch a pod; retry if it changes concurrently."""
        patch = await patches.patch_of(request)
        is_dry, name = _is_dry(request), request.path_params["name"]
        wants = requests.field_validation(request)
        # A record changes with every container event, so a patch may lose the race a few times.
        for _ in range(_TRIES):
            record = self._served.record(**request.path_params)
            pod = self._served.pod(record)
            revised = await patches.revised(patch, record, pod.value, wants)
            # As in a kube-apiserver, an empty patch writes nothing and keeps the version.
            if revised.workload is None:
                return _revised(pod.text, revised)
            if is_dry:
                after = replace(record, workload=revised.workload)
                return _revised(self._served.as_is(after).text, revised)
            answer = await self._served.door.revise(
                record.workload, revised.workload, version=revised.version
            )
            if not isinstance(answer, RequestRefused):
                return _revised(self._served.pod(answer).text, revised)
            if answer.why is not RequestRefusal.CONFLICT:
                raise status.of_refusal(answer, "pods", name)
        raise status.conflict("pods", name, words.VERSION_DIFFERS)

    async def delete(self, request: Request) -> Response:
        """Start the deletion; the response shows the pod in its present state."""
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        return await self._delete(namespace, name, await delete_options(request))

    async def evict(self, request: Request) -> Response:
        """Delete a pod for ``kubectl drain``. The agent has no disruption budgets.

        Kubernetes v1.32: ``registry/core/pod/storage.EvictionREST``.
        """
        namespace, name = request.path_params["namespace"], request.path_params["name"]
        value = requests.of_kinds(await requests.document(request), EVICTIONS, "Eviction")
        metadata = value.get("metadata")
        given = metadata if isinstance(metadata, Mapping) else {}
        if given.get("name") not in (None, "", name):
            sent = str(given.get("name"))[:253]
            raise Failure(400, words.NAME_DIFFERS.format(found=sent, expected=name))
        if given.get("namespace") not in (None, "", namespace):
            raise Failure(400, words.NAMESPACE_DIFFERS)
        options = value.get("deleteOptions")
        wanted = of_options(request, {} if options is None else options)
        await self._delete(namespace, name, wanted)
        return JSONResponse(status.success(), 201)

    async def _delete(self, namespace: str, name: str, wanted: DeleteOptions) -> Response:
        record = self._served.record(namespace, name)
        wanted.check(record)
        door, grace = self._served.door, wanted.grace_seconds
        if wanted.is_dry:
            foreseen = door.foresee_delete(namespace, name, grace_seconds=grace, uid=record.uid)
            return Response(self._served.foreseen(foreseen, name).text, media_type=JSON)
        answer = await door.delete(namespace, name, grace_seconds=grace, uid=record.uid)
        if isinstance(answer, RequestRefused):
            raise status.of_refusal(answer, "pods", name)
        return Response(self._served.pod(answer).text, media_type=JSON)


def _revised(text: bytes, revised: Revised) -> Response:
    response = Response(text, media_type=JSON)
    status.warn(response, revised.warnings)
    return response


def _is_dry(request: Request) -> bool:
    return requests.dry_run(request.query_params.getlist("dryRun"))


def workload_of(
    document: YamlDocument | None,
    namespace: str,
    view: AgentView,
    wants: FieldValidation,
    findings: Findings,
) -> Workload:
    """Parse the workload of a posted object. Raises ``Failure`` with all problems.

    ``findings`` receives warnings about an accepted object.
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
    options = WorkloadOptions(
        uid=str(uuid.uuid4()),
        namespace=namespace,
        node_name=view.node_name,
        behaviour=view.node.rules.behaviour,
        unknown_fields=Severity.WARNING,
    )
    if document is not None:
        # Whether duplicates are refused depends on ``fieldValidation``.
        findings.extend(each.of_severity(Severity.WARNING) for each in document.duplicates)
    workload = decode_workload(value, Place(""), options, findings)
    name = str(metadata.get("name", ""))[:253] if isinstance(metadata, Mapping) else ""
    requests.check_body(wants, findings.all)
    if workload is None:
        raise status.invalid("Pod", name, findings.all)
    return workload
