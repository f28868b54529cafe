"""The general predicates in a whole agent: refusals, and evictions for critical pods."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller import wiring
from numalet.agent.controller.settings import AgentSettings
from numalet.agent.controller.wiring import Hooks
from numalet.agent.host.runtime.fake import FakeProgram, FakeRuntime
from numalet.agent.host.runtime.port import Launch
from numalet.agent.servers.door import RequestRefused
from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.records import PodRecord
from numalet.core.workload.spec import Workload, WorkloadSource
from numalet.shared.kubernetes import pod_object
from running import agents
from running.agents import Agent

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
kubeReserved: {cpu: "1"}
maxPods: 3
"""


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_SYSTEM = {"key": "kubernetes.io/os", "operator": "In"}
_NAME = {"key": "metadata.name", "operator": "In"}


PORT = {"containerPort": 8, "hostPort": 80}


def _required(*terms: Any) -> dict[str, Any]:
    """A part of a pod's spec: the terms of its required node affinity."""
    return {"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def _settings(tmp_path: Path, behaviour: Behaviour) -> AgentSettings:
    """An agent whose managers have no policy, on 15 CPUs, with room for three pods."""
    file = tmp_path / "kubelet.yaml"
    file.write_text(CONFIG)
    given = agents.settings(tmp_path / "root", config_file=file)
    return replace(given, premises=replace(given.premises, behaviour=behaviour))


def _static(name: str, cpu: str) -> Workload:
    of_file = agents.pod(name, cpu)
    return replace(
        of_file,
        pod=replace(of_file.pod, is_static=True),
        source=WorkloadSource.FILE,
        origin=f"/etc/{name}.yaml",
    )


async def _create(agent: Agent, workload: Workload) -> PodRecord:
    answer = await agent.controller.create(workload)
    assert not isinstance(answer, RequestRefused)
    return answer


def _verdict(record: PodRecord) -> tuple[bool, str]:
    assert record.run.verdict is not None
    return record.run.verdict.admitted, record.run.verdict.reason


async def test_a_pod_that_does_not_fit_beside_the_others_is_refused_in_exact_mode(
    tmp_path: Path,
) -> None:
    async with agents.running(_settings(tmp_path, EXACT)) as agent:
        assert _verdict(await _create(agent, agents.pod("one", "10"))) == (True, "")
        refused = await _create(agent, agents.pod("two", "6"))
        assert _verdict(refused) == (False, "OutOfcpu")
        status = pod_object.status(refused)
        assert (status["phase"], status["reason"]) == ("Failed", "OutOfcpu")
        assert status["message"].startswith("Pod was rejected: Node didn't have enough")
        counted = agent.controller.counts().of(
            "kubelet_admission_rejections_total", (("reason", "OutOfcpu"),)
        )
        assert counted == 1
        assert agent.controller.counts().of("kubelet_topology_manager_admission_errors_total") == 0
        # What was refused takes no room.
        for name in ("three", "four"):
            assert _verdict(await _create(agent, agents.pod(name, "1"))) == (True, "")
        assert _verdict(await _create(agent, agents.pod("five", "1"))) == (False, "OutOfpods")
        assert "OutOfcpu" in {each.reason for each in agent.controller.view().events}


def _has_ended(agent: Agent) -> bool:
    return len(agent.names()) == 2 and agent.phase("ended-node-a") == "terminated"


async def test_a_restart_admits_the_pods_of_files_again(tmp_path: Path) -> None:
    folder = tmp_path / "manifests"
    folder.mkdir()
    wide = agents.manifest("wide", "20")
    ended = agents.manifest("ended", "2", restartPolicy="Never")
    ended["spec"]["containers"][0]["command"] = ["exit", "0"]
    for made in (wide, ended):
        (folder / f"{made['metadata']['name']}.json").write_text(json.dumps(made))
    settings = replace(_settings(tmp_path, EXACT), manifests=folder)
    for _ in range(2):
        async with agents.running(settings) as agent:
            await agent.until(partial(_has_ended, agent))
            counts = agent.controller.counts()
            wide_uid, ended_uid = (agent.record(f"{each}-node-a").uid for each in ("wide", "ended"))
            assert {wide_uid, ended_uid}.isdisjoint(agent.controller.view().node.snapshot.pods)
        reason = (("reason", "UnexpectedAdmissionError"),)
        assert counts.of("kubelet_admission_rejections_total", reason) == 1
        assert counts.of("kubelet_topology_manager_admission_requests_total") == 2


async def test_an_administrator_may_let_the_managers_alone_decide(tmp_path: Path) -> None:
    file = tmp_path / "kubelet.yaml"
    own = "apiVersion: numalet.dev/v1alpha1\nkind: NumaletConfiguration\n"
    file.write_text(f"{CONFIG}---\n{own}generalPredicates: false\n")
    given = agents.settings(tmp_path / "root", config_file=file, exact=True)
    async with agents.running(given) as agent:
        for name in ("one", "two"):
            assert _verdict(await _create(agent, agents.pod(name, "10"))) == (True, "")


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "NodeAffinity"),
        ({"nodeSelector": {"kubernetes.io/hostname": "node-a", "kubernetes.io/os": "linux"}}, ""),
        (_required({"matchExpressions": [_SYSTEM | {"values": ["linux"]}]}), ""),
        (_required({"matchExpressions": [_SYSTEM | {"values": ["windows"]}]}), "NodeAffinity"),
        (_required({"matchFields": [_NAME | {"values": ["node-a"]}]}), ""),
        (_required({"matchFields": [_NAME | {"values": ["node-b"]}]}, {}), "NodeAffinity"),
        (_required(), "NodeAffinity"),
        ({"affinity": {"nodeAffinity": {}, "podAffinity": {}}}, ""),
        ({"nodeName": "node-b"}, "NodeName"),
        ({"nodeName": "node-a"}, ""),
    ],
)
async def test_a_pod_for_another_node_is_refused(
    tmp_path: Path, spec: dict[str, Any], reason: str
) -> None:
    async with agents.running(_settings(tmp_path, EXACT)) as agent:
        record = await _create(agent, agents.pod("one", "1", **spec))
        assert (not reason, reason) == _verdict(record)


