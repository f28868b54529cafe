"""Hollow nodes of five kinds on a real control plane: what the API server says is what they have.

Clients create and delete pods, the servers and the watches fail meanwhile. At every quiet moment
the nodes are made again from the API server alone, from the published states and the pods, and
compared with the ledgers that the hollow nodes keep for themselves.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from numalet.cluster.hollow import kinds, pod_reader
from numalet.cluster.hollow.kinds import KindInputs, NodeKind
from numalet.cluster.hollow.members import FleetOptions
from numalet.core.cluster import classes, published
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Findings, Location
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.io.documents import numa_node, numa_node_class
from numalet.io.documents.kubelet_config import ConfigSources
from numalet.io.kube_api import access
from numalet.io.kube_api.answers import ApiRefused, ApiUnreachable
from numalet.io.machines import MachineChoice
from running import hollow_fleets
from running.control_plane import ControlPlane
from running.hollow_fleets import RunningFleet

NUMA = "/apis/numalet.dev/v1alpha1"
GPU = "example.com/gpu"
GPUS = f"{GPU}=" + ",".join(f"g{at}@{at // 4}" for at in range(8))
EQUAL_AGAIN_SECONDS = 5.0
CLIENTS = 8

_STATIC = (
    ("--cpu-manager-policy", "static"),
    ("--reserved-cpus", "0"),
    ("--kube-reserved", "memory=1Gi"),
    ("--memory-manager-policy", "Static"),
    ("--reserved-memory", "0:memory=1124Mi"),
)


def five_kinds() -> tuple[NodeKind, ...]:
    """One policy, scope and release each, on machines of two NUMA nodes and 8 GPUs."""
    ways = (
        ("single-numa-node", "pod", "1.32"),
        ("single-numa-node", "container", "1.33"),
        ("restricted", "container", "1.34"),
        ("best-effort", "pod", "1.35"),
        ("none", "container", "1.36"),
    )
    configs = [
        ConfigSources(
            flags=(
                *_STATIC,
                ("--topology-manager-policy", policy),
                ("--topology-manager-scope", scope),
            ),
            release=release,
        )
        for policy, scope, release in ways
    ]
    machine = MachineChoice("2n8c2t", "32Gi")
    made, _ = kinds.kinds_of(KindInputs(machines=[machine], configs=configs, devices=[GPUS]))
    return made


def pod_document(name: str, rng: random.Random) -> dict[str, Any]:
    """A pod of 1, 2, 4 or 8 GPUs, now and then without, that runs for ever or for a moment."""
    gpus = rng.choice([0, 1, 2, 4, 8])
    amounts = {"cpu": str(rng.choice([1, 2, 3])), "memory": rng.choice(["1Gi", "3Gi", "500Mi"])}
    if gpus:
        amounts[GPU] = str(gpus)
    notes = {} if rng.random() < 0.6 else {"numalet.dev/runs-for": "300ms"}
    resources = {"requests": amounts, "limits": amounts}
    container = {"name": "app", "image": "any", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": notes},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 1,
            "tolerations": [{"operator": "Exists"}],
            "containers": [container],
        },
    }


def rebuilt(plane: ControlPlane) -> dict[str, Node]:
    """Every node, made of nothing but what the API server has."""
    empty: dict[str, Node] = {}
    for value in plane.get(f"{NUMA}/numanodeclasses")["items"]:
        name = value["metadata"]["name"]
        started = classes.start(numa_node_class.decode(value, Location(name)))
        assert not isinstance(started, StartRefused), started
        empty[name] = started
    pods = list(_active_pods(plane.get("/api/v1/pods")["items"]))
    nodes: dict[str, Node] = {}
    for value in plane.get(f"{NUMA}/numanodes")["items"]:
        read = numa_node.decode(value, Location(value["metadata"]["name"]))
        bound = [each for each in pods if each.node_name == read.name]
        nodes[read.name] = published.onto(empty[read.class_name], read.state, bound)
    return nodes


def _active_pods(items: Iterable[dict[str, Any]]) -> Iterable[Pod]:
    for value in sorted(items, key=lambda each: str(each["status"].get("startTime"))):
        bound = value["spec"].get("nodeName")
        if bound and value["status"]["phase"] not in ("Succeeded", "Failed"):
            read = pod_reader.whole(msgspec.json.encode(value), Findings())
            assert read is not None
            yield read.workload.pod


def differences(plane: ControlPlane, fleet: RunningFleet) -> list[str]:
    """Every node of which the API server says something else than its own ledgers."""
    made = rebuilt(plane)
    own = {name: fleet.node(name) for name in fleet.fleet.members}
    assert made.keys() == own.keys()
    return [
        f"{name}: {ledgers(node)} instead of {ledgers(own[name])}"
        for name, node in sorted(made.items())
        if ledgers(node) != ledgers(own[name])
    ]


def ledgers(node: Node) -> tuple[object, ...]:
    """What is compared: all that is held, and by whom as far as it is still there.

    What a pod left behind is held by a container whose name is not known any more.
    """
    state = published.of_node(node)
    return (
        published.of_node(node.release_stale()),
        state.shared_cpus,
        state.memory,
        sorted(state.pods),
        sorted(node.snapshot.pods),
        {resource: len(ids) for resource, ids in node.snapshot.device.in_use.items() if ids},
        dict(node.snapshot.requested.amounts),
    )


async def equal_in_time(plane: ControlPlane, fleet: RunningFleet) -> None:
    """Wait until all is written; then the API server's nodes are those of the fleet."""
    await fleet.settled()
    loop = asyncio.get_running_loop()
    until = loop.time() + EQUAL_AGAIN_SECONDS
    while differences(plane, fleet) and loop.time() < until:
        await asyncio.sleep(0.2)
        await fleet.settled()
    assert differences(plane, fleet) == []


