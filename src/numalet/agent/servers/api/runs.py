"""Foreground commands: pods that the client starts itself; see ``host.runtime.offers``.

The body is a Pod with one container; the query identifies the client's process. ``dryRun`` only
predicts; with ``waitMilliseconds`` it waits for a place, unless an empty node would reject the pod.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

from msgspec import structs
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from numalet.agent.findings import run
from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.servers.api import requests, status
from numalet.agent.servers.api.pods import workload_of
from numalet.agent.servers.api.requests import FieldValidation
from numalet.agent.servers.api.served import OWN_GROUP, Served
from numalet.agent.servers.api.status import Failure, bad_query
from numalet.agent.servers.door import Foreseen, RequestRefused
from numalet.core.enforcement import desired
from numalet.core.model import resources
from numalet.core.model.findings import Findings
from numalet.core.model.value import replace
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Runner, Workload, of_command
from numalet.insight.output import json_schema, run_document
from numalet.insight.output.run_document import RunDocument
from numalet.wording import kubernetes_api as words

LONGEST_WAIT_SECONDS: Final = 30
_RESOURCE: Final = "runs"


class RunsHandler:
    def __init__(self, served: Served) -> None:
        self._served = served

    def routes(self) -> list[Route]:
        path = f"/apis/{OWN_GROUP}/namespaces/{{namespace}}/{_RESOURCE}"
        return [Route(path, self.create, methods=["POST"])]

    async def create(self, request: Request) -> Response:
        """Admit a command, or predict the decision."""
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
                # The client lost the first answer and repeats the request.
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
            # A kubelet admits such a pod without devices, which is not useful here.
            if resources.is_device(name) and not ledger.is_handled(name):
                known = ", ".join(sorted(ledger.inventory.registered)) or "none"
                raise Failure(422, words.DEVICES_UNKNOWN.format(resource=name, known=known))
        return of_command(workload)

    def _as_it_is(self, record: PodRecord) -> Foreseen:
        return Foreseen(record, self._served.door.view().node)

    async def _preview(self, workload: Workload, wait_seconds: float) -> RunDocument:
        """Predict a place; wait until there is one or the time is over."""
        door, loop = self._served.door, asyncio.get_running_loop()
        end = loop.time() + wait_seconds
        may_fit: bool | None = None
        while True:
            # Read the version before the decision, so that no change in between is missed.
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
        """Build the answer; ``may_fit`` is a known result for an empty node."""
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
            place = run_document.placed(
                pod, node.snapshot, view.level, view.notes, "agent", pages, release=release
            )
            environment = run_document.variables(place)
            return structs.replace(place, environment=environment, note=str(run.held(place)))
        if may_fit is None:
            alone = self._foreseen(self._served.door.foresee_alone(workload)).record.run.verdict
            may_fit = alone is not None and alone.admitted
        said = verdict.reason, verdict.message
        return run_document.refused(workload.pod, *said, may_fit, "agent", release=release)


def _runner(request: Request) -> Runner:
    """The client's process as declared. Raises ``Failure`` if it does not exist here."""
    pid = requests.whole_number(request, "pid") or 0
    ticks = requests.whole_number(request, "ticks") or 0
    boot = request.query_params.get("boot", "")
    own = process_tree.pid_namespace()
    if (requests.whole_number(request, "pidNamespace") or own) != own:
        # A pid of another namespace may name a different process here, which would be signalled.
        raise Failure(422, words.OTHER_PID_NAMESPACE)
    # Start time and boot id exclude a reused pid.
    if pid < 2**31 and process_tree.is_this(pid, ticks, boot):
        return Runner(pid, ticks, boot)
    raise bad_query("pid", str(pid)[:40], "a process that the agent can see is expected")


async def _first(changes: AsyncIterator[Any], seconds: float) -> None:
    """Wait for the first change, at most this long."""
    try:
        async with asyncio.timeout(seconds):
            await anext(changes, None)
    except TimeoutError:
        return


def _answer(document: RunDocument) -> Response:
    return JSONResponse(json_schema.plain(document))
