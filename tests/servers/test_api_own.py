"""Our own objects, the node, namespaces, health and the configuration, over a real socket."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest

from numalet.agent.servers.api import own
from numalet.agent.servers.door import OwnershipMode
from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.enforcement.comparison import Audit
from numalet.core.model.pod import ContainerKey
from numalet.io.agent_client.client import AgentClient
from numalet.shared.kubernetes.node_object import Unready
from servers import views
from servers.memory_door import MemoryDoor
from servers.pods import pod
from servers.served import Api
from servers.test_api_pods import refused

OWN = "/apis/numalet.dev/v1alpha1"
PODS = "/api/v1/namespaces/default/pods"
GI = 1 << 30


def _audit(misplaced: int) -> Audit:
    return Audit(
        at=datetime(2026, 1, 2, tzinfo=UTC),
        pages_bytes={"memory": {0: GI, 1: misplaced}},
        memory_nodes=(0,),
        misplaced_bytes=misplaced,
        stray_cpus=frozenset(),
        stray_nodes=(),
    )


def test_a_placement_shows_promise_and_reality(api: Api, client: AgentClient) -> None:
    uid = client.post(PODS, pod("a", labels={"app": "web"}))["metadata"]["uid"]
    path = f"{OWN}/namespaces/default/podplacements/a"
    found = client.get(path)
    assert (found["numaNodes"], found["memory"]) == ([0], {"memory": 4 * GI})
    assert found["cpus"].count(",") <= 1
    assert found["aligned"] is None
    api.do(lambda door: door.change(audits={ContainerKey(uid, "c"): _audit(4096)}))
    found = client.get(path)
    assert (found["aligned"], found["misplacedBytes"]) == (False, 4096)
    (container,) = found["containers"]
    assert container["audit"]["bytesByNumaNode"] == {"memory": {"0": GI, "1": 4096}}
    assert found["metadata"]["labels"] == {"app": "web"}


def test_a_refused_pod_has_no_placement(client: AgentClient) -> None:
    client.post(PODS, pod("wide", "40Gi"))
    (found,) = client.get(f"{OWN}/podplacements")["items"]
    assert (found["status"], found["numaNodes"], found["cpus"]) == ("TopologyAffinityError", [], "")
    named = {"fieldSelector": "metadata.name=other"}
    assert client.get(f"{OWN}/namespaces/default/podplacements", named)["items"] == []


def test_the_state_of_the_node_is_the_node_state(api: Api, client: AgentClient) -> None:
    uid = client.post(PODS, pod("a"))["metadata"]["uid"]
    api.do(lambda door: door.change(audits={ContainerKey(uid, "c"): _audit(0)}))
    state = client.get(f"{OWN}/nodestates/node7")
    assert (state["standing"], state["guarantee"]) == ("enforcing", "process")
    first = state["numaNodes"][0]
    assert first["memory"]["memory"]["reservedBytes"] == 4 * GI
    assert (first["group"], first["assignments"]) == ([0], 1)
    (holder,) = state["holders"]
    assert (holder["pod"], holder["memory"][0]["sizeBytes"]) == ("default/a", 4 * GI)
    assert state["cpus"][0]["reserved"]
    assert list(state["cpus"][0]["exclusive"]) == [uid]
    assert state["audits"][0]["podUID"] == uid
    (listed,) = client.get(f"{OWN}/nodestates")["items"]
    assert listed["metadata"]["name"] == "node7"
    nobody = {"fieldSelector": "metadata.name=x"}
    assert client.get(f"{OWN}/nodestates", nobody)["items"] == []
    assert refused(client.get, f"{OWN}/nodestates/other").code == 404


def test_an_explanation_tells_of_a_pod_that_is_only_asked_about(client: AgentClient) -> None:
    told = client.post(f"{OWN}/namespaces/default/explanations", pod("wide", "40Gi"))
    assert (told["admitted"], told["reason"]) == (False, "TopologyAffinityError")
    assert told["would_admit"] == []
    assert client.get(PODS)["items"] == []


def test_an_explanation_searches_for_what_would_admit_within_its_budget(
    client: AgentClient,
) -> None:
    client.post(PODS, pod("wide", "40Gi"))
    path = f"{OWN}/namespaces/default/pods/wide/explanation"
    told = client.get(path, {"budgetSeconds": 5})
    assert any(tally["offers"] for tally in told["would_admit"])


def test_a_stored_pod_is_explained_as_if_it_asked_now(client: AgentClient) -> None:
    client.post(PODS, pod("a", "30Gi"))
    told = client.get(f"{OWN}/namespaces/default/pods/a/explanation")
    assert told["admitted"]
    assert told["allocated"][0]["memory"][0]["nodes"] == [0]
    assert refused(client.get, f"{OWN}/namespaces/default/pods/b/explanation").code == 404


def test_only_so_many_explanations_are_worked_out_at_once(
    client: AgentClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "MOST_EXPLANATIONS_AT_ONCE", 0)
    busy = refused(client.post, f"{OWN}/namespaces/default/explanations", pod("a"))
    assert (busy.code, busy.reason) == (429, "TooManyRequests")


def test_the_node_is_the_only_one(client: AgentClient) -> None:
    (node,) = client.get("/api/v1/nodes")["items"]
    assert node["metadata"]["name"] == "node7"
    assert client.get("/api/v1/nodes/node7")["kind"] == "Node"
    assert refused(client.get, "/api/v1/nodes/other").message == 'nodes "other" not found'


def test_namespaces_are_those_of_pods(client: AgentClient) -> None:
    client.post("/api/v1/namespaces/other/pods", pod("a"))
    names = [each["metadata"]["name"] for each in client.get("/api/v1/namespaces")["items"]]
    assert names == ["default", "other"]
    assert client.get("/api/v1/namespaces/other")["status"] == {"phase": "Active"}
    assert refused(client.get, "/api/v1/namespaces/none").code == 404


def test_an_event_can_be_read_alone(client: AgentClient) -> None:
    client.post(PODS, pod("wide", "40Gi"))
    (event,) = client.get("/api/v1/events")["items"]
    name = event["metadata"]["name"]
    assert client.get(f"/api/v1/namespaces/default/events/{name}") == event
    assert refused(client.get, "/api/v1/namespaces/default/events/none").code == 404


def test_events_are_a_kubelets_in_exact_mode_alone(api: Api, client: AgentClient) -> None:
    client.post(PODS, pod("wide", "40Gi"))
    for standing, native, component in (
        (OwnershipMode.ENFORCING, False, "kubelet"),
        (OwnershipMode.OBSERVING, False, "numalet"),
        (OwnershipMode.ENFORCING, True, "numalet"),
    ):
        api.do(partial(_stands, standing=standing, native=native))
        (event,) = client.get("/api/v1/events")["items"]
        assert component == event["source"]["component"] == event["reportingComponent"]


def _stands(door: MemoryDoor, *, standing: OwnershipMode, native: bool) -> None:
    node = door.view().node
    behaviour = NATIVE if native else EXACT
    rules = replace(node.rules, behaviour=behaviour)
    door.change(standing=standing, node=replace(node, roster=replace(node.roster, rules=rules)))


def test_health_and_readiness(api: Api, client: AgentClient) -> None:
    assert client.text("/healthz") == client.text("/livez") == client.text("/readyz") == "ok"
    assert client.text("/livez", {"verbose": ""}) == "[+]ping ok\nlivez check passed\n"
    api.do(lambda door: door.change(unready=Unready.STATE_UNWRITABLE))
    for path in ("/healthz", "/readyz"):
        failed = refused(client.text, path)
        assert failed.code == 500
        assert "[-]node-state failed: reason withheld\n" in failed.message
    assert client.text("/livez") == "ok"
    assert _ready(client) == ("False", "NodeStateNotWritable")


@pytest.mark.parametrize(
    ("unready", "check"), [(Unready.STARTING, "sources"), (Unready.STOPPING, "shutdown")]
)
def test_an_agent_that_begins_or_ends_is_healthy_and_not_ready(
    api: Api, client: AgentClient, unready: Unready, check: str
) -> None:
    api.do(lambda door: door.change(unready=unready))
    assert client.text("/healthz") == "ok"
    assert f"[-]{check} failed: reason withheld" in refused(client.text, "/readyz").message
    assert _ready(client) == ("False", unready.value)


def test_an_observing_agent_is_well_and_its_node_takes_no_pods(
    api: Api, client: AgentClient
) -> None:
    api.do(lambda door: door.change(unready=Unready.OBSERVING))
    assert client.text("/healthz") == client.text("/readyz") == "ok"
    assert _ready(client) == ("False", "AgentObserves")


def _ready(client: AgentClient) -> tuple[str, str]:
    (node,) = client.get("/api/v1/nodes")["items"]
    (ready,) = (each for each in node["status"]["conditions"] if each["type"] == "Ready")
    return ready["status"], ready["reason"]


def test_the_configuration_in_force_is_shown_as_by_a_kubelet(client: AgentClient) -> None:
    shown = client.get("/configz")["kubeletconfig"]
    assert shown["memoryManagerPolicy"] == "Static"
    assert shown["reservedMemory"] == [{"numaNode": 0, "limits": {"memory": "1Gi"}}]
    assert shown["cpuCFSQuotaPeriod"] == "100ms"
    assert shown["kubeReserved"] == {"cpu": "1", "memory": "1Gi"}
    assert "topologyManagerPolicyOptions" not in shown
    assert views.CONFIG.memory_manager_policy == "Static"


def test_metrics_are_served_as_text(client: AgentClient) -> None:
    client.post(PODS, pod("a"))
    page = client.text("/metrics")
    assert "\nkubelet_memory_manager_pinning_requests_total 1.0\n" in page
