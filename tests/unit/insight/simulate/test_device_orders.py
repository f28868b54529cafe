"""A record whose devices varied is met if it comes out with some order of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from numalet.core.managers.device.inventory import Device
from numalet.core.managers.device.preference import Accepted, PreferenceQuestion, Preferred
from numalet.core.model.pod import ContainerKey
from numalet.insight.simulate import runner
from numalet.insight.simulate.runner import ORDER_COUNT, DeviceOrder, Failed, Passed
from numalet.insight.simulate.session import Scenario
from numalet.insight.usecases.scenario_file import RawScenario

GPU = "example.com/gpu"


def _scenario(first: str, *, varied: bool) -> Scenario:
    """Two GPUs on a node each; a pod takes one, and the next one is offered the other."""

    def pod(name: str) -> dict[str, Any]:
        limits = {"cpu": "1", "memory": "1Mi", GPU: "1"}
        container = {"name": "c", "image": "i", "resources": {"limits": limits}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "uid": name},
            "spec": {"containers": [container]},
        }

    devices = [{"id": f"g{node}", "numa_nodes": [node]} for node in (0, 1)]
    other = {"0": 1, "1": 0}[first]
    got: dict[str, Any] = {"devices_by_numa": {"c": {GPU: {first: 1}}}}
    steps = [
        {"admitted": True, **({"nondeterministic": ["devices"]} if varied else got)},
        {"admitted": True, "devices_by_numa": {"c": {GPU: {str(other): 1}}}},
    ]
    document = {
        "machine": {"shape": "2n4c1t", "memory_per_node": "1Gi"},
        "kubelet_config": {},
        "devices": [{"resource": GPU, "devices": devices}],
        "steps": [{"admit": pod("a")}, {"admit": pod("b")}],
        "expect": {"start_error": None, "steps": steps},
    }
    return RawScenario("f", json.dumps(document), 1).decode()


def test_what_follows_from_another_device_is_met_where_devices_varied() -> None:
    for node in ("0", "1"):
        assert runner.check(_scenario(node, varied=True)) == Passed()


def test_without_such_a_mark_the_order_is_that_of_the_ids() -> None:
    assert runner.check(_scenario("0", varied=False)) == Passed()
    assert isinstance(runner.check(_scenario("1", varied=False)), Failed)


def test_no_order_makes_another_outcome_right() -> None:
    scenario = _scenario("0", varied=True)
    assert scenario.expect is not None
    steps = [scenario.expect["steps"][0], {"admitted": False}]
    wrong = replace(scenario, expect={**scenario.expect, "steps": steps})

    assert isinstance(runner.check(wrong), Failed)


def test_devices_without_a_node_come_last_and_what_must_be_is_included() -> None:
    devices = {GPU: (Device("a"), Device("b", (0,)), Device("c", (1,)), Device("d", (1,)))}
    asked = PreferenceQuestion(
        ContainerKey("u", "c"), GPU, frozenset("abcd"), frozenset("d"), size=3
    )
    answers = [DeviceOrder(devices, number).preferred(asked) for number in range(ORDER_COUNT)]

    assert {Preferred(frozenset("bcd"))} == {*answers}
    one = replace(asked, size=1, must_include=frozenset())
    firsts = {DeviceOrder(devices, number).preferred(one) for number in range(ORDER_COUNT)}
    assert {Preferred(frozenset(name)) for name in "bcd"} == firsts
    assert DeviceOrder(devices, 0).allocate(asked.container, GPU, ("a",)) == Accepted()
