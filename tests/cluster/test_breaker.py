"""The breaker alone, beside a scheduler that goes by sums: storms of rejected pods end.

By its own caps it may keep pods away from a tenth of a pool at most. So the four nodes that promise
room which they do not have are in a pool of forty here; the others are too small for the pods.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from cluster import storm_scene
from cluster.storm_scene import Scene
from numalet.cluster.breaker.performing import HELD
from numalet.cluster.hollow.kinds import NodeKind
from numalet.core.config.rules import StartRefused
from numalet.core.node import node as nodes
from numalet.insight.fleet.keeping_away import TAINT_KEY
from numalet.io import machines
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.kube_api import paths
from running import breakers, storms
from running.control_plane import ControlPlane

pytestmark = pytest.mark.slow
POOL_NODES: Final = 40
MOST_REJECTIONS: Final = 3
"""A taint may be lifted for a moment, when the breaker sees room before it sees who took it."""
STORM: Final = 20
"""Pods deleted after which a storm is seen to go on."""
MORE_PODS: Final = 20
ALL_TAINTED: Final = re.compile(rf"\b{storms.NODES} node\(s\) had (untolerated )?taint")
"""What a scheduler says of a pod once it knows the taints of all four nodes."""
ACT: Final = ("--act", "prune,inform,taint", "--pool-label", "kubernetes.io/os")
"""All nodes are of one pool."""
INFORMED: Final = frozenset({"Deployment", "StatefulSet", "Runner", "Job"})


def small_kind(at: int) -> NodeKind:
    """A node whose sums are too small for a pod of the storm."""
    machine = machines.open_machine("1n4c2t", memory_per_node="8Gi").info
    config = kubelet_config.decode({"kubeReserved": {"cpu": "100m"}}, "kubelet.yaml")
    empty = nodes.start(config, machine)
    assert not isinstance(empty, StartRefused), empty
    return NodeKind(name=f"small-{at}", machine=machine, config=config, devices={}, empty=empty)


@contextlib.asynccontextmanager
async def pool(plane: ControlPlane) -> AsyncIterator[Scene]:
    """Four nodes of the storm among forty."""
    others = [small_kind(at) for at in range(POOL_NODES // storms.NODES - 1)]
    async with storm_scene.of_nodes(plane, POOL_NODES, *others) as scene:
        yield scene


async def tainted(scene: Scene) -> list[str]:
    """The nodes that have the taint."""
    listed = json.loads(await scene.fleet.api.get(paths.NODES))["items"]
    return sorted(
        each["metadata"]["name"]
        for each in listed
        if any(taint["key"] == TAINT_KEY for taint in each["spec"].get("taints") or ())
    )


async def until_kept_away(scene: Scene, name: str) -> None:
    """Create pods until the scheduler keeps one from all four nodes because of their taints."""
    for number in itertools.count():
        probe = f"{name}-{number}"
        await scene.create(storms.pod(probe))
        await scene.seen.until(
            lambda probe=probe: bool(scene.why(probe)) or probe in scene.seen.names("Failed")  # type: ignore[misc]
        )
        if ALL_TAINTED.search(scene.why(probe)):
            return
        await scene.delete(probe)


async def test_the_breaker_alone_ends_a_storm_within_its_caps(
    defined: ControlPlane, figures: list[str], tmp_path: Path
) -> None:
    async with pool(defined) as scene:
        seen, now = scene.seen, asyncio.get_running_loop().time
        with breakers.running(
            defined.kubeconfig, tmp_path / "audit", *ACT, "--metrics", "127.0.0.1:0"
        ) as breaker:
            defined.start_scheduler()
            await scene.deploy()
            await seen.until(lambda: seen.phases()["Running"] == storms.ROOM)
            await seen.until(lambda: len(seen.rejections) > 0)
            began = now()
            await until_kept_away(scene, "probe")
            # Each pod that waits has been tried, and no rejected pod is made again.
            await seen.until(lambda: all(map(ALL_TAINTED.search, seen.waiting_for())))
            await seen.until(lambda: seen.phases()["Failed"] <= MOST_REJECTIONS)
            ended = now()
            more = [f"more-{number}" for number in range(MORE_PODS)]
            await scene.create(*map(storms.pod, more))
            await seen.until(lambda: all(map(scene.why, more)))
            first = seen.rejections_by_node(began, ended)
            later = seen.rejections_by_node(ended, now())
            figures.append(
                f"with the breaker alone: {first.total()} rejections in the {ended - began:.0f} s"
                f" until the storm ended, {dict(later)} after it"
            )
            assert max(later.values(), default=0) <= MOST_REJECTIONS
            assert seen.phases()["Running"] == storms.ROOM
            assert 0 < len(await tainted(scene)) <= POOL_NODES // 10
            assert breaker.get("/readyz").text == "ok\n"
            page = breaker.get("/metrics").text
            assert 'numalet_breaker_actions_total{action="taint",outcome="done"}' in page
            assert breaker.actions("inform")

            # kill -9 in the middle: the taints stay, and undoing needs no breaker.
            breaker.end(signal.SIGKILL)
            assert await tainted(scene)
            defined.scheduler.kill()
            said = breakers.undo(defined.kubeconfig)
            assert "lift node" in said
            assert await tainted(scene) == []
            assert breakers.undo(defined.kubeconfig) == ""


async def test_a_pool_that_is_too_small_for_a_taint_keeps_few_rejected_pods(
    defined: ControlPlane, figures: list[str], tmp_path: Path
) -> None:
    async with storm_scene.of_nodes(defined) as scene:
        seen, now = scene.seen, asyncio.get_running_loop().time
        with breakers.running(defined.kubeconfig, tmp_path / "audit", *ACT) as breaker:
            defined.start_scheduler()
            await scene.deploy()
            began = now()
            await seen.until(lambda: bool(breaker.actions("inform")))
            await seen.until(lambda: len(breaker.actions("prune")) >= STORM)
            rate = seen.failed_per_minute(began, now())
            figures.append(f"four nodes of a pool of four: {rate:.0f} Failed pods a minute")
            # The pool is too small for a taint, so the storm goes on, and the event says why.
            assert await tainted(scene) == []
            event = breaker.actions("inform")[0]
            assert "had to be left without a taint" in event["why"]
            defined.controllers.kill()
            await seen.until(lambda: seen.phases()["Failed"] <= MOST_REJECTIONS)


async def test_in_a_pool_that_is_too_small_for_a_taint_a_hold_ends_the_storm(
    defined: ControlPlane, figures: list[str], tmp_path: Path
) -> None:
    async with storm_scene.of_nodes(defined) as scene:
        seen, now = scene.seen, asyncio.get_running_loop().time
        act = ("--act", "prune,inform,taint,hold", "--pool-label", "kubernetes.io/os")
        with breakers.running(defined.kubeconfig, tmp_path / "audit", *act) as breaker:
            defined.start_scheduler()
            began = now()
            await scene.deploy()
            await seen.until(lambda: bool(breaker.actions("hold")))
            await seen.until(lambda: seen.phases()["Failed"] <= MOST_REJECTIONS)
            await seen.until(lambda: not seen.waiting_for())
            ended, before = now(), len(seen.rejections)
            figures.append(f"pool of four, held: {before} rejections in {ended - began:.0f} s")
            (event,) = breaker.actions("inform")[-1:]
            assert "are refused until one fits" in event["why"]

            # The API server refuses with the reason, and other owners notice nothing.
            told = [
                each["message"]
                for each in defined.get(f"/api/v1/namespaces/{scene.namespace}/events")["items"]
                if each["reason"] == "FailedCreate"
            ]
            assert any("every node would reject this pod now" in each for each in told)
            assert len(seen.rejections) == before

            # A node with room ends the hold, and the ReplicaSet tries at once.
            one = next(iter(seen.names("Running")))
            await scene.delete(one)
            await seen.until(lambda: bool(breaker.actions("release")))
            await seen.until(lambda: seen.phases()["Running"] == storms.ROOM)
        breakers.undo(defined.kubeconfig)
        assert held(defined) == {}


def held(plane: ControlPlane) -> dict[str, str]:
    data: dict[str, str] = plane.get(HELD).get("data") or {}
    return data


async def test_of_two_breakers_one_acts_and_the_other_after_it(
    defined: ControlPlane, tmp_path: Path
) -> None:
    lease = ("--lease", f"{defined.namespace()}/numalet-breaker")
    leads = "leads by the lease"
    async with storm_scene.of_nodes(defined, 1) as scene:
        await scene.fill("hollow-0", "a", "b", "c")
        with (
            breakers.running(defined.kubeconfig, tmp_path / "first", *ACT, *lease) as first,
            breakers.running(
                defined.kubeconfig, tmp_path / "second", *ACT, *lease, is_ready=False
            ) as second,
        ):
            await defined.controllers.start_meanwhile()
            second.until_said("waits: ")
            path = storms.deployments(scene.namespace)
            await scene.fleet.api.create(path, storms.deployment(1, nodeName="hollow-0"))
            await scene.seen.until(lambda: bool(first.actions("prune")))
            assert leads not in second.said
            assert not second.file.read_text()
            first.end(signal.SIGKILL)
            before = len(first.actions("prune"))
            # Nothing is released, so that the lease has to expire.
            await scene.seen.until(lambda: bool(second.actions("prune")))
            assert leads in second.said
            assert len(first.actions("prune")) == before
            assert second.end(signal.SIGTERM) == 0
            assert "released the lease" in second.said


@pytest.fixture
def runners(defined: ControlPlane) -> Iterator[str]:
    """The version of a kind of our own that owns pods; its definition goes at the end."""
    names = {"kind": "Runner", "plural": "runners", "singular": "runner"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}
    }  # fmt: skip
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    defined.create(
        definitions,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "runners.ci.example.com"},
            "spec": {
                "group": "ci.example.com",
                "names": names,
                "scope": "Namespaced",
                "versions": [version],
            },
        },
    )
    defined.until_established()
    yield "ci.example.com/v1"
    defined.request("DELETE", f"{definitions}/runners.ci.example.com")


def workload(kind: str, version: str, **spec: Any) -> dict[str, Any]:
    """A Job or StatefulSet of pods that are bound to the node that rejects them."""
    restart = "Never" if kind == "Job" else "Always"
    labels = {"app": kind.lower()}
    bound = storms.pod("", nodeName="hollow-0", restartPolicy=restart)["spec"]
    template = {"metadata": {"labels": labels}, "spec": bound}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": kind.lower()},
        "spec": {"template": template, **spec},
    }


async def test_what_is_done_goes_by_the_kind_of_the_owner(
    defined: ControlPlane, runners: str, tmp_path: Path
) -> None:
    async with storm_scene.of_nodes(defined, 1) as scene:
        seen, api, namespace = scene.seen, scene.fleet.api, scene.namespace
        await scene.fill("hollow-0", "a", "b", "c")
        every = ("--act", "prune,inform,taint,suspend,recreate")
        with breakers.running(defined.kubeconfig, tmp_path / "audit", *every) as breaker:
            await defined.controllers.start_meanwhile()
            # A kind of our own counts its pods, so none of them is ever deleted.
            runner = defined.create(
                f"/apis/{runners}/namespaces/{namespace}/runners",
                {"apiVersion": runners, "kind": "Runner", "metadata": {"name": "r"}},
            )
            owner = {
                "apiVersion": runners, "kind": "Runner", "name": "r", "controller": True,
                "uid": runner["metadata"]["uid"],
            }  # fmt: skip
            of_runner = [f"run-{at}" for at in range(8)]
            for name in of_runner:
                made = storms.pod(name, nodeName="hollow-0")
                made["metadata"]["ownerReferences"] = [owner]
                await scene.create(made)
            await scene.until_in("Failed", *of_runner)

            # The controller of a StatefulSet deletes its rejected pod itself, and makes it again.
            selector = {"matchLabels": {"app": "statefulset"}}
            sets = f"/apis/apps/v1/namespaces/{namespace}/statefulsets"
            await api.create(
                sets,
                workload("StatefulSet", "apps/v1", selector=selector, serviceName="none"),
            )
            # A bare pod is made by nothing again.
            bare = storms.pod("bare", nodeName="hollow-0")
            bare["metadata"]["annotations"] = {"numalet.dev/recreate": "true"}
            await scene.create(bare)
            await scene.until_in("Failed", "bare")

            jobs = f"/apis/batch/v1/namespaces/{namespace}/jobs"
            await api.create(jobs, workload("Job", "batch/v1", parallelism=8, backoffLimit=50))
            await seen.until(lambda: bool(breaker.actions("suspend", "done")))
            job = json.loads(await api.get(f"{jobs}/job"))
            assert job["spec"]["suspend"]
            assert "numalet.dev/suspended-until" in job["metadata"]["annotations"]

            # A ReplicaSet replaces them: all but the newest are deleted.
            await api.create(
                storms.deployments(namespace), storms.deployment(2, nodeName="hollow-0")
            )
            await seen.until(lambda: len(breaker.actions("prune")) >= 20)
            await seen.until(lambda: _informed(breaker) >= INFORMED, 60)
            await api.delete(f"{storms.deployments(namespace)}/{storms.NAME}")
            await api.delete(f"{sets}/statefulset")

            pruned = {each["target"].rpartition("/")[2] for each in breaker.actions("prune")}
            assert all(each.startswith(f"{storms.NAME}-") for each in pruned)
            assert {*of_runner} <= {*seen.names("Failed")}

            # Once a node would have it, the bare pod is created anew, and runs.
            assert breaker.actions("recreate") == []
            await api.delete(f"{jobs}/job", {"propagationPolicy": "Background"})
            defined.start_scheduler()
            await scene.delete("a")
            await scene.until_in("Running", "bare-again-1")
            await seen.until(lambda: "bare" not in seen.names("Failed"))
            assert {*of_runner} <= {*seen.names("Failed")}
        breakers.undo(defined.kubeconfig)


def _informed(breaker: breakers.RunningBreakerProgram) -> frozenset[str]:
    """The kinds of the owners that were informed."""
    return frozenset(each["target"].partition(" ")[0] for each in breaker.actions("inform"))
