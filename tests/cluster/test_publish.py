"""What nodes publish, on a real API server: validated, read back, compared, kept current."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from numalet.agent.publish import publisher
from numalet.agent.publish.publisher import NodePublisher, PublishChoice
from numalet.core.cluster import classes, published
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.findings import Finding, Location
from numalet.core.node.node import Node
from numalet.io.documents.cluster import numa_node, numa_node_class
from numalet.io.kube_api import access, client
from numalet.io.kube_api.client import RequestLimits
from numalet.shared.publish import node_view
from running.control_plane import ControlPlane, lost
from values import filled_nodes, profile_bench, published_lives

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NODE = f"{numa_node.PATH}/n7"
TOPOLOGY = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/n7"
CONFIG = KubeletConfig()
HERE = Location("stored")


def test_the_definitions_are_structural(defined: ControlPlane) -> None:
    for plural in (numa_node.PLURAL, numa_node_class.PLURAL):
        conditions = defined.get(f"{DEFINITIONS}/{plural}.numalet.dev")["status"]["conditions"]
        assert {each["type"]: each["status"] for each in conditions} == {
            "NamesAccepted": "True",
            "Established": "True",
        }


def applied(plane: ControlPlane, path: str, body: dict[str, Any]) -> Any:
    """The object as it is read back after a server-side apply."""
    headers = {"Content-Type": "application/apply-patch+yaml"}
    answer = plane.request(
        "PATCH", f"{path}?fieldManager=numalet&force=true", body, headers=headers
    )
    assert answer.is_success, answer.text
    return plane.get(path)


@pytest.mark.parametrize("seed", range(6))
def test_random_nodes_are_read_back_as_they_were_sent(defined: ControlPlane, seed: int) -> None:
    life = published_lives.life(random.Random(seed))
    made = node_view.objects_of_node(life.node, life.config)
    class_path = f"{numa_node_class.PATH}/{made.class_name}"
    of_class = applied(defined, class_path, dict(made.class_object))
    sent = made.node_object("n7", datetime.now(UTC))
    read = applied(defined, NODE, sent)

    assert lost(made.class_object, of_class) == []
    assert lost(sent, read) == []
    assert numa_node_class.decode(of_class, HERE) == classes.spec_of(life.node, life.config)
    assert numa_node.decode(read, HERE).state == published.of_node(life.node)


def test_a_state_is_replaced_as_a_whole(defined: ControlPlane) -> None:
    node = profile_bench.started("xeon-2n")
    held, _ = node.admit(profile_bench.asks("one", "3Gi", cpu="2"))
    now = datetime.now(UTC)
    first = applied(defined, NODE, node_view.objects_of_node(held, CONFIG).node_object("n7", now))
    second = applied(defined, NODE, node_view.objects_of_node(node, CONFIG).node_object("n7", now))

    assert set(first["spec"]["state"]["pods"]) == {"one"}
    assert "pods" not in second["spec"]["state"]
    assert "memory" not in second["spec"]["state"]


@pytest.mark.parametrize(
    ("made", "first_bytes", "bytes_a_pod"),
    [(filled_nodes.two_numa_nodes, 1000, 100), (filled_nodes.thirty_four_numa_nodes, 64_000, 0)],
)
def test_what_is_stored_is_small(
    defined: ControlPlane,
    made: Callable[[int], Node],
    first_bytes: int,
    bytes_a_pod: int,
    figures: list[str],
) -> None:
    node = made(1)
    published_objects = node_view.objects_of_node(node, CONFIG)
    sent = published_objects.node_object("n7", datetime.now(UTC))
    read = applied(defined, NODE, sent)
    # It is what the server keeps about the field's owners that a state of one field keeps short.
    whole = size_bytes(read)
    del read["metadata"]["managedFields"]
    pods = len(published_objects.spec.state.pods)
    figures.append(f"{pods} pods: {size_bytes(read)} bytes, {whole} with managedFields")

    assert pods > 10
    assert whole < first_bytes + bytes_a_pod * pods


def size_bytes(value: Any) -> int:
    """How large it is as JSON without spaces."""
    return len(json.dumps(value, separators=(",", ":")).encode())


@dataclass
class AtWork:
    """A publisher over a real connection, and what it reported."""

    writers: NodePublisher
    reported: list[Finding]


def utc_now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def at_work(plane: ControlPlane, **given: Any) -> AsyncIterator[AtWork]:
    reported: list[Finding] = []
    limits = RequestLimits(patience_seconds=0)
    async with client.opened(access.of(plane.kubeconfig), limits=limits) as api:
        owner = await publisher.owner_of(api, "n7", reported.append)
        choice = PublishChoice(node_name="n7", **given)
        writers = publisher.publisher(
            api, choice, owner, lambda: datetime.now(UTC), reported.append
        )
        task = asyncio.create_task(writers.run())
        try:
            yield AtWork(writers, reported)
        finally:
            task.cancel()
            await asyncio.wait((task,))


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    async with asyncio.timeout(200):
        while True:
            if await asyncio.to_thread(holds):
                return
            await asyncio.sleep(0.05)


def test_what_changes_is_written_and_what_does_not_is_not(defined: ControlPlane) -> None:
    node = defined.create("/api/v1/nodes", {"metadata": {"name": "n7"}})
    empty = profile_bench.started("xeon-2n")
    held, _ = empty.admit(pod := profile_bench.asks("one", "3Gi", cpu="2"))

    async def scenario() -> None:
        async with at_work(defined) as work:
            work.writers.offer(node_view.view_of_node(empty, CONFIG, ()))
            await until(lambda: all(each.is_current for _, each in work.writers.writers))
            first = defined.get(NODE)
            work.writers.offer(node_view.view_of_node(empty, CONFIG, ()))
            work.writers.offer(node_view.view_of_node(held, CONFIG, (pod,)))
            await until(lambda: defined.get(NODE)["spec"].get("pods") == 1)
            # The server has it before the publisher has the server's answer.
            await until(lambda: work.writers.numa_node.is_current)
            assert first["metadata"]["ownerReferences"][0]["uid"] == node["metadata"]["uid"]
            assert work.writers.numa_node.counts.written == 2
            assert work.reported == []
            expected = dict(node_view.view_of_node(empty, CONFIG, ()).topology or {})
            assert lost(expected, defined.get(TOPOLOGY)) == []

    asyncio.run(scenario())


def test_zones_of_another_manager_stay_its_own_unless_forced(defined: ControlPlane) -> None:
    node = profile_bench.started("xeon-2n")
    other = {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": "n7"},
        "zones": [],
    }
    path = TOPOLOGY.rpartition("/")[0]
    assert defined.request("POST", f"{path}?fieldManager=nfd", other).is_success

    async def scenario() -> None:
        async with at_work(defined) as work:
            work.writers.offer(node_view.view_of_node(node, CONFIG, ()))
            topology = work.writers.topology
            assert topology is not None
            await until(lambda: bool(topology.counts.failed))
            await until(lambda: work.writers.numa_node.is_current)
            codes = {each.code for each in work.reported}
            assert codes == {"input/unreadable", "publish/foreign-zones"}
            assert '"nfd"' in " ".join(map(str, work.reported))
            assert defined.get(TOPOLOGY)["zones"] == []
        async with at_work(defined, force=True) as work:
            work.writers.offer(node_view.view_of_node(node, CONFIG, ()))
            forced = work.writers.topology
            assert forced is not None
            await until(lambda: forced.is_current)
            assert len(defined.get(TOPOLOGY)["zones"]) == 2

    asyncio.run(scenario())


def test_an_api_server_that_was_away_gets_what_changed_meanwhile(
    defined: ControlPlane,
) -> None:
    empty = profile_bench.started("xeon-2n")
    held, _ = empty.admit(pod := profile_bench.asks("one", "3Gi", cpu="2"))

    async def scenario() -> None:
        async with at_work(defined, has_topology=False) as work:
            work.writers.offer(node_view.view_of_node(empty, CONFIG, ()))
            await until(lambda: work.writers.numa_node.is_current)
            await asyncio.to_thread(defined.api_server.kill)
            work.writers.offer(node_view.view_of_node(held, CONFIG, (pod,)))
            await until(lambda: bool(work.writers.numa_node.counts.failed))
            await defined.api_server.start_meanwhile()
            await until(lambda: work.writers.numa_node.is_current)
            assert set(defined.get(NODE)["spec"]["state"]["pods"]) == {"one"}

    asyncio.run(scenario())


def test_the_printed_columns_are_those_of_operators(defined: ControlPlane) -> None:
    node = profile_bench.started("xeon-2n")
    made = node_view.objects_of_node(node, CONFIG)
    applied(defined, NODE, made.node_object("n7", datetime.now(UTC)))
    printed = defined.kubectl("get", "numanodes")

    header, line = printed.splitlines()
    assert header.split("  ")[0] == "NAME"
    assert {"CLASS", "PODS", "PUBLISHED"} <= set(header.split())
    assert made.class_name in line
    assert made.spec.free_cpus in line


def test_objects_are_stored_in_the_size_that_is_promised(defined: ControlPlane) -> None:
    node = profile_bench.started("xeon-2n")
    for at in range(20):
        node, _ = node.admit(
            profile_bench.asks(f"{at:08}-0000-4000-8000-000000000000", "1Gi", cpu="1")
        )
    made = node_view.objects_of_node(node, CONFIG)
    read = applied(defined, NODE, made.node_object("n7", datetime.now(UTC)))

    own = {name: each for name, each in read["metadata"].items() if name != "managedFields"}
    size = len(json.dumps({**read, "metadata": own}, separators=(",", ":")))
    assert size < 1000 + 100 * made.spec.pods