@pytest.mark.parametrize(
    ("port", "spec", "reason"),
    [
        (PORT, {}, "NodePorts"),
        (
            {"containerPort": 8, "hostPort": 80, "protocol": "TCP", "hostIP": "127.0.0.1"},
            {},
            "NodePorts",
        ),
        ({"containerPort": 8, "hostPort": 80, "protocol": "UDP"}, {}, ""),
        ({"containerPort": 8, "hostPort": 81}, {}, ""),
        ({"containerPort": 80}, {}, ""),
        ({"containerPort": 80}, {"hostNetwork": True}, "NodePorts"),
        ({"containerPort": 80, "hostPort": 81}, {"hostNetwork": True}, ""),
    ],
)
async def test_a_port_of_the_host_is_given_to_one_pod_at_a_time(
    tmp_path: Path, port: Any, spec: dict[str, Any], reason: str
) -> None:
    def asking(name: str, port: Any, **spec: Any) -> Workload:
        manifest = agents.manifest(name, "1", **spec)
        manifest["spec"]["containers"][0]["ports"] = [port]
        return agents.workload(manifest)

    async with agents.running(_settings(tmp_path, EXACT)) as agent:
        await _create(agent, asking("holder", {"containerPort": 1, "hostPort": 80}))
        record = await _create(agent, asking("one", port, **spec))
        assert (not reason, reason) == _verdict(record)
        await agent.controller.delete("default", "holder", grace_seconds=0.0)
        await agent.until(lambda: "holder" not in agent.names())
        assert _verdict(await _create(agent, asking("two", PORT))) == (True, "")


async def test_pods_are_evicted_for_a_static_one_and_stay_so_after_a_restart(
    tmp_path: Path,
) -> None:
    given = _settings(tmp_path, EXACT)
    async with agents.running(given) as agent:
        for name, cpu in (("large", "9"), ("small", "4")):
            await _create(agent, agents.pod(name, cpu))
            await agent.until(lambda name=name: agent.phase(name) == "running")  # type: ignore[misc]
        assert _verdict(await _create(agent, _static("system", "5"))) == (True, "")
        await agent.until(lambda: agent.phase("small") != "running")
        await agent.until(lambda: agent.phase("system") == "running")
        assert agent.phase("large") == "running"
        status = pod_object.status(agent.record("small"))
        assert (
            status["phase"],
            status["reason"],
            status["message"],
        ) == ("Failed", "Preempting", "Preempted in order to admit critical pod")
        (condition,) = status["conditions"]
        assert (condition["type"], condition["status"]) == ("DisruptionTarget", "True")
        assert [
            (each.reason, each.pod_name)
            for each in agent.controller.view().events
            if each.reason == "Preempting"
        ] == [("Preempting", "small")]
        lacking = await _create(agent, _static("too-much", "16"))
        assert _verdict(lacking) == (False, "UnexpectedAdmissionError")
    async with agents.running(given) as agent:
        assert _verdict(agent.record("small")) == (False, "Preempting")
        assert agent.phase("large") == "running"


def _stubborn(_: Launch) -> FakeProgram:
    """A program that has to be killed."""
    return FakeProgram(ignores_term=True)


def _until_told(agent: Agent, name: str) -> str:
    """What the status of a container says of why it waits."""
    (status,) = pod_object.status(agent.record(name))["containerStatuses"]
    return str(status["state"]["waiting"].get("message", ""))


