"""The owners of pods are read up to the top, whatever their kinds, and asked for once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from numalet.cluster.breaker.owners import KNOWN_SECONDS, UNKNOWN_SECONDS, OwnerResolver
from numalet.io.kube_api import client
from numalet.io.kube_api.client import ApiClient
from running import fake_api_server
from running.fake_api_server import FakeApiServer
from values import failed_pods

APPS = f"/apis/apps/v1/namespaces/{failed_pods.NAMESPACE}"
RUNNERS = "ci.example.com/v1"


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        apps = failed_pods.api_resources(
            "apps/v1", ReplicaSet="replicasets", Deployment="deployments"
        )
        running.documents["/apis/apps/v1"] = apps
        runners = failed_pods.api_resources(RUNNERS, Runner="runners")
        running.documents[f"/apis/{RUNNERS}"] = runners
        yield running


@pytest.fixture
async def api(server: FakeApiServer) -> AsyncIterator[ApiClient]:
    async with client.opened(server.access()) as opened:
        yield opened


class Resolving:
    """A resolver whose clock stands still unless a test moves it."""

    def __init__(self, api: ApiClient) -> None:
        self.said: list[str] = []
        self.now_seconds = 1000.0
        self._resolver = OwnerResolver(api, self.said.append, lambda: self.now_seconds)

    async def chain(self, *references: dict[str, Any]) -> tuple[list[str], bool]:
        """Kinds and names from the nearest on, and whether they are all."""
        metadata = failed_pods.pod("p", *references, namespace=failed_pods.NAMESPACE)["metadata"]
        chain = await self._resolver.chain(metadata)
        return [f"{each.kind}/{each.name}" for each in chain.links], chain.is_whole


def replica_set(server: FakeApiServer) -> dict[str, Any]:
    """A reference to the ReplicaSet of a Deployment; both are there."""
    server.put(f"{APPS}/deployments/web", failed_pods.owner("web"))
    of_web = failed_pods.reference("Deployment", "web")
    server.put(f"{APPS}/replicasets/web-1", failed_pods.owner("web-1", of_web))
    return failed_pods.reference("ReplicaSet", "web-1")


async def test_a_bare_pod_has_none(api: ApiClient) -> None:
    assert await Resolving(api).chain() == ([], True)


async def test_a_chain_ends_at_the_top(server: FakeApiServer, api: ApiClient) -> None:
    resolving = Resolving(api)
    expected = (["ReplicaSet/web-1", "Deployment/web"], True)
    assert await resolving.chain(replica_set(server)) == expected
    assert resolving.said == []


async def test_an_owner_is_asked_for_once_in_a_while(server: FakeApiServer, api: ApiClient) -> None:
    resolving = Resolving(api)
    reference = replica_set(server)
    for _ in range(10):
        await resolving.chain(reference)
    assert len(server.requests) == 3
    resolving.now_seconds += KNOWN_SECONDS
    await resolving.chain(reference)
    assert len(server.requests) == 5


async def test_a_custom_kind_is_followed(server: FakeApiServer, api: ApiClient) -> None:
    path = f"/apis/{RUNNERS}/namespaces/{failed_pods.NAMESPACE}/runners/r"
    server.put(path, failed_pods.owner("r"))
    reference = failed_pods.reference("Runner", "r", RUNNERS)
    assert await Resolving(api).chain(reference) == (["Runner/r"], True)


async def test_an_owner_that_may_not_be_read_ends_the_chain_and_is_said_once(
    server: FakeApiServer, api: ApiClient
) -> None:
    resolving = Resolving(api)
    reference = replica_set(server)
    server.refused[f"{APPS}/deployments/web"] = 403
    expected = (["ReplicaSet/web-1", "Deployment/web"], False)
    assert await resolving.chain(reference) == expected
    resolving.now_seconds += UNKNOWN_SECONDS
    assert await resolving.chain(reference) == expected
    assert resolving.said == [
        "Deployment of apps/v1 cannot be read (403 Refused): "
        "its pods are attributed to the nearest known owner"
    ]


async def test_an_owner_that_is_gone_ends_the_chain_and_is_no_news(
    server: FakeApiServer, api: ApiClient
) -> None:
    resolving = Resolving(api)
    reference = replica_set(server)
    server.remove(f"{APPS}/replicasets/web-1")
    assert await resolving.chain(reference) == (["ReplicaSet/web-1"], False)
    assert resolving.said == []


async def test_one_of_the_same_name_is_another_owner(server: FakeApiServer, api: ApiClient) -> None:
    reference = replica_set(server) | {"uid": "uid-of-the-one-before"}
    assert await Resolving(api).chain(reference) == (["ReplicaSet/web-1"], False)


async def test_a_kind_that_the_server_does_not_have_ends_the_chain(api: ApiClient) -> None:
    for version in ("apps/v1", "gone.example.com/v1"):
        reference = failed_pods.reference("Nothing", "n", version)
        assert await Resolving(api).chain(reference) == (["Nothing/n"], False)


async def test_a_kind_that_is_defined_later_is_known_then(
    server: FakeApiServer, api: ApiClient
) -> None:
    resolving = Resolving(api)
    late = server.documents.pop(f"/apis/{RUNNERS}")
    path = f"/apis/{RUNNERS}/namespaces/{failed_pods.NAMESPACE}/runners/r"
    server.put(path, failed_pods.owner("r"))
    reference = failed_pods.reference("Runner", "r", RUNNERS)
    assert await resolving.chain(reference) == (["Runner/r"], False)
    server.documents[f"/apis/{RUNNERS}"] = late
    resolving.now_seconds += UNKNOWN_SECONDS
    assert await resolving.chain(reference) == (["Runner/r"], True)


async def test_a_server_that_is_away_leaves_the_nearest_owner(
    server: FakeApiServer, api: ApiClient
) -> None:
    reference = replica_set(server)
    await server.stop()
    assert await Resolving(api).chain(reference) == (["ReplicaSet/web-1"], False)


async def test_a_ring_of_owners_has_an_end(server: FakeApiServer, api: ApiClient) -> None:
    itself = failed_pods.reference("Deployment", "ring")
    server.put(f"{APPS}/deployments/ring", failed_pods.owner("ring", itself))
    links, is_whole = await Resolving(api).chain(itself)
    assert {*links} == {"Deployment/ring"}
    assert not is_whole


async def test_an_answer_that_is_no_object_ends_the_chain(
    server: FakeApiServer, api: ApiClient
) -> None:
    server.documents[f"{APPS}/deployments/web"] = {"metadata": 5}
    reference = failed_pods.reference("Deployment", "web")
    assert await Resolving(api).chain(reference) == (["Deployment/web"], False)
