"""Undoing goes by the objects alone: everything of a breaker is taken back, and nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from numalet.cluster.breaker import breaker_metrics, undoing
from numalet.cluster.breaker.performing import HELD
from numalet.core.model.findings import BadInput
from numalet.insight.rejections import patches
from running import fake_api_server
from running.fake_api_server import FakeApiServer
from running.fake_api_store import StatusAnswer, Target

NODES = "/api/v1/nodes"
JOBS = "/apis/batch/v1/namespaces/team-a/jobs"
OWN = {"key": "numalet.dev/trap", "value": "20330518T033320Z.abc", "effect": "NoSchedule"}
OF_FLEET = {"key": "numalet.dev/trap", "effect": "NoSchedule"}
OTHERS = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
MARKED = {patches.SUSPENDED_UNTIL: "20330518T033320Z", patches.SUSPENDED_FOR: "abc"}


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        running.put(f"{NODES}/a", {"spec": {"taints": [OTHERS, OWN]}})
        running.put(f"{NODES}/b", {"spec": {"taints": [OF_FLEET]}})
        running.put(f"{NODES}/c", {"spec": {"taints": [OWN]}})
        running.put(f"{JOBS}/own", {"metadata": {"annotations": MARKED}, "spec": {"suspend": True}})
        running.put(f"{JOBS}/users", {"spec": {"suspend": True}})
        yield running


async def undone(server: FakeApiServer, file: Path) -> tuple[bool, list[str]]:
    """Whether all is undone, and what was said."""
    said: list[str] = []
    with breaker_metrics.opened(file) as audit_file:
        return await undoing.undo(server.access(), audit_file, said.append), said


def spec(server: FakeApiServer, path: str) -> dict[str, Any]:
    value: dict[str, Any] = server.store.one(Target.of(path))["spec"]
    return value


async def test_taints_are_lifted_and_jobs_resumed_once(
    server: FakeApiServer, tmp_path: Path
) -> None:
    file = tmp_path / "audit"
    is_all, said = await undone(server, file)
    assert is_all
    assert [each.split(":")[1] for each in said] == [
        " lift node a",
        " lift node c",
        " resume job team-a/own",
    ]
    lines = [json.loads(each) for each in file.read_text().splitlines()]
    assert [(each["verb"], each["outcome"]) for each in lines] == [
        ("lift", "done"),
        ("lift", "done"),
        ("resume", "done"),
    ]
    assert spec(server, f"{NODES}/a") == {"taints": [OTHERS]}
    assert spec(server, f"{NODES}/b") == {"taints": [OF_FLEET]}
    assert spec(server, f"{NODES}/c") == {}
    assert spec(server, f"{JOBS}/own") == {"suspend": False}
    assert spec(server, f"{JOBS}/users") == {"suspend": True}
    version = server.store.version
    assert await undone(server, file) == (True, [])
    assert server.store.version == version


async def test_held_controllers_are_released(server: FakeApiServer, tmp_path: Path) -> None:
    server.put(HELD, {"data": {"some-uid": "2033-05-18T03:33:20Z"}})
    is_all, said = await undone(server, tmp_path / "audit")
    assert is_all
    assert any(each.startswith("done: release controller some-uid: undone") for each in said)
    assert server.store.one(Target.of(HELD))["data"] == {}


async def test_what_can_not_be_undone_is_said_and_the_rest_is_undone(
    server: FakeApiServer, tmp_path: Path
) -> None:
    real = fake_api_server.FakeApiServer._done

    async def done(self: FakeApiServer, request: Any, target: Any) -> Any:
        if request.method == "PATCH" and target.name == "a":
            raise StatusAnswer(403, "Forbidden", "nodes is forbidden: no")
        return await real(self, request, target)

    server._done = done.__get__(server)  # type: ignore[method-assign]
    is_all, said = await undone(server, tmp_path / "audit")
    assert not is_all
    assert said[0] == "the API server refuses: no"
    assert said[1].startswith("refused: lift node a")
    assert spec(server, f"{NODES}/a") == {"taints": [OTHERS, OWN]}
    assert spec(server, f"{NODES}/c") == {}


async def test_who_may_not_list_jobs_lifts_taints_all_the_same(
    server: FakeApiServer, tmp_path: Path
) -> None:
    server.refused["/apis/batch/v1/jobs"] = 403
    with pytest.raises(BadInput):
        await undone(server, tmp_path / "audit")
    assert spec(server, f"{NODES}/c") == {}


async def test_a_server_that_is_away_is_a_finding(server: FakeApiServer, tmp_path: Path) -> None:
    await server.stop()
    with pytest.raises(BadInput) as caught:
        await undone(server, tmp_path / "audit")
    assert caught.value.findings[0].code == "kube-api/unreachable"


async def test_an_audit_that_can_not_be_opened_is_a_finding(
    server: FakeApiServer, tmp_path: Path
) -> None:
    with pytest.raises(BadInput) as caught:
        await undone(server, tmp_path / "none" / "audit")
    assert caught.value.findings[0].code == "input/unwritable"