class PodClients:
    """Eight clients, each with pods of its own, which they create and delete at random."""

    def __init__(self, fleet: RunningFleet, namespace: str, seed: int) -> None:
        self._api = fleet.api
        self._fleet = fleet
        self._path = f"/api/v1/namespaces/{namespace}/pods"
        self._rng = random.Random(seed)
        self.made = 0

    async def work(self, steps: int) -> None:
        """So many steps of every client; what the server refuses meanwhile is left."""
        await asyncio.gather(*(self._client(at, steps) for at in range(CLIENTS)))

    async def _client(self, number: int, steps: int) -> None:
        own: list[str] = []
        names = [*self._fleet.fleet.members]
        for _ in range(steps):
            self.made += 1
            name = f"pod-{number}-{self.made}"
            body = pod_document(name, self._rng)
            body["spec"]["nodeName"] = self._rng.choice(names)
            try:
                await self._api.create(self._path, body)
                own.append(name)
                if own and self._rng.random() < 0.4:
                    gone = own.pop(self._rng.randrange(len(own)))
                    await self._api.delete(f"{self._path}/{gone}")
            except (ApiRefused, ApiUnreachable):
                await asyncio.sleep(0.1)


async def all_seen(plane: ControlPlane, fleet: RunningFleet) -> None:
    """Wait until the fleet knows the pods that the API server has, and no others."""

    def uids() -> set[str]:
        return {each["metadata"]["uid"] for each in plane.get("/api/v1/pods")["items"]}

    def known() -> set[str]:
        return {uid for each in fleet.fleet.members.values() for uid in each.pods}

    async with asyncio.timeout(60):
        while True:
            await fleet.settled()
            before = uids()
            if before == known():
                return
            await asyncio.sleep(0.2)


@pytest.mark.slow
async def test_the_api_server_says_what_the_nodes_hold_at_every_quiet_moment(
    defined: ControlPlane,
) -> None:
    plane = defined
    namespace = plane.namespace()
    options = FleetOptions(untaints=True, reboot_seconds=0.5, writers=8)
    async with hollow_fleets.running(
        access.of(plane.kubeconfig), 10, five_kinds(), options
    ) as fleet:
        clients = PodClients(fleet, namespace, seed=17)
        await equal_in_time(plane, fleet)

        await clients.work(6)
        await all_seen(plane, fleet)
        await equal_in_time(plane, fleet)

        # The publisher is killed and another one is started, while pods come and go.
        working = asyncio.create_task(clients.work(4))
        await asyncio.sleep(0)
        fleet.publisher.kill()
        await working
        await all_seen(plane, fleet)
        await equal_in_time(plane, fleet)

        # The API server is killed in the middle of it, and with it every watch.
        working = asyncio.create_task(clients.work(4))
        await asyncio.sleep(0)
        await plane.api_server.restart_meanwhile()
        await working
        await all_seen(plane, fleet)
        await equal_in_time(plane, fleet)
        assert {"admitted", "TopologyAffinityError"} <= {*fleet.phases().values()}

        # And the comparison sees as little as one CPU.
        name = "hollow-0"
        value = plane.get(f"{NUMA}/numanodes/{name}")
        moved = published.of_node(fleet.node(name))
        assert moved.shared_cpus is not None
        fewer = frozenset(sorted(moved.shared_cpus)[1:])
        written = numa_node.document(replace(moved, shared_cpus=fewer))
        value["spec"]["state"] = msgspec.to_builtins(written)
        assert plane.request("PUT", f"{NUMA}/numanodes/{name}", value).status_code == 200
        (difference,) = differences(plane, fleet)
        assert difference.startswith(f"{name}: ")
