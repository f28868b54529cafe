"""What kubelets of each release answer to a resize."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from numalet.core.config.behaviour import EXACT
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.config.releases import table
from numalet.core.model.pod import Container, ContainerKind, Pod, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node import resizing
from numalet.core.node.node import Node
from numalet.core.node.resizing import (
    Deferred,
    Feasible,
    Infeasible,
    MoreThanCapacity,
    NotAtAll,
    PinnedResource,
    ResizeAnswer,
)
from numalet.wording import kubelet_resizes
from values import cpu_builders
from values.builders import GI

MI = 1 << 20
ON = {"InPlacePodVerticalScaling": True}
CPUS = {"InPlacePodVerticalScalingExclusiveCPUs": True}
MEMORY = {"InPlacePodVerticalScalingExclusiveMemory": True}
MACHINE = replace(cpu_builders.shape(2, 2, 4, 2), memory_capacity_bytes=2 * GI)
"""16 CPUs and 1Gi on each of two NUMA nodes."""


def _config(gates: Mapping[str, bool], *, static: bool = True) -> KubeletConfig:
    shared = KubeletConfig(
        kube_reserved={"cpu": "1", "memory": "100Mi"},
        eviction_hard={"memory.available": "100Mi"},
        feature_gates=gates,
    )
    if not static:
        return shared
    return replace(
        shared,
        cpu_manager_policy="static",
        memory_manager_policy="Static",
        reserved_memory=(ReservedMemory(0, {"memory": Quantity(200 * MI)}),),
    )


def _started(release: str, config: KubeletConfig) -> Node:
    behaviour = replace(EXACT, release=table.of_name(release))
    node = nodes.start(config, MACHINE, behaviour=behaviour)
    assert isinstance(node, Node), node
    return node


def _pod(cpu: str, memory: str, init_cpu: str = "1", qos: QosClass = QosClass.GUARANTEED) -> Pod:
    asked = {"cpu": Quantity.parse(cpu), "memory": Quantity.parse(memory)}
    init = {**asked, "cpu": Quantity.parse(init_cpu)}
    return cpu_builders.pod(
        "u",
        Container("i", ContainerKind.INIT, init, init),
        Container("c", ContainerKind.APP, asked, asked),
        qos=qos,
    )


BEFORE = _pod("2", "128Mi")


def _answer(release: str, after: Pod, config: KubeletConfig, before: Pod = BEFORE) -> ResizeAnswer:
    node, decision = _started(release, config).admit(before)
    assert decision.admitted, decision
    return resizing.answer(node, config, before, after)


def _text(release: str, after: Pod, gates: Mapping[str, bool]) -> str:
    config = _config(gates)
    answer = _answer(release, after, config)
    if not isinstance(answer, Infeasible | Deferred):
        return ""
    rules = _started(release, config).rules.release_rules
    return kubelet_resizes.message(answer, rules)


@pytest.mark.parametrize("release", ["1.32", "1.33", "1.36"])
def test_pods_are_resized_where_the_gate_is_on(release: str) -> None:
    after, config = _pod("3", "128Mi"), _config({}, static=False)
    is_on = release != "1.32"
    assert (Feasible() if is_on else NotAtAll()) == _answer(release, after, config)
    on = replace(config, feature_gates=ON if release != "1.36" else {})
    assert _answer(release, after, on) == Feasible()


OLD_CPU = "Resize is infeasible for Guaranteed Pods alongside CPU Manager static policy"
OLD_MEMORY = "Resize is infeasible for Guaranteed Pods alongside Memory Manager static policy"
NEW_CPU = 'Resize is infeasible for Guaranteed Pods alongside CPU Manager policy "static"'
NEW_MEMORY = 'Resize is infeasible for Guaranteed Pods alongside Memory Manager policy "Static"'


@pytest.mark.parametrize(
    ("release", "gates", "cpu", "memory", "text"),
    [
        ("1.32", ON, "3", "128Mi", OLD_CPU),
        ("1.32", ON, "2", "256Mi", OLD_CPU),
        ("1.32", {**ON, **CPUS}, "2", "128Mi", ""),
        ("1.33", {}, "2", "256Mi", OLD_CPU),
        ("1.33", CPUS, "2", "128Mi", ""),
        ("1.34", {}, "3", "256Mi", NEW_CPU),
        ("1.34", CPUS, "3", "256Mi", NEW_MEMORY),
        ("1.35", {}, "2", "256Mi", NEW_MEMORY),
        ("1.36", {}, "3", "128Mi", NEW_CPU),
        ("1.36", {}, "2", "256Mi", NEW_MEMORY),
        ("1.36", {**CPUS, **MEMORY}, "2", "128Mi", ""),
    ],
)
def test_guaranteed_pods_keep_what_is_pinned(
    release: str, gates: Mapping[str, bool], cpu: str, memory: str, text: str
) -> None:
    assert text == _text(release, _pod(cpu, memory), gates)


@pytest.mark.parametrize(("release", "text"), [("1.32", ""), ("1.33", OLD_MEMORY)])
def test_the_memory_manager_alone_stops_nothing_in_the_oldest_release(
    release: str, text: str
) -> None:
    config = replace(_config(ON), cpu_manager_policy="none")
    answer = _answer(release, _pod("3", "128Mi"), config)
    assert (answer == Infeasible(PinnedResource("memory"))) is bool(text)


def test_pods_of_other_classes_are_resized_beside_static_policies() -> None:
    before = _pod("2", "128Mi", qos=QosClass.BURSTABLE)
    after = _pod("3", "128Mi", qos=QosClass.BURSTABLE)
    for release in ("1.33", "1.34", "1.36"):
        assert _answer(release, after, _config({}), before) == Feasible()


def test_later_releases_look_at_what_changes() -> None:
    config = replace(_config({}), memory_manager_policy="None", reserved_memory=())
    after = _pod("2", "256Mi", init_cpu="1")
    assert _answer("1.33", after, config) == Infeasible(PinnedResource("cpu"))
    assert _answer("1.34", after, config) == Feasible()


@pytest.mark.parametrize("release", ["1.33", "1.34", "1.36"])
def test_what_does_not_change_is_no_resize(release: str) -> None:
    assert _answer(release, _pod("2000m", "128Mi"), _config({})) == Feasible()


@pytest.mark.parametrize(
    ("release", "is_resized"), [("1.34", False), ("1.35", False), ("1.36", True)]
)
def test_init_containers_count_in_later_releases(release: str, is_resized: bool) -> None:
    answer = _answer(release, _pod("2", "128Mi", init_cpu="2"), _config({}))
    assert (answer == Infeasible(PinnedResource("cpu"))) is is_resized


@pytest.mark.parametrize("release", ["1.33", "1.34", "1.35", "1.36"])
def test_more_than_the_node_has_is_infeasible(release: str) -> None:
    config = _config({}, static=False)
    answer = _answer(release, _pod("20", "3Gi"), config)
    if release == "1.36":
        assert isinstance(answer, Deferred)
        rules = _started(release, config).rules.release_rules
        assert kubelet_resizes.message(answer, rules).startswith("Node didn't have enough resource")
        return
    assert isinstance(answer, Infeasible)
    assert isinstance(answer.why, MoreThanCapacity)
    assert (answer.why.resource, answer.why.requested) == ("memory", 3 * GI)
    rules = _started(release, config).rules.release_rules
    assert kubelet_resizes.message(answer, rules) == (
        f"Node didn't have enough capacity: memory, requested: {3 * GI}, capacity: "
        f"{answer.why.capacity}"
    )
    cpu = _answer(release, _pod("20", "128Mi"), config)
    assert cpu == Infeasible(MoreThanCapacity("cpu", 20_000, 15_000))


@pytest.mark.parametrize(("release", "left"), [("1.33", 1848), ("1.34", 1948), ("1.35", 1948)])
def test_eviction_thresholds_are_subtracted_before_later_releases(release: str, left: int) -> None:
    answer = _answer(release, _pod("2", "3Gi"), _config({}, static=False))
    assert answer == Infeasible(MoreThanCapacity("memory", 3 * GI, left * MI))


def test_what_others_have_defers_it() -> None:
    config = _config({}, static=False)
    node, _ = _started("1.35", config).admit(BEFORE)
    other = replace(_pod("12", "128Mi"), uid="other", name="other")
    node, decision = node.admit(other)
    assert decision.admitted
    answer = resizing.answer(node, config, BEFORE, _pod("4", "128Mi"))
    assert isinstance(answer, Deferred)
    assert kubelet_resizes.reason(answer) == "Deferred"
    text = "Node didn't have enough resource: cpu, requested: 4000, used: 12000, capacity: 15000"
    assert text == kubelet_resizes.message(answer, node.rules.release_rules)