async def test_a_critical_pod_starts_when_those_who_were_evicted_for_it_have_ended(
    tmp_path: Path,
) -> None:
    given = _settings(tmp_path, EXACT)
    runtime = FakeRuntime(given.root / wiring.RUNS, fate=_stubborn)
    async with agents.running(given, runtime) as agent:
        await _create(agent, agents.pod("small", "12", terminationGracePeriodSeconds=3600))
        await agent.until(lambda: agent.phase("small") == "running")
        assert _verdict(await _create(agent, _static("system", "5"))) == (True, "")
        await agent.controller.settled()
        assert (agent.phase("small"), agent.phase("system")) == ("running", "waiting")
        told = "waits for evicted pods to end: default/small"
        assert told == _until_told(agent, "system")
        # It is in the node state, so that it is held up after a crash too.
    again = FakeRuntime(given.root / wiring.RUNS, fate=_stubborn)
    async with agents.running(given, again) as agent:
        await agent.controller.settled()
        assert (agent.phase("small"), agent.phase("system")) == ("running", "waiting")
        assert told == _until_told(agent, "system")
        again.end(ContainerKey("uid-small", "main"), 137)
        await agent.until(lambda: agent.phase("system") == "running")
        assert agent.phase("small") == "terminated"
        assert [
            e for e in agent.controller.view().events if e.reason == "ExceededGracePeriod"
        ] == []
        assert [(key.pod_uid, n) for key, n in again.starts] == [("uid-system", 1)]


async def test_a_critical_pod_starts_when_an_evicted_one_is_deleted_at_once(tmp_path: Path) -> None:
    given = _settings(tmp_path, EXACT)
    runtime = FakeRuntime(given.root / wiring.RUNS, fate=_stubborn)
    async with agents.running(given, runtime) as agent:
        await _create(agent, agents.pod("small", "12", terminationGracePeriodSeconds=3600))
        await agent.until(lambda: agent.phase("small") == "running")
        await _create(agent, _static("system", "5"))
        await agent.controller.delete("default", "small", grace_seconds=0.0)
        await agent.until(lambda: agent.phase("system") == "running")
        assert agent.names() == ["system"]


async def test_who_comes_while_evicted_pods_end_finds_the_node_as_after_their_end(
    tmp_path: Path,
) -> None:
    given = _settings(tmp_path, EXACT)
    runtime = FakeRuntime(given.root / wiring.RUNS, fate=_stubborn)
    async with agents.running(given, runtime) as agent:
        await _create(agent, agents.pod("small", "12", terminationGracePeriodSeconds=3600))
        await agent.until(lambda: agent.phase("small") == "running")
        await _create(agent, _static("system", "5"))
        evicted = agent.record("small").run
        # There is room for it, and nobody is evicted a second time for it.
        for workload in (_static("second", "5"), agents.pod("third", "5")):
            assert _verdict(await _create(agent, workload)) == (True, "")
        await agent.controller.settled()
        assert evicted == agent.record("small").run
        assert {"waiting"} == {agent.phase(name) for name in ("system", "second", "third")}
        runtime.end(ContainerKey("uid-small", "main"), 137)
        for name in ("system", "second", "third"):
            await agent.until(lambda name=name: agent.phase(name) == "running")  # type: ignore[misc]


class _Deaf(FakeRuntime):
    """Its programs can not be ended, as if a kernel held them."""

    async def stop(self, key: ContainerKey, grace_seconds: float) -> None:
        """Nothing comes of it."""


def test_an_evicted_pod_that_can_not_be_ended_holds_nobody_up_for_ever(tmp_path: Path) -> None:
    now = datetime(2030, 1, 1, tzinfo=UTC)

    async def scene() -> None:
        nonlocal now
        given, hooks = _settings(tmp_path, EXACT), Hooks(clock=lambda: now)
        folder = given.root / wiring.RUNS
        async with agents.running(given, _Deaf(folder, clock=lambda: now), hooks) as agent:
            await _create(agent, agents.pod("stuck", "12", terminationGracePeriodSeconds=20))
            await agent.until(lambda: agent.phase("stuck") == "running")
            await _create(agent, _static("system", "5"))
            await agent.controller.settled()
            assert agent.phase("system") == "waiting"
        now += timedelta(seconds=30)
        async with agents.running(given, _Deaf(folder, clock=lambda: now), hooks) as agent:
            await agent.until(lambda: agent.phase("system") == "running")
            assert agent.phase("stuck") == "running"
            (event,) = (
                each
                for each in agent.controller.view().events
                if each.reason == "ExceededGracePeriod"
            )
            assert (event.pod_name, event.count) == ("stuck", 1)
            assert event.message == (
                "Container runtime did not kill the pod within specified grace period."
            )

    asyncio.run(scene())


async def test_in_native_mode_nobody_ends_for_another_pod(tmp_path: Path) -> None:
    async with agents.running(_settings(tmp_path, NATIVE)) as agent:
        assert _verdict(await _create(agent, agents.pod("one", "9"))) == (True, "")
        assert _verdict(await _create(agent, _static("system", "9"))) == (False, "OutOfcpu")
        assert [e for e in agent.controller.view().events if e.reason == "Preempting"] == []
