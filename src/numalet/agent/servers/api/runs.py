"""Commands in the foreground: a pod that its client starts itself; see ``host.runtime.offers``.

The body is a Pod of one container, the query says which process asks. The answer comes after the
decision. With ``dryRun`` nothing is decided for good: the answer is where the pod would go now;
with ``waitMilliseconds`` it is held back until there is a place, for at most so long. What would
not fit on the node without any pod is answered at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.servers.api import requests, status
from numalet.agent.servers.api.field_validation import FieldValidation
from numalet.agent.servers.api.pods import workload_of
from numalet.agent.servers.api.served import OWN_GROUP, Served
from numalet.agent.servers.api.status import Failure, bad_query
from numalet.agent.servers.door import Foreseen, RequestRefused
from numalet.core.enforcement import desired
from numalet.core.model.findings import Findings
from numalet.core.model.value import replace
from numalet.core.workload.record import PodRecord
from numalet.core.workload.spec import Runner, Workload, of_command
from numalet.insight.output import json_schema, run_document
from numalet.insight.output.run_document import RunDocument
from numalet.wording import kubernetes_api as words

LONGEST_WAIT_SECONDS: Final = 30
_RESOURCE: Final = "runs"


class RunsHandler:
    """Handler of ``/apis/numalet.dev/v1alpha1/namespaces/{namespace}/runs``."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        path = f"/apis/{OWN_GROUP}/namespaces/{{namespace}}/{_RESOURCE}"
        return [Route(path, self.create, methods=["POST"])]

    async def create(self, request: Request) -> Response:
        """Decide about a command, or only say what would be decided."""
        workload = await self._workload(request)
        if requests.dry_run(request.query_params.getlist("dryRun")):
            wait = requests.whole_number(request, "waitMilliseconds") or 0
            seconds = min(wait / 1000, LONGEST_WAIT_SECONDS)
            return _answer(await self._preview(workload, seconds))
        runner = _runner(request)
        answer = await self._served.door.create(replace(workload, runner=runner))
        if isinstance(answer, RequestRefused):
            there = self._served.door.view().records.get(workload.uid)
            if there is not None and there.workload.runner == runner:
                # It asks again, having lost the answer.
                return _answer(self._document(self._as_it_is(there)))
            raise status.of_refusal(answer, _RESOURCE, workload.pod.name)
        return _answer(self._document(self._as_it_is(answer)))

    async def _workload(self, request: Request) -> Workload:
        view = self._served.door.view()
        body, namespace = (
            await requests.document_as_it_is(request),
            request.path_params["namespace"],
        )
        workload = workload_of(body, namespace, view, FieldValidation.STRICT, Findings())
        containers = tuple(workload.pod.containers())
        if len(containers) != 1:
            sent = f"a Pod of {len(containers)} containers"
            raise Failure(400, words.KIND_DIFFERS.format(found=sent, expected="a Pod of one"))
        ledger = view.node.snapshot.device
        for name in containers[0].limits:
            # A kubelet admits such a pod without any; a user who asks for a device here wants one.
            if "/" in name and not ledger.is_handled(name):
                known = ", ".join(sorted(ledger.inventory.registered)) or "none"
                raise Failure(422, words.DEVICES_UNKNOWN.format(resource=name, known=known))
        return of_command(workload)

    def _as_it_is(self, record: PodRecord) -> Foreseen:
        return Foreseen(record, self._served.door.view().node)

    async def _preview(self, workload: Workload, wait_seconds: float) -> RunDocument:
        """Where the pod would go, as soon as it would go anywhere or the time is over."""
        door, loop = self._served.door, asyncio.get_running_loop()
        end = loop.time() + wait_seconds
        may_fit: bool | None = None
        while True:
            # Changes are those after the view that was decided on.
            version = door.view().resource_version
            foreseen = self._foreseen(door.foresee_create(workload))
            document = self._document(foreseen, may_fit)
            may_fit = document.fits_when_empty
            changes = door.pod_changes(version)
            left = end - loop.time()
            is_over = document.admitted or not may_fit or left <= 0
            if is_over or isinstance(changes, RequestRefused):
                return document
            await _first(changes, left)

    def _foreseen(self, answer: Foreseen | RequestRefused) -> Foreseen:
        if isinstance(answer, RequestRefused):
            raise status.of_refusal(answer, _RESOURCE, "")
        return answer

    def _document(self, foreseen: Foreseen, may_fit: bool | None = None) -> RunDocument:
        """The answer; ``may_fit`` is whether it fits an empty node, where that is known."""
        view, workload = self._served.door.view(), foreseen.record.workload
        verdict = foreseen.record.run.verdict
        assert verdict is not None
        release = view.node.rules.release.name
        if verdict.admitted:
            pod, node = workload.pod, foreseen.node
            (container,) = pod.containers()
            pages = desired.memory_nodes(
                node.rules.machine.nodes, node.snapshot, pod, container.name
            )
            return run_document.placed(
                pod, node.snapshot, view.level, view.notes, "agent", pages, release=release
            )
        if may_fit is None:
            alone = self._foreseen(self._served.door.foresee_alone(workload)).record.run.verdict
            may_fit = alone is not None and alone.admitted
        said = verdict.reason, verdict.message
        return run_document.refused(workload.pod, *said, may_fit, "agent", release=release)


def _runner(request: Request) -> Runner:
    """The process that asks, as it declares. Raises ``Failure`` if it is none of this machine."""
    pid = requests.whole_number(request, "pid") or 0
    ticks = requests.whole_number(request, "ticks") or 0
    boot = request.query_params.get("boot", "")
    own = process_tree.pid_namespace()
    if (requests.whole_number(request, "pidNamespace") or own) != own:
        # The same id may be that of another process here, which would be waited for, and ended.
        raise Failure(422, words.OTHER_PID_NAMESPACE)
    if pid < 2**31 and process_tree.is_this(pid, ticks, boot):
        return Runner(pid, ticks, boot)
    raise bad_query("pid", str(pid)[:40], "a process that the agent can see is expected")


async def _first(changes: AsyncIterator[Any], seconds: float) -> None:
    """Wait for the first change, so long."""
    try:
        async with asyncio.timeout(seconds):
            await anext(changes, None)
    except TimeoutError:
        return


def _answer(document: RunDocument) -> Response:
    return JSONResponse(json_schema.plain(document))
