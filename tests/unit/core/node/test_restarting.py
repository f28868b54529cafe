"""A kubelet that starts again, and the pods that it sees before its sources are ready."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

import msgspec
import pytest

from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.config.rules import StartRefused
from numalet.core.managers.device.inventory import Device, Health
from numalet.core.model.pod import (
    Container,
    ContainerKey,
    ContainerKind,
    Pod,
    PodLevelResources,
    QosClass,
    StatusResources,
)
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node import restarting
from numalet.core.node.node import NO_DEVICES, Devices, Node
from numalet.core.node.restarting import KubeletRestart, Readmission
from numalet.insight.simulate.session import RestartStep, Session
from numalet.insight.usecases import scenario_document
from numalet.io.documents.text.typed import Place
from numalet.wording import kubelet, restarts
from oracles import recordings
from values import builders, cpu_builders

GPU = "example.com/gpu"
GPUS: Devices = {GPU: (Device("0"), Device("1"))}
MACHINE = replace(cpu_builders.shape(1, 1, 16, 1), memory_capacity_bytes=64 << 30)
NONE = KubeletConfig(uses_default_eviction=True)


def static(**more: Any) -> KubeletConfig:
    return KubeletConfig(
        cpu_manager_policy="static", reserved_system_cpus="0", uses_default_eviction=True, **more
    )


WHOLE_CORES = static(cpu_manager_policy_options={"full-pcpus-only": "true"})


def cpus(uid: str, count: int) -> Pod:
    asked = {"cpu": Quantity.parse(str(count)), "memory": Quantity.parse("1Mi")}
    return builders.pod(uid, Container("c", ContainerKind.APP, asked, asked))


def with_gpu(*kinds: ContainerKind, **more: Any) -> Pod:
    """A pod in which a container of each of these kinds has a GPU."""
    asked = {GPU: Quantity.parse("1")}
    pod = builders.pod("u", *(Container(each.value, each, asked, asked) for each in kinds))
    return replace(pod, qos_class=QosClass.BEST_EFFORT, **more)


def files_of(
    config: KubeletConfig, *pods: Pod, devices: Devices = NO_DEVICES, release: str = "1.32"
) -> dict[str, str]:
    """The state files of a kubelet that runs these pods."""
    behaviour = replace(EXACT, release=table.of_name(release))
    node = nodes.start(config, MACHINE, devices=devices, behaviour=behaviour)
    assert isinstance(node, Node), node
    for pod in pods:
        node, decision = node.admit(pod)
        assert decision.admitted, decision.rejection
        node = node.pod_started(pod.uid)
    return node.state_files()


def restarted(
    config: KubeletConfig,
    *pods: Pod,
    devices: Devices = NO_DEVICES,
    files: dict[str, str],
    release: str = "1.32",
) -> KubeletRestart:
    behaviour = replace(EXACT, release=table.of_name(release))
    result = restarting.restart(config, MACHINE, files, pods, devices, behaviour=behaviour)
    assert isinstance(result, KubeletRestart), result
    assert not result.node.snapshot.sources_ready
    return result


def test_files_that_do_not_fit_are_the_refusal_of_the_start() -> None:
    files = files_of(static(), cpus("a", 4))
    refused = restarting.restart(NONE, MACHINE, files, [cpus("a", 4)])

    assert isinstance(refused, StartRefused)
    assert refused.findings[0].code == "cpu-state/other-policy"


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.35", "1.36"])
def test_whole_cores_are_counted_before_what_a_container_has(release: str) -> None:
    pods = cpus("a", 6), cpus("b", 5)
    files = files_of(WHOLE_CORES, *pods, release=release)
    result = restarted(WHOLE_CORES, *pods, files=files, release=release)

    # Four cores are free, and nothing is given back before the sources are ready.
    assert result.rejected == result.pods
    for each in result.pods:
        assert kubelet.reason(each.decision.rejection) == "SMTAlignmentError"
        assert not each.waits_for_plugin
    assert restarted(static(), *pods, files=files, release=release).rejected == ()


def test_a_pod_that_keeps_everything_is_admitted() -> None:
    files = files_of(WHOLE_CORES, cpus("a", 6))
    result = restarted(WHOLE_CORES, cpus("a", 6), files=files)

    assert (result.rejected, [each.moves for each in result.pods]) == ((), [()])
    assert result.pods[0].pod == cpus("a", 6)
    assert result.began.snapshot.pods == {}
    assert [*result.node.snapshot.pods] == ["a"]


APP, INIT, SIDECAR = ContainerKind.APP, ContainerKind.INIT, ContainerKind.SIDECAR
NONE_HEALTHY = (
    "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
    "example.com/gpu, which is unexpected"
)


@pytest.mark.parametrize("devices", [NO_DEVICES, GPUS, {"example.com/nic": (Device("0"),)}])
@pytest.mark.parametrize(
    ("kinds", "is_lost"),
    [((APP,), False), ((SIDECAR, APP), False), ((INIT,), True), ((INIT, APP), True)],
)
def test_only_containers_that_run_do_without_their_plugin(
    kinds: tuple[ContainerKind, ...], is_lost: bool, devices: Devices
) -> None:
    pod = with_gpu(*kinds)
    files = files_of(NONE, pod, devices=GPUS)
    (seen,) = restarted(NONE, pod, files=files, devices=devices).pods

    assert seen.decision.admitted is not is_lost
    assert seen.waits_for_plugin is is_lost
    if is_lost:
        assert kubelet.message(seen.decision.rejection) == NONE_HEALTHY
        assert "unless its device plugin registers" in restarts.condition(seen)


def test_a_plugin_without_healthy_devices_is_not_waited_for() -> None:
    pod = with_gpu(INIT, APP)
    files = files_of(NONE, pod, devices=GPUS)
    broken = {GPU: (Device("0", health=Health.UNHEALTHY),)}
    (seen,) = restarted(NONE, pod, files=files, devices=broken).pods

    assert kubelet.message(seen.decision.rejection) == NONE_HEALTHY
    assert (seen.waits_for_plugin, restarts.condition(seen)) == (False, "")


def test_a_pod_is_rejected_for_another_reason_whenever_the_plugin_registers() -> None:
    asked = {GPU: Quantity.parse("1"), "cpu": Quantity.parse("9"), "memory": Quantity.parse("1Mi")}
    pod = builders.pod("a", Container("c", APP, asked, asked))
    files = files_of(WHOLE_CORES, pod, devices=GPUS)
    (seen,) = restarted(WHOLE_CORES, pod, files=files).pods

    assert kubelet.reason(seen.decision.rejection) == "SMTAlignmentError"
    assert not seen.waits_for_plugin


def status(**running: bool) -> StatusResources:
    return StatusResources({}, {}, running)


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({}, {"sidecar", "app"}),
        ({"phase": "Running"}, {"sidecar", "app"}),
        ({"phase": "Pending"}, set()),
        ({"phase": "Pending", "allocated": status(init=True)}, {"init"}),
        ({"phase": "Running", "allocated": status(init=False, app=False)}, {"sidecar"}),
    ],
)
def test_which_containers_run_is_said_by_the_status(more: dict[str, Any], names: set[str]) -> None:
    pod = with_gpu(INIT, SIDECAR, APP, **more)
    runs = {ContainerKey("u", name) for name in names}

    assert restarting.containers_that_run([pod]) == runs


def test_a_container_that_does_not_run_needs_its_plugin() -> None:
    pod = with_gpu(APP)
    files = files_of(NONE, pod, devices=GPUS)
    crashing = replace(pod, phase="Running", allocated=status(app=False))

    assert restarted(NONE, crashing, files=files).pods[0].waits_for_plugin
    rebooted = restarting.restart(NONE, MACHINE, files, [pod], running=())
    assert isinstance(rebooted, KubeletRestart)
    assert [each.waits_for_plugin for each in rebooted.rejected] == [True]


WHOLE_PODS = {"PodLevelResources": True, "PodLevelResourceManagers": True}


@pytest.mark.parametrize(
    ("policy", "reason"), [("best-effort", ""), ("restricted", "TopologyAffinityError")]
)
def test_a_pod_that_is_placed_whole_is_placed_a_second_time(policy: str, reason: str) -> None:
    config = static(
        topology_manager_policy=policy, topology_manager_scope="pod", feature_gates=WHOLE_PODS
    )
    asked = {"cpu": Quantity.parse("2"), "memory": Quantity.parse("1Gi")}
    pod = builders.pod("u", Container("a", APP, {}, {}), Container("b", APP, {}, {}))
    pod = replace(pod, pod_level=PodLevelResources(asked, asked, QosClass.GUARANTEED))
    files = files_of(config, pod, release="1.36")
    (seen,) = restarted(config, pod, files=files, release="1.36").pods

    assert kubelet.reason(seen.decision.rejection) == reason
    places = [(each.container, each.held.cpus, each.holds.cpus) for each in seen.moves]
    first, second = frozenset({1, 2}), frozenset({3, 4})
    assert places == ([] if reason else [("a", first, second), ("b", first, second)])


@cache
def _recorded() -> list[bytes]:
    return list(islice(recordings.lines("restart"), 25))


@pytest.mark.parametrize("number", range(25))
def test_recorded_restarts_are_this_operation(number: int) -> None:
    """The runner of recordings and this operation come to the same decisions."""
    line = msgspec.json.decode(_recorded()[number])
    scenario = scenario_document.decode(line, Place("recorded"))
    node = nodes.start(scenario.config, scenario.machine, scenario.state_files, scenario.devices)
    assert isinstance(node, Node)
    session = Session(scenario.config, scenario.machine, node, scenario.devices)
    for step in scenario.steps:
        before = session
        session, seen_again = session.after(step)
        if isinstance(step, Pod) or not isinstance(step, RestartStep):
            continue
        given = step.state_files or {}
        files = {n: t for n, t in {**before.node.state_files(), **given}.items() if t}
        result = restarting.restart(
            step.config or before.config,
            step.machine or before.machine,
            files,
            [before.pods[uid] for uid in step.order],
            before.devices,
            running=before.node.snapshot.active_containers(),
        )
        if not isinstance(seen_again, StartRefused):
            assert isinstance(result, KubeletRestart)
            for said, seen in zip(seen_again, result.pods, strict=True):
                assert said.rejection == seen.decision.rejection or seen.waits_for_plugin
            assert session.node.snapshot == result.node.sources_ready().snapshot
        else:
            assert isinstance(result, StartRefused)
            break


def test_a_decision_alone_waits_for_nothing() -> None:
    node = nodes.start(NONE, MACHINE)
    assert isinstance(node, Node)
    assert restarts.condition(Readmission(node.admit(cpus("a", 1))[1])) == ""
