"""Commands in the foreground over the API: who asks, where it would go, and until when to wait."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

from numalet.agent.host.runtime.shim import process_tree
from numalet.agent.servers.door import RequestRefusal, RequestRefused
from numalet.core.workload.spec import RestartPolicy, WorkloadSource
from numalet.insight.output import run_document
from numalet.insight.output.run_document import RunDocument
from numalet.io.agent_client.client import AgentClient
from servers.pods import pod
from servers.served import Api
from servers.test_api_pods import refused

RUNS = "/apis/numalet.dev/v1alpha1/namespaces/run/runs"
DRY = {"dryRun": "All"}
FULL = "20Gi"
"""Of two nodes with 32Gi each: two such pods leave no room for a third."""


def _us() -> dict[str, Any]:
    """This process, as it tells of itself."""
    own = process_tree.process(os.getpid())
    assert own is not None
    return {"pid": own.pid, "ticks": own.started, "boot": process_tree.boot_id()}


def _asked(client: AgentClient, value: object, query: dict[str, Any]) -> RunDocument:
    return run_document.decode(client.post(RUNS, value, query))


def test_a_command_is_a_pod_that_its_own_process_runs(api: Api, client: AgentClient) -> None:
    value = pod("a", uid="u-1")
    found = _asked(client, value, _us())
    assert (found.admitted, found.numa_nodes, found.decided_by) == (True, [0], "agent")
    (record,) = api.do(lambda door: tuple(door.view().records.values()))
    workload = record.workload
    assert (workload.source, workload.restart_policy) == (WorkloadSource.RUN, RestartPolicy.NEVER)
    assert workload.runner is not None
    assert os.getpid() == workload.runner.pid
    # Whoever lost the answer asks again, and nothing is decided twice.
    assert found == _asked(client, value, _us())
    log = refused(lambda: client.text("/api/v1/namespaces/run/pods/a/log"))
    assert "its output is that of its numalet run" in log.message
    other = refused(lambda: client.post(RUNS, value, _us() | {"pid": os.getppid()}))
    assert other.code in (400, 409)


@pytest.mark.parametrize(
    "change", [{"pid": "0"}, {"pid": "x"}, {"pid": 2**40}, {"ticks": 1}, {"boot": "another"}]
)
def test_only_a_process_that_lives_may_ask(client: AgentClient, change: dict[str, Any]) -> None:
    assert refused(lambda: client.post(RUNS, pod("a"), _us() | change)).code == 400


def test_only_one_container_and_known_devices_are_taken(client: AgentClient) -> None:
    two = pod("a")
    two["spec"]["containers"] *= 2
    two["spec"]["containers"][1] = {**two["spec"]["containers"][1], "name": "other"}
    assert "a Pod of one" in refused(lambda: client.post(RUNS, two, DRY)).message
    device = pod("a")
    device["spec"]["containers"][0]["resources"]["limits"]["example.com/gpu"] = "1"
    answer = refused(lambda: client.post(RUNS, device, DRY))
    assert (
        answer.code,
        answer.message,
    ) == (422, "unknown devices example.com/gpu; known are none")


def test_a_dry_run_says_where_and_keeps_nothing(api: Api, client: AgentClient) -> None:
    assert _asked(client, pod("a"), DRY).admitted
    wide = _asked(client, pod("wide", "40Gi"), DRY | {"waitMilliseconds": 30000})
    assert (
        wide.admitted,
        wide.fits_when_empty,
        wide.reason,
    ) == (False, False, "TopologyAffinityError")
    assert api.do(lambda door: dict(door.view().records)) == {}


def test_an_answer_is_held_back_until_there_is_a_place(api: Api, client: AgentClient) -> None:
    for name in ("a", "b"):
        client.post("/api/v1/namespaces/default/pods", pod(name, FULL))
    full = _asked(client, pod("c", FULL), DRY | {"waitMilliseconds": 1})
    assert (full.admitted, full.fits_when_empty) == (False, True)
    answers: list[RunDocument] = []

    def ask() -> None:
        with api.client() as other:
            answers.append(_asked(other, pod("c", FULL), DRY | {"waitMilliseconds": 20000}))

    asking = threading.Thread(target=ask)
    asking.start()
    asking.join(0.5)
    assert asking.is_alive()
    client.delete("/api/v1/namespaces/default/pods/a", {"gracePeriodSeconds": 0})
    asking.join(120)
    assert [each.admitted for each in answers] == [True]


def test_an_agent_that_only_observes_takes_no_command(api: Api, client: AgentClient) -> None:
    api.do(lambda door: setattr(door, "refusal", RequestRefused(RequestRefusal.OBSERVING)))
    assert refused(lambda: client.post(RUNS, pod("a"), DRY)).code == 403
    assert refused(lambda: client.post(RUNS, pod("a"), _us())).code == 403
