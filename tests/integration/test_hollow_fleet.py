"""A fleet of hollow nodes beside an API server on a real socket: it stores what they did."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from numalet.cluster.hollow.fleet_members import FleetOptions, StateFolder
from numalet.cluster.hollow.publishing import HollowPublisher
from numalet.core.cluster import published
from numalet.core.config.releases import table as releases
from numalet.core.model.findings import BadInput, Location
from numalet.core.workload.records import EventKind
from numalet.io.documents.cluster import numa_node
from numalet.shared.kubernetes import node_resource_topology
from numalet.shared.publish import node_view
from running import fake_api_server, hollow_fleets
from running.fake_api_server import Ending, FakeApiServer
from running.fake_api_store import Plain, Target
from running.hollow_fleets import RunningFleet
from values import hollow_pods

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
NUMA_NODES = "/apis/numalet.dev/v1alpha1/numanodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
EVENTS = "/api/v1/namespaces/default/events"


def bind(server: FakeApiServer, name: str, node: str = "hollow-0", **given: Any) -> None:
    """Store a pod that is bound to a node, as a scheduler leaves it."""
    server.put(f"{PODS}/{name}", hollow_pods.document(name, node, **given))


def stored(server: FakeApiServer, path: str) -> Plain:
    return server.store.one(Target.of(path))


def delete(server: FakeApiServer, name: str, grace_seconds: int = 30) -> None:
    """Ask for the deletion of a pod, as the API server does for a client."""
    value = stored(server, f"{PODS}/{name}")
    metadata = {
        **value["metadata"],
        "deletionTimestamp": "2030-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": grace_seconds,
    }
    server.put(f"{PODS}/{name}", {**value, "metadata": metadata})


def names(server: FakeApiServer, path: str) -> set[str]:
    return {name for _, name in server.store.objects.get(Target.of(path).kind, {})}


def phase(server: FakeApiServer, name: str) -> str:
    return str(stored(server, f"{PODS}/{name}")["status"].get("phase"))


def assert_as_published(server: FakeApiServer, fleet: RunningFleet) -> None:
    """Every object says what its node has in its own ledgers."""
    for name in fleet.fleet.members:
        read = numa_node.decode(applied(server, name), Location(name))
        assert read.state == published.of_node(fleet.node(name)), name


def applied(server: FakeApiServer, node: str) -> Plain:
    """The NumaNode as it was applied last, which is what a real server has then."""
    path = f"{NUMA_NODES}/{node}"
    bodies = (each.body for each in reversed(server.requests) if each.path == path)
    value: Plain = json.loads(next(bodies))
    return value


async def test_nodes_register_with_lease_and_state() -> None:
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access()) as fleet,
    ):
        node = stored(server, f"{NODES}/hollow-1")
        assert node["status"]["allocatable"][hollow_pods.GPU] == "8"
        assert node["metadata"]["labels"]["numalet.dev/hollow"] == "hollow"
        lease = stored(server, f"{LEASES}/hollow-1")
        assert lease["spec"]["holderIdentity"] == "hollow-1"
        assert lease["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
        assert names(server, NUMA_NODES) == {"hollow-0", "hollow-1"}
        assert len(names(server, "/apis/numalet.dev/v1alpha1/numanodeclasses")) == 1
        assert_as_published(server, fleet)


async def test_topologies_are_those_of_an_agent_where_they_are_asked_for() -> None:
    made = partial(HollowPublisher, has_topology=True, topology_between_seconds=0.05)
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), make_publisher=made) as fleet,
    ):
        bind(server, "four", gpu="4", cpu="4")
        await fleet.until(lambda: bool(fleet.phases()))
        await fleet.settled()
        node = fleet.node("hollow-0")
        expected = node_view.view_of_node(
            node, hollow_pods.config(), node.snapshot.pods.values()
        ).topology
        stored_one = stored(server, f"{TOPOLOGIES}/hollow-0")
        assert expected is not None
        assert {key: stored_one[key] for key in expected} == expected
        assert stored_one["metadata"]["ownerReferences"][0]["name"] == "hollow-0"
        (gpus,) = (
            each["available"]
            for each in stored_one["zones"][0]["resources"]
            if each["name"] == hollow_pods.GPU
        )
        assert gpus == "0"


@pytest.mark.parametrize(("release", "listed"), [("1.33", ["job"]), ("1.34", [])])
async def test_the_fingerprint_is_of_the_pods_that_the_release_lists(
    release: str, listed: list[str]
) -> None:
    """A kubelet before 1.34 lists pods that have ended, until they are deleted."""
    made = partial(HollowPublisher, has_topology=True, topology_between_seconds=0.05)
    kind = hollow_fleets.gpu_kind(releases.of_name(release))
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), 1, [kind], make_publisher=made) as fleet,
    ):

        def fingerprint() -> str:
            attributes = stored(server, f"{TOPOLOGIES}/hollow-0")["attributes"]
            (value,) = (
                each["value"]
                for each in attributes
                if each["name"] == "nodeTopologyPodsFingerprint"
            )
            assert isinstance(value, str)
            return value

        bind(server, "job", notes={"numalet.dev/runs-for": "1s"}, cpu="4")
        await fleet.until(lambda: fingerprint() == fingerprint_of("job"))
        await fleet.until(lambda: stored(server, f"{PODS}/job")["status"]["phase"] == "Succeeded")
        await fleet.settled()
        assert fingerprint() == fingerprint_of(*listed)
        delete(server, "job", grace_seconds=0)
        await fleet.until(lambda: fingerprint() == fingerprint_of())


def fingerprint_of(*names: str) -> str:
    return node_resource_topology.fingerprint(("default", name) for name in names)


async def test_topologies_alone_are_published_without_the_states() -> None:
    made = partial(HollowPublisher, has_numa_node=False, has_topology=True)
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), make_publisher=made),
    ):
        assert names(server, TOPOLOGIES) == {"hollow-0", "hollow-1"}
        assert names(server, NUMA_NODES) == set()


def is_admitted(fleet: RunningFleet, name: str) -> bool:
    return fleet.phases().get(name) == "admitted"


async def split_in_two_processes(server: FakeApiServer, state: Path | None) -> tuple[Any, Any]:
    """What a node holds before and after its process ended, where a pod that is gone left room."""

    def options() -> FleetOptions:
        folder = None if state is None else StateFolder(state)
        return replace(hollow_fleets.QUICK, state=folder)

    async with hollow_fleets.running(server.access(), 1, options=options()) as fleet:
        for name in ("one", "two", "three"):
            bind(server, name, gpu="2", cpu="2")
            await fleet.until(partial(is_admitted, fleet, name))
        await fleet.settled()
        delete(server, "one", grace_seconds=0)
        await fleet.until(lambda: "one" not in fleet.phases())
        await fleet.settled()
        before = published.of_node(fleet.node("hollow-0").release_stale())
    async with hollow_fleets.running(server.access(), 1, options=options()) as fleet:
        await fleet.until(lambda: fleet.phases() == {"two": "admitted", "three": "admitted"})
        await fleet.settled()
        after = published.of_node(fleet.node("hollow-0").release_stale())
        assert phase(server, "two") == "Running"
        assert_as_published(server, fleet)
    return before, after


async def test_a_fleet_that_begins_again_with_its_state_files_holds_what_it_held(
    tmp_path: Path,
) -> None:
    async with fake_api_server.running() as server:
        before, after = await split_in_two_processes(server, tmp_path)
        assert after.pods == before.pods
        assert after.shared_cpus == before.shared_cpus
        assert after.memory == before.memory
        assert "cpu_manager_state" in {each.name for each in (tmp_path / "hollow-0").iterdir()}


async def test_without_state_files_pods_get_what_they_would_get_today() -> None:
    async with fake_api_server.running() as server:
        before, after = await split_in_two_processes(server, None)
        assert after.pods.keys() == before.pods.keys()
        assert after.shared_cpus != before.shared_cpus


async def test_a_kubelet_that_does_not_start_on_its_state_files_stays_down(tmp_path: Path) -> None:
    folder = tmp_path / "hollow-0"
    folder.mkdir()
    (folder / "cpu_manager_state").write_text("{}")
    options = replace(hollow_fleets.QUICK, state=StateFolder(tmp_path))
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), 1, options=options) as fleet,
    ):
        assert any("hollow-0: its kubelet does not start again" in each for each in fleet.said)
        assert not fleet.fleet.members["hollow-0"].life.is_up


async def test_state_files_that_can_not_be_written_are_said(tmp_path: Path) -> None:
    (tmp_path / "hollow-0").write_text("no folder")
    options = replace(hollow_fleets.QUICK, state=StateFolder(tmp_path))
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), 1, options=options) as fleet,
    ):
        bind(server, "one", gpu="2", cpu="2")
        await fleet.until(lambda: fleet.phases() == {"one": "admitted"})
        assert any(each.startswith("hollow-0: ") for each in fleet.said)


async def test_bound_pods_run_or_are_rejected_and_the_state_follows() -> None:
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access()) as fleet,
    ):
        bind(server, "four", gpu="4", cpu="4")
        bind(server, "eight", gpu="8", cpu="8")
        bind(server, "elsewhere", "other", gpu="1")
        await fleet.until(lambda: len(fleet.phases()) == 2)
        await fleet.settled()
        assert fleet.phases() == {"four": "admitted", "eight": "TopologyAffinityError"}
        assert phase(server, "four") == "Running"
        rejected = stored(server, f"{PODS}/eight")["status"]
        assert rejected["reason"] == "TopologyAffinityError"
        assert rejected["message"].startswith("Pod was rejected: ")
        assert phase(server, "elsewhere") == "Pending"
        assert_as_published(server, fleet)
        events = server.store.objects[Target.of(EVENTS).kind].values()
        assert {each["reason"] for each in events} == {
            *("Created", "Started", "TopologyAffinityError")
        }


@pytest.mark.parametrize(
    "path", [f"{NUMA_NODES}/hollow-0", f"{PODS}/one/status"], ids=["state of a node", "status"]
)
async def test_what_a_server_refuses_that_has_just_started_is_written_later(path: str) -> None:
    async with fake_api_server.running() as server, hollow_fleets.running(server.access()) as fleet:
        server.refused[path] = 403
        before = len(server.requests)
        bind(server, "one", gpu="4")
        await fleet.until(lambda: path in {each.path for each in server.requests[before:]})
        del server.refused[path]
        before = len(server.requests)
        await fleet.settled()

        assert path in {each.path for each in server.requests[before:]}
        assert phase(server, "one") == "Running"
        assert_as_published(server, fleet)


async def test_a_pod_that_was_there_before_is_admitted_at_the_start() -> None:
    async with fake_api_server.running() as server:
        bind(server, "early", gpu="2")
        async with hollow_fleets.running(server.access()) as fleet:
            assert fleet.phases() == {"early": "admitted"}
            assert phase(server, "early") == "Running"


async def test_a_pod_ends_when_its_time_is_over() -> None:
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access()) as fleet,
    ):
        bind(server, "short", notes={"numalet.dev/runs-for": "100ms"}, gpu="4")
        await fleet.until(lambda: phase(server, "short") == "Succeeded")
        await fleet.settled()
        assert_as_published(server, fleet)


async def test_a_deleted_pod_is_released_and_gone() -> None:
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access()) as fleet,
    ):
        bind(server, "job", gpu="4")
        await fleet.until(lambda: phase(server, "job") == "Running")
        delete(server, "job")
        await fleet.until(lambda: "job" not in names(server, PODS) and not fleet.phases())
        last = [each for each in server.requests if each.method == "DELETE"]
        assert b'"gracePeriodSeconds":0' in last[0].body
        await fleet.settled()
        assert_as_published(server, fleet)


async def test_only_the_events_that_are_wanted_are_written() -> None:
    options = FleetOptions(events=frozenset({EventKind.WARNING}))
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), options=options) as fleet,
    ):
        bind(server, "four", gpu="4")
        bind(server, "eight", gpu="8")
        await fleet.until(lambda: len(names(server, EVENTS)) == 1 and len(fleet.phases()) == 2)
        await fleet.settled()
        (event,) = server.store.objects[Target.of(EVENTS).kind].values()
        assert (event["reason"], event["source"]) == (
            "TopologyAffinityError",
            {"component": "kubelet", "host": "hollow-0"},
        )


async def test_the_taint_of_new_nodes_is_taken_off_if_asked_for() -> None:
    options = FleetOptions(untaints=True)
    async with fake_api_server.running() as server:
        other = {"key": "own", "effect": "NoSchedule"}
        taints = [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}, other]
        labels = {"numalet.dev/hollow": "hollow"}
        server.put(
            f"{NODES}/hollow-0", {"metadata": {"labels": labels}, "spec": {"taints": taints}}
        )
        async with hollow_fleets.running(server.access(), 1, options=options):
            assert stored(server, f"{NODES}/hollow-0")["spec"]["taints"] == [other]


async def test_a_real_node_is_never_taken_over() -> None:
    async with fake_api_server.running() as server:
        server.put(f"{NODES}/hollow-1", {"metadata": {"labels": {}}, "status": {}})
        with pytest.raises(BadInput) as bad:
            async with hollow_fleets.running(server.access()):
                pass
        assert [each.code for each in bad.value.findings] == ["input/duplicate"]
        assert stored(server, f"{NODES}/hollow-1")["status"] == {}


async def test_a_rebooted_node_starts_its_pods_again_on_what_they_had() -> None:
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access()) as fleet,
    ):
        bind(server, "job", spec={"restartPolicy": "Always"}, gpu="4", cpu="3")
        await fleet.until(lambda: phase(server, "job") == "Running")
        held = published.of_node(fleet.node("hollow-0")).pods
        annotate(server, "hollow-0", "reboot")
        await fleet.until(lambda: fleet.fleet.members["hollow-0"].boots == 2)
        await fleet.settled()
        (status,) = stored(server, f"{PODS}/job")["status"]["containerStatuses"]
        assert status["restartCount"] == 1
        # So that it can be asked for again.
        await fleet.until(
            lambda: not stored(server, f"{NODES}/hollow-0")["metadata"]["annotations"]
        )
        kept = published.of_node(fleet.node("hollow-0")).pods
        assert {uid: each.containers[0].held for uid, each in kept.items()} == {
            uid: each.containers[0].held for uid, each in held.items()
        }
        assert_as_published(server, fleet)


def annotate(server: FakeApiServer, node: str, fault: str) -> None:
    value = stored(server, f"{NODES}/{node}")
    metadata = {**value["metadata"], "annotations": {"numalet.dev/hollow-fault": fault}}
    server.put(f"{NODES}/{node}", {**value, "metadata": metadata})


async def test_a_node_that_lies_publishes_an_empty_one_until_it_recovers() -> None:
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access()) as fleet,
    ):
        bind(server, "job", gpu="4")
        await fleet.until(lambda: phase(server, "job") == "Running")
        await fleet.settled()
        annotate(server, "hollow-0", "lie")
        await fleet.until(lambda: not pods_published(server))
        assert len(fleet.node("hollow-0").snapshot.pods) == 1
        annotate(server, "hollow-0", "")
        await fleet.until(lambda: pods_published(server) == 1)
        assert_as_published(server, fleet)


def pods_published(server: FakeApiServer) -> int:
    return int(applied(server, "hollow-0")["spec"].get("pods", 0))


async def test_a_lost_node_does_nothing_until_it_recovers() -> None:
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access()) as fleet,
    ):
        annotate(server, "hollow-0", "lose")
        await fleet.until(lambda: fleet.fleet.members["hollow-0"].is_lost)
        bind(server, "late", gpu="4")
        bind(server, "other", "hollow-1", gpu="4")
        await fleet.until(lambda: phase(server, "other") == "Running")
        assert phase(server, "late") == "Pending"
        annotate(server, "hollow-0", "")
        await fleet.until(lambda: phase(server, "late") == "Running")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_whatever_becomes_of_the_watch_the_fleet_does_what_the_server_has(
    seed: int,
) -> None:
    """Pods come and go while watches end in every way; at the end nothing is missed or made up."""
    rng = random.Random(seed)
    endings = [each for each in Ending if each is not Ending.HALF_OPEN]
    async with (
        fake_api_server.running() as server,
        hollow_fleets.running(server.access(), 3) as fleet,
    ):
        for number in range(40):
            gpus = str(rng.choice([1, 2, 4, 8]))
            bind(server, f"pod-{number}", f"hollow-{rng.randrange(3)}", gpu=gpus)
            there = sorted(names(server, PODS))
            if there and rng.random() < 0.5:
                gone = rng.choice(there)
                server.remove(f"{PODS}/{gone}")
            if rng.random() < 0.2:
                await server.strike(rng.choice(endings))
            if rng.random() < 0.3:
                await asyncio.sleep(0)
        await fleet.until(lambda: set(fleet.phases()) == names(server, PODS))
        await fleet.settled()
        for name, came_to in fleet.phases().items():
            expected = "Running" if came_to == "admitted" else "Failed"
            assert phase(server, name) == expected, name
        assert_as_published(server, fleet)
