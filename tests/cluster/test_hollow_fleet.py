"""Hollow nodes of five kinds on a real control plane: what the API server says is what they have.

Clients create and delete pods, of which the scheduler places some, while servers and watches fail.
At every quiet moment the cluster that a reader follows, with a reader's rights, is compared with
the ledgers that the hollow nodes keep for themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import itertools
import operator
import random
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec
import pytest

from cluster import manifests
from numalet.cluster.hollow import kinds
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.cluster.hollow.kinds import KindInputs, NodeKind
from numalet.cluster.live import LiveCluster
from numalet.core.cluster import published
from numalet.core.cluster.cluster import Origin
from numalet.core.cluster.published_state import PublishedState
from numalet.core.node.node import Node
from numalet.io.documents.cluster import numa_node
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from numalet.io.kube_api import access, client
from numalet.io.kube_api.access import Access
from numalet.io.machines import MachineChoice
from running import breakable_proxy, hollow_fleets
from running.breakable_proxy import BreakableProxy
from running.control_plane import ControlPlane
from running.hollow_fleets import RunningFleet
from running.pod_clients import GPU, PodClients, Strike

NUMA_NODES: Final = "/apis/numalet.dev/v1alpha1/numanodes"
GPUS: Final = f"{GPU}=" + ",".join(f"g{at}@{at // 4}" for at in range(8))
NODES: Final = 10
LATEST_SECONDS: Final = 300.0

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


@dataclass
class Watched:
    """A fleet, and a cluster that is followed by who knows nothing but what the API server says."""

    plane: ControlPlane
    fleet: RunningFleet
    seen: LiveCluster
    following: asyncio.Task[None]
    strikes: Sequence[Strike]

    def differences(self) -> list[str]:
        """Every node of which the reader has something else than the node itself."""
        cluster = self.seen.cluster()
        if cluster is None:
            return ["the cluster is not known"]
        wrong = [f"{name}: {each.why}" for name, each in cluster.undecided.items()]
        for name in self.fleet.fleet.members:
            member, own = cluster.nodes.get(name), self.fleet.node(name)
            if member is None:
                wrong.append(f"{name}: unknown")
            elif member.origin is not Origin.PUBLISHED:
                notes = "; ".join(map(str, member.notes))
                wrong.append(f"{name}: {member.origin.value}: {notes}")
            elif ledgers(member.node) != ledgers(own):
                wrong.append(f"{name}: {ledgers(member.node)} instead of {ledgers(own)}")
        return wrong

    async def until_none(self, missing: Callable[[], list[str]]) -> None:
        """Wait until nothing is missing; else fails with what is, or what ended reader or fleet."""
        last = time.monotonic() + LATEST_SECONDS
        while still := missing():
            for task in (self.following, self.fleet.task):
                if task is not None and task.done():
                    task.result()
            assert time.monotonic() < last, still
            await asyncio.sleep(0.02)

    async def equal_again(self) -> float:
        """Wait until nothing is on its way and all is equal; seconds since a node changed last."""
        began = changed = time.monotonic()
        before: list[Node] = []

        def missing() -> list[str]:
            nonlocal before, changed
            now = [each.life.node for each in self.fleet.fleet.members.values()]
            if before and any(map(operator.is_not, before, now)):
                changed = time.monotonic()
            before = now
            return self.unsettled()

        while True:
            await self.until_none(missing)
            done = time.monotonic()
            pods = (await asyncio.to_thread(self.plane.get, "/api/v1/pods"))["items"]
            bound = {each["metadata"]["uid"] for each in pods if each["spec"].get("nodeName")}
            members = self.fleet.fleet.members.values()
            unknown = bound ^ {uid for each in members for uid in each.pods}
            if not missing() and not unknown:
                return done - changed
            assert time.monotonic() < began + LATEST_SECONDS, unknown

    def unsettled(self) -> list[str]:
        """What is on its way, or not equal."""
        return [
            *self.differences(),
            *([] if self.fleet.fleet.writer.is_idle else ["a status of a pod is not written"]),
            *([] if self.fleet.publisher.is_idle else ["the state of a node is not written"]),
            *([] if self.seen.is_current else map(str, self.seen.notes)),
        ]


def account(plane: ControlPlane, name: str) -> Access:
    """The access of one of the accounts of the manifests."""
    token = plane.service_account_token("numalet", name)
    return access.of(plane.kubeconfig_of(token, name))


@contextlib.asynccontextmanager
async def watched(plane: ControlPlane) -> AsyncIterator[Watched]:
    """Hollow nodes and a reader, each with the rights that they have, and a network that breaks."""
    port = urlsplit(plane.server).port or 0
    options = FleetOptions(untaints=True, reboot_seconds=0.5, writers=8)
    rng = random.Random(4)
    async with (
        breakable_proxy.to("127.0.0.1", port) as of_fleet,
        breakable_proxy.to("127.0.0.1", port) as of_reader,
        hollow_fleets.running(
            through(of_fleet, account(plane, "numalet-hollow")), NODES, five_kinds(), options
        ) as fleet,
        client.opened(through(of_reader, account(plane, "numalet-reader"))) as api,
    ):
        seen = LiveCluster()
        following = asyncio.create_task(seen.follow(api))
        strikes = [*cuts(of_fleet, rng), *cuts(of_reader, rng)]
        try:
            yield Watched(plane, fleet, seen, following, strikes)
        finally:
            following.cancel()
            await asyncio.wait([following])


def through(proxy: BreakableProxy, to: Access) -> Access:
    """The same access by the proxy."""
    return dataclasses.replace(to, server=f"https://127.0.0.1:{proxy.port}")


def cuts(proxy: BreakableProxy, rng: random.Random) -> list[Strike]:
    """Every connection is reset, at once or in the middle of what comes next."""

    async def reset_soon() -> None:
        await proxy.reset_later(rng.randrange(2_000))

    return [proxy.reset, reset_soon]


@pytest.mark.slow
async def test_the_api_server_says_what_the_nodes_hold_at_every_quiet_moment(
    defined: ControlPlane, figures: list[str]
) -> None:
    plane = defined
    plane.apply(*manifests.ACCOUNTS)
    namespace = plane.namespace()
    plane.start_scheduler()
    waits: dict[str, float] = {}
    async with watched(plane) as all_of_it, client.opened(access.of(plane.kubeconfig)) as api:
        fleet = all_of_it.fleet
        clients = PodClients(api, sorted(fleet.fleet.members), namespace, seed=17)
        await all_of_it.equal_again()

        await clients.work(6)
        waits["pods came and went"] = await all_of_it.equal_again()

        for turn in range(3):
            await clients.work(2, all_of_it.strikes)
            waits[f"watches were cut, turn {turn}"] = await all_of_it.equal_again()

        working = asyncio.create_task(clients.work(4))
        await asyncio.sleep(0)
        fleet.publisher.kill()
        await working
        waits["the publisher was killed"] = await all_of_it.equal_again()

        working = asyncio.create_task(clients.work(4, all_of_it.strikes))
        await asyncio.sleep(0)
        await plane.api_server.restart_meanwhile()
        await working
        waits["the API server was killed"] = await all_of_it.equal_again()

        figures.extend(f"{what}: equal after {seconds:.1f} s" for what, seconds in waits.items())
        assert {"admitted", "TopologyAffinityError"} <= {*fleet.phases().values()}
        assert await asyncio.to_thread(placed_by_scheduler, plane)

        # From here on nothing changes but what is written into the objects.
        plane.scheduler.kill()
        await all_of_it.equal_again()
        await one_cpu_is_noticed(all_of_it)


def placed_by_scheduler(plane: ControlPlane) -> int:
    """How many pods were admitted where the scheduler had placed them."""
    events = plane.get("/api/v1/events?fieldSelector=reason%3DScheduled")["items"]
    running = {
        each["metadata"]["name"]
        for each in plane.get("/api/v1/pods")["items"]
        if each["status"]["phase"] == "Running"
    }
    return len(running & {each["involvedObject"]["name"] for each in events})


async def one_cpu_is_noticed(all_of_it: Watched) -> None:
    """One CPU is moved in an object: the reader does not trust it, or has other ledgers."""
    fleet = all_of_it.fleet
    name, one, other = two_of_a_size(all_of_it)
    state = published.of_node(fleet.node(name))

    to_shared = with_cpus(state, {one: cpus_of(state, one) - {min(cpus_of(state, one))}})
    await asyncio.to_thread(write, all_of_it.plane, name, to_shared)
    await all_of_it.until_none(lambda: [] if all_of_it.differences() else ["distrust"])
    (difference,) = all_of_it.differences()
    assert re.match(
        rf"{name}: rebuilt: not trusted: .* requests \d+ of CPUs, but its state has", difference
    )

    mine, yours = min(cpus_of(state, one)), min(cpus_of(state, other))
    swapped = {
        one: cpus_of(state, one) - {mine} | {yours},
        other: cpus_of(state, other) - {yours} | {mine},
    }
    await asyncio.to_thread(write, all_of_it.plane, name, with_cpus(state, swapped))
    await all_of_it.until_none(
        lambda: ["distrust"] if "not trusted" in str(all_of_it.differences()) else []
    )
    (difference,) = all_of_it.differences()
    assert difference.startswith(f"{name}: ")

    fleet.publisher.kill()  # Another one publishes everything anew.
    await all_of_it.equal_again()


def two_of_a_size(all_of_it: Watched) -> tuple[str, str, str]:
    """A node, and two pods that run on it and have as many CPUs as each other, two or more."""
    cluster = all_of_it.seen.cluster()
    assert cluster is not None
    for name in all_of_it.fleet.fleet.members:
        state = published.of_node(all_of_it.fleet.node(name))
        running = [
            uid
            for uid in sorted(state.pods)
            if uid in cluster.pods and cluster.pods[uid].pod.phase == "Running"
        ]
        for one, other in itertools.combinations(running, 2):
            if len(cpus_of(state, one)) == len(cpus_of(state, other)) >= 2:
                return name, one, other
    raise AssertionError("no node has two such pods")


def cpus_of(state: PublishedState, uid: str) -> frozenset[int]:
    """The CPUs of a pod, which has one container."""
    (container,) = state.pods[uid].containers
    return frozenset(container.held.cpus or ())


def with_cpus(state: PublishedState, cpus: Mapping[str, frozenset[int]]) -> PublishedState:
    """The state in which these pods have these CPUs, and what they have no more is shared."""
    pods = dict(state.pods)
    for uid, own in cpus.items():
        (container,) = pods[uid].containers
        held = dataclasses.replace(container.held, cpus=own)
        changed = dataclasses.replace(container, held=held)
        pods[uid] = dataclasses.replace(pods[uid], containers=(changed,))
    before = frozenset[int]().union(*(cpus_of(state, uid) for uid in cpus))
    left = before - frozenset[int]().union(*cpus.values())
    shared = None if state.shared_cpus is None else state.shared_cpus | left
    return dataclasses.replace(state, pods=pods, shared_cpus=shared)


def write(plane: ControlPlane, name: str, state: PublishedState) -> None:
    """Put this state into the object of a node."""
    value = plane.get(f"{NUMA_NODES}/{name}")
    value["spec"]["state"] = msgspec.to_builtins(numa_node.document(state))
    assert plane.request("PUT", f"{NUMA_NODES}/{name}", value).status_code == 200
