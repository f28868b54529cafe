"""The general predicates in a whole agent: refusals, and evictions for critical pods."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import agents
from agents import Agent
from numalet.agent.settings import AgentSettings
from numalet.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.reports import kube_pod
from numalet.servers.door import Refused
from numalet.workload.record import PodRecord
from numalet.workload.spec import Source, Workload

CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
kubeReserved: {cpu: "1"}
maxPods: 3
"""


def _settings(tmp_path: Path, behaviour: Behaviour) -> AgentSettings:
    """An agent whose managers have no policy, on 15 CPUs, with room for three pods."""
    file = tmp_path / "kubelet.yaml"
    file.write_text(CONFIG)
    given = agents.settings(tmp_path / "root", config_file=file)
    return replace(given, premises=replace(given.premises, behaviour=behaviour))


def _static(name: str, cpu: str) -> Workload:
    return replace(agents.pod(name, cpu), source=Source.FILE, origin=f"/etc/{name}.yaml")


async def _create(agent: Agent, workload: Workload) -> PodRecord:
    answer = await agent.keeper.create(workload)
    assert not isinstance(answer, Refused)
    return answer


def _verdict(record: PodRecord) -> tuple[bool, str]:
    assert record.run.verdict is not None
    return record.run.verdict.admitted, record.run.verdict.reason


def test_a_pod_that_does_not_fit_beside_the_others_is_refused_in_exact_mode(
    tmp_path: Path,
) -> None:
    async def scene() -> None:
        async with agents.running(_settings(tmp_path, EXACT)) as agent:
            assert (True, "") == _verdict(await _create(agent, agents.pod("one", "10")))
            refused = await _create(agent, agents.pod("two", "6"))
            assert (False, "OutOfcpu") == _verdict(refused)
            status = kube_pod.status(refused)
            assert ("Failed", "OutOfcpu") == (status["phase"], status["reason"])
            assert status["message"].startswith("Pod was rejected: Node didn't have enough")
            counted = agent.keeper.counts().of(
                "kubelet_admission_rejections_total", (("reason", "OutOfcpu"),)
            )
            assert 1 == counted
            assert 0 == agent.keeper.counts().of("kubelet_topology_manager_admission_errors_total")
            # What was refused takes no room.
            for name in ("three", "four"):
                assert (True, "") == _verdict(await _create(agent, agents.pod(name, "1")))
            assert (False, "OutOfpods") == _verdict(await _create(agent, agents.pod("five", "1")))
            assert "OutOfcpu" in {each.reason for each in agent.keeper.view().events}

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"nodeSelector": {"disk": "ssd"}}, "NodeAffinity"),
        ({"nodeSelector": {"kubernetes.io/hostname": "node-a", "kubernetes.io/os": "linux"}}, ""),
        ({"nodeName": "node-b"}, "NodeName"),
        ({"nodeName": "node-a"}, ""),
    ],
)
def test_a_pod_for_another_node_is_refused(
    tmp_path: Path, spec: dict[str, Any], reason: str
) -> None:
    async def scene() -> None:
        async with agents.running(_settings(tmp_path, EXACT)) as agent:
            record = await _create(agent, agents.pod("one", "1", **spec))
            assert (not reason, reason) == _verdict(record)

    asyncio.run(scene())


def test_pods_are_evicted_for_a_static_one_and_stay_so_after_a_restart(tmp_path: Path) -> None:
    async def scene() -> None:
        given = _settings(tmp_path, EXACT)
        async with agents.running(given) as agent:
            for name, cpu in (("large", "9"), ("small", "4")):
                await _create(agent, agents.pod(name, cpu))
                await agent.until(lambda name=name: agent.phase(name) == "running")  # type: ignore[misc]
            assert (True, "") == _verdict(await _create(agent, _static("system", "5")))
            await agent.until(lambda: agent.phase("small") != "running")
            await agent.until(lambda: agent.phase("system") == "running")
            assert "running" == agent.phase("large")
            status = kube_pod.status(agent.record("small"))
            assert ("Failed", "Preempting", "Preempted in order to admit critical pod") == (
                status["phase"],
                status["reason"],
                status["message"],
            )
            (condition,) = status["conditions"]
            assert ("DisruptionTarget", "True") == (condition["type"], condition["status"])
            assert [("Preempting", "small")] == [
                (each.reason, each.pod_name)
                for each in agent.keeper.view().events
                if each.reason == "Preempting"
            ]
            lacking = await _create(agent, _static("too-much", "16"))
            assert (False, "UnexpectedAdmissionError") == _verdict(lacking)
        async with agents.running(given) as agent:
            assert (False, "Preempting") == _verdict(agent.record("small"))
            assert "running" == agent.phase("large")

    asyncio.run(scene())


def test_in_native_mode_nobody_ends_for_another_pod(tmp_path: Path) -> None:
    async def scene() -> None:
        async with agents.running(_settings(tmp_path, NATIVE)) as agent:
            for number in range(4):
                await _create(agent, agents.pod(f"pod-{number}", "9"))
            assert (True, "") == _verdict(await _create(agent, _static("system", "9")))
            assert [] == [e for e in agent.keeper.view().events if e.reason == "Preempting"]

    asyncio.run(scene())
