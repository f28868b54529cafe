"""The loop acts on a whole and current view, writes an audit, and goes on after anything."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

from architecture import tree
from numalet.cluster.breaker import breaker_metrics
from numalet.cluster.breaker.breaker import Breaker, BreakerSettings
from numalet.core.cluster import building
from numalet.core.cluster.objects import ListedNode
from numalet.core.model.findings import BadInput
from numalet.insight.rejections.rules import BreakerRules, Measure
from numalet.io.kube_api import client
from numalet.io.kube_api.pace import Pace
from numalet.io.tasks import ended
from running import fake_api_server
from running.fake_api_server import FakeApiServer
from running.fake_kubelets import Kubelets
from values import failed_pods, kube_lists
from values.failed_pods import NAMESPACE, PODS

PATIENCE_SECONDS = 200.0
QUICK = Pace(first_seconds=0.02, longest_seconds=0.1)
PRUNING = BreakerSettings(rules=BreakerRules(allowed=frozenset({Measure.PRUNE})), is_dry_run=False)
OF_WEB = failed_pods.reference("ReplicaSet", "web-1")
OF_RUNNER = failed_pods.reference("Runner", "r", "ci.example.com/v1")


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    async with fake_api_server.running() as running:
        apps = failed_pods.api_resources("apps/v1", ReplicaSet="replicasets")
        running.documents["/apis/apps/v1"] = apps
        sets = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets"
        running.put(f"{sets}/web-1", failed_pods.owner("web-1"))
        node = ListedNode(name="node-1", uid="node-1")
        running.put("/api/v1/nodes/node-1", kube_lists.node_object(node))
        yield running


def fail(server: FakeApiServer, count: int, *references: dict[str, Any], begin: int = 0) -> None:
    for at in range(begin, begin + count):
        server.put(f"{PODS}/p{at:03}", failed_pods.pod(f"p{at:03}", *references))


def left(server: FakeApiServer) -> list[str]:
    return sorted(name for _, name in server.store.objects.get("/api/v1/pods", {}))


@dataclass
class RunningBreaker:
    """A breaker, what it said, and the file of its audit."""

    breaker: Breaker
    said: list[str]
    file: Path
    task: asyncio.Task[None] | None = None
    leads: list[bool] = field(default_factory=lambda: [True])

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(each) for each in self.file.read_text().splitlines()]

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():
                assert self.task is not None
                if self.task.done():
                    self.task.result()
                await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def acting(
    server: FakeApiServer, file: Path, settings: BreakerSettings = PRUNING
) -> AsyncIterator[RunningBreaker]:
    said: list[str] = []
    leads = [True]
    async with client.opened(server.access()) as api:
        with breaker_metrics.opened(file) as audit_file:
            breaker = Breaker(
                api, settings, audit_file, said.append, may_act=lambda: leads[0], pace=QUICK
            )
            running = RunningBreaker(breaker, said, file, leads=leads)
            following = asyncio.create_task(breaker.follow())
            running.task = asyncio.create_task(breaker.act())
            try:
                await running.until(lambda: "everything that matters is known" in said)
                yield running
            finally:
                await ended(running.task, following)


async def test_all_but_the_newest_three_are_pruned_and_each_is_written_down(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with acting(server, tmp_path / "audit") as running:
        fail(server, 10, OF_WEB)
        await running.until(lambda: len(left(server)) == 3 and len(running.lines()) == 7)
        assert {each["verb"] for each in running.lines()} == {"prune"}
        assert {each["outcome"] for each in running.lines()} == {"done"}
        assert all(each["why"] and each["undo"] and each["at"] for each in running.lines())
        fail(server, 4, OF_WEB, begin=10)
        await running.until(lambda: len(left(server)) == 3)


async def test_pods_of_other_kinds_are_never_pruned(server: FakeApiServer, tmp_path: Path) -> None:
    async with acting(server, tmp_path / "audit") as running:
        fail(server, 30, OF_RUNNER)
        fail(server, 10, OF_WEB, begin=30)
        await running.until(lambda: len(left(server)) == 33)
        assert [each for each in left(server) if each < "p030"] == left(server)[:30]


async def test_a_dry_run_says_each_action_once_and_changes_nothing(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with acting(server, tmp_path / "audit", BreakerSettings()) as running:
        versions = server.store.version
        fail(server, 10, OF_WEB)
        await running.until(lambda: len(running.lines()) >= 7)
        asked = [each.method for each in server.requests if each.method != "GET"]
        assert asked == []
        assert server.store.version == versions + 10
        assert {each["outcome"] for each in running.lines()} == {"dry-run"}
        targets = [(each["verb"], each["target"]) for each in running.lines()]
        assert len(targets) == len({*targets})


async def test_who_does_not_lead_any_more_does_nothing_more(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with acting(server, tmp_path / "audit") as running:
        running.leads[0] = False
        fail(server, 10, OF_WEB)
        seen = server.store.version
        await running.until(lambda: _rejected(running) == 10)
        await asyncio.sleep(0.5)
        assert server.store.version == seen
        assert running.lines() == []


async def test_who_leads_after_everything_was_listed_says_that_it_is_known(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with acting(server, tmp_path / "audit") as running:
        assert running.task is not None
        await ended(running.task)
        running.said.clear()
        running.task = asyncio.create_task(running.breaker.act())
        await running.until(lambda: running.said == ["everything that matters is known"])
        await ended(running.task)


async def test_a_restarted_breaker_continues(server: FakeApiServer, tmp_path: Path) -> None:
    fail(server, 10, OF_WEB)
    for _ in range(2):
        async with acting(server, tmp_path / "audit") as running:
            await running.until(lambda: len(left(server)) == 3)
    # One that was asked for while the first one ended may be written down twice.
    assert {each["target"] for each in running.lines()} == {
        f"pod {NAMESPACE}/p{at:03}" for at in range(7)
    }


async def test_what_was_asked_for_when_it_ended_is_written_down(
    server: FakeApiServer, tmp_path: Path
) -> None:
    server.withheld = {f"{PODS}/p{at:03}" for at in range(7)}
    async with acting(server, tmp_path / "audit") as running:
        fail(server, 10, OF_WEB)
        await running.until(lambda: [each.method for each in server.requests].count("DELETE") > 0)
    assert {each["outcome"] for each in running.lines()} == {"interrupted"}


async def test_what_is_refused_is_said_once_and_the_rest_goes_on(
    server: FakeApiServer, tmp_path: Path
) -> None:
    for at in range(10):
        server.refused[f"{PODS}/p{at:03}"] = 403
    async with acting(server, tmp_path / "audit") as running:
        fail(server, 20, OF_WEB)
        await running.until(lambda: len(left(server)) == 13)
        await running.until(lambda: len(running.lines()) == 17)
        refused = [each for each in running.lines() if each["outcome"] == "refused"]
        assert len(refused) == 10


async def test_an_old_view_is_not_acted_on(server: FakeApiServer, tmp_path: Path) -> None:
    async with acting(server, tmp_path / "audit") as running:
        server.refused["/api/v1/nodes"] = 403
        await server.strike(fake_api_server.Ending.FORGOTTEN)
        await running.until(lambda: bool(running.breaker.not_ready))
        fail(server, 10, OF_WEB)
        await running.until(lambda: _rejected(running) == 10)
        await running.until(lambda: any("waits: " in each for each in running.said))
        assert len(left(server)) == 10
        del server.refused["/api/v1/nodes"]
        await running.until(lambda: len(left(server)) == 3)


async def test_namespaces_are_chosen_by_their_labels(server: FakeApiServer, tmp_path: Path) -> None:
    settings = BreakerSettings(
        rules=PRUNING.rules, is_dry_run=False, namespace_selector="storms=end"
    )
    server.put(f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {}})
    async with acting(server, tmp_path / "audit", settings) as running:
        fail(server, 10, OF_WEB)
        await running.until(lambda: _rejected(running) == 10)
        await asyncio.sleep(0.5)
        assert len(left(server)) == 10
        labels = {"storms": "end"}
        server.put(f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"labels": labels}})
        await running.until(lambda: len(left(server)) == 3)
        server.remove(f"/api/v1/namespaces/{NAMESPACE}")


async def test_pods_are_chosen_by_their_labels(server: FakeApiServer, tmp_path: Path) -> None:
    settings = BreakerSettings(rules=PRUNING.rules, is_dry_run=False, pod_selector="app=web")
    async with acting(server, tmp_path / "audit", settings) as running:
        fail(server, 10, OF_WEB)
        for at in range(10):
            pod = failed_pods.pod(f"web{at}", OF_WEB, labels={"app": "web"})
            server.put(f"{PODS}/web{at}", pod)
        await running.until(lambda: len(left(server)) == 13)


async def test_an_audit_that_can_not_be_written_ends_it(
    server: FakeApiServer, tmp_path: Path
) -> None:
    async with acting(server, Path("/dev/full")) as running:
        fail(server, 10, OF_WEB)
        with pytest.raises(BadInput) as caught:
            await running.until(lambda: False)
    assert [each.code for each in caught.value.findings] == ["input/unwritable"]


async def test_metrics_show_what_there_is_and_what_was_done(
    server: FakeApiServer, tmp_path: Path
) -> None:
    fail(server, 1, OF_WEB)
    async with acting(server, tmp_path / "audit") as running:
        fail(server, 9, OF_WEB, begin=1)
        await running.until(lambda: len(left(server)) == 3)
        await running.until(lambda: _rejected(running) == 3)
        assert _metric(running, "up") == 1
        assert _metric(running, "leader") == 1
        assert _metric(running, "dry_run") == 0
        assert _metric(running, "rejections_total", reason=failed_pods.REASON) == 9
        assert _metric(running, "actions_total", action="prune", outcome="done") == 7
        assert _metric(running, "tainted_nodes") == 0
        assert _metric(running, "suspended_jobs") == 0


def _rejected(running: RunningBreaker) -> float:
    return _metric(running, "rejected_pods", reason=failed_pods.REASON)


def _metric(running: RunningBreaker, name: str, **labels: str) -> float:
    running.breaker.refresh_metrics()
    registry = running.breaker.meter.registry
    return registry.get_sample_value(f"numalet_breaker_{name}", labels) or 0.0


def test_every_metric_is_in_the_reference_and_shown() -> None:
    rows = re.findall(
        r"^\| `numalet_breaker_(\w+)` \| [^|]* \| (.*) \|$",
        (tree.ROOT / "docs" / "reference" / "breaker-metrics.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    page = generate_latest(breaker_metrics.BreakerMeter().registry).decode()
    shown = re.findall(r"^# HELP numalet_breaker_(\w+) (.*)$", page, re.MULTILINE)
    assert dict(rows) == dict(shown) == dict(breaker_metrics.HELP)


async def test_where_that_is_asked_for_pods_that_wait_are_reason_enough(tmp_path: Path) -> None:
    rules = BreakerRules(allowed=frozenset({Measure.TAINT}), taint_share=0.5, waiting_seconds=60.0)
    async with fake_api_server.running() as server:
        kubelets = Kubelets(server)
        for name in ("trap", "full"):
            kubelets.node(name, labels={building.POOL_LABEL: "gpus"})
        # One GPU is left on each NUMA node of the one, and none of the other.
        kubelets.state("trap", 3, 3)
        kubelets.state("full", 4, 4)
        settings = BreakerSettings(rules=rules, is_dry_run=False)
        async with acting(server, tmp_path / "audit", settings) as running:
            kubelets.pod("waits", 2)
            await running.until(lambda: len(running.lines()) == 1)
            (line,) = running.lines()
            assert (line["verb"], line["target"], line["outcome"]) == ("taint", "node trap", "done")
            assert "every node that promises room rejects them" in line["why"]
