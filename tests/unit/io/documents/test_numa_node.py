"""What a node publishes as JSON, and what is said where it can not be read."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest

from numalet.core.cluster import classes, published
from numalet.core.cluster.classes import ClassSpec
from numalet.core.cluster.published_state import (
    ContainerHeld,
    Held,
    NodeMemoryState,
    PodHeld,
    PublishedState,
)
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.hints.provider import Hint
from numalet.core.managers.memory.ledger import MemoryBlock
from numalet.core.model.findings import BadInput, Location
from numalet.core.model.machine_info import MachineInfo
from numalet.io.documents.cluster import numa_node, numa_node_class, published_text
from numalet.io.documents.cluster.numa_node import NumaNodeSpec
from values import published_lives
from values.builders import GI

HERE = Location("node.json")
RESOURCES = ("example.com/nic", "nvidia.com/gpu")

TEXTS: dict[str, PodHeld] = {
    "000abc c0-3,64 m0-1=16Gi m1Gi:0=2Gi d1=0-1,7": PodHeld(
        containers=(
            ContainerHeld(
                container_hash="000abc",
                held=Held(
                    cpus=frozenset({0, 1, 2, 3, 64}),
                    memory=(
                        MemoryBlock((0, 1), "memory", 16 * GI),
                        MemoryBlock((0,), "hugepages-1Gi", 2 * GI),
                    ),
                    devices={"nvidia.com/gpu": (0, 1, 7)},
                ),
            ),
        )
    ),
    "000abc c m": PodHeld(
        containers=(ContainerHeld(container_hash="000abc", held=Held(cpus=frozenset(), memory=())),)
    ),
    "000abc m1,0=1025 a0-1+ r;000abd a*- s": PodHeld(
        containers=(
            ContainerHeld(
                container_hash="000abc",
                held=Held(memory=(MemoryBlock((1, 0), "memory", 1025),)),
                affinity=Hint(0b11, True),
                ran_at_start=True,
            ),
            ContainerHeld(container_hash="000abd", affinity=Hint(None, False), is_assumed=True),
        )
    ),
    "* c4-5 m0=1Gi;~ c4 d0=1 m0=512Mi m2Mi:1=2Mi": PodHeld(
        whole=Held(cpus=frozenset({4, 5}), memory=(MemoryBlock((0,), "memory", GI),)),
        reusable=Held(cpus=frozenset({4}), devices={"example.com/nic": (1,)}),
        reusable_memory=((0b01, "memory", GI // 2), (0b10, "hugepages-2Mi", 1 << 21)),
    ),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_pod_is_one_text(text: str) -> None:
    assert published_text.pod_text(TEXTS[text], RESOURCES) == text
    assert published_text.pod(text, RESOURCES) == TEXTS[text]


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [(0, "0"), (1, "1"), (1 << 40, "1Ti"), (3 << 30, "3Gi"), ((1 << 64) - 1, str((1 << 64) - 1))],
)
def test_sizes_are_exact(size_bytes: int, text: str) -> None:
    assert published_text.size_text(size_bytes) == text
    assert published_text.size_bytes(text) == size_bytes


@pytest.mark.parametrize(
    "text",
    [
        *("", "00ab c0", "000abc x", "000abc cx", "000abc c3-1,", "000abc c0-999999"),
        *("000abc m0", "000abc m0=1G", "000abc m0=99999999999999999999", "000abc m2000=1"),
        *("000abc m0=16Ei", "000abc d2=0", "000abc dx=0", "000abc d²=0", "* r", "000abc a9999+"),
    ],
)
def test_what_is_no_text_of_a_pod_is_a_finding(text: str) -> None:
    value = node_value(pods={"uid": text})
    with pytest.raises(BadInput) as bad:
        numa_node.decode(value, HERE)

    assert [each.code for each in bad.value.findings] == ["input/invalid"]


def node_value(**state: Any) -> dict[str, Any]:
    spec = {"class": "abc", "published": "2026-01-31T12:00:00Z", "state": state}
    return {"metadata": {"name": "node-1"}, "spec": spec}


NO_NODES: tuple[Any, ...] = (
    node_value(memory={"x": {"assignments": 1, "group": "0"}}),
    node_value(memory={"0-1": {"assignments": 1, "group": "0"}}),
    {"metadata": {}},
    [],
)


@pytest.mark.parametrize("value", NO_NODES)
def test_nodes_that_are_no_nodes_are_findings(value: Any) -> None:
    with pytest.raises(BadInput):
        numa_node.decode(value, HERE)


def test_what_differs_from_what_would_follow_is_written_out() -> None:
    state = PublishedState(
        memory={
            3: NodeMemoryState(
                assignments=2, group=0b1010, reserved={"memory": GI}, free={"memory": 5}
            )
        },
        in_use={"nvidia.com/gpu": (0, 3)},
        sources_ready=False,
    )
    spec = NumaNodeSpec(class_name="abc", published="then", state=numa_node.document(state))
    written = numa_node.published_object("node-1", spec)

    assert written["spec"] == {
        "class": "abc",
        "published": "then",
        "state": {
            "memory": {
                "3": {
                    "assignments": 2,
                    "group": "1,3",
                    "reserved": {"memory": "1Gi"},
                    "free": {"memory": "5"},
                }
            },
            "inUse": {"nvidia.com/gpu": "0,3"},
            "sourcesReady": False,
        },
    }
    assert numa_node.decode(written, HERE).state == state


def random_class(seed: int) -> ClassSpec:
    life = published_lives.life(random.Random(seed))
    return classes.spec_of(life.node, life.config)


@pytest.mark.parametrize("seed", range(8))
def test_states_and_classes_survive_json(seed: int) -> None:
    life = published_lives.life(random.Random(seed))
    state = published.of_node(life.node)
    spec = NumaNodeSpec(class_name="a", published="b", state=numa_node.document(state))
    written = json.dumps(numa_node.published_object("node-1", spec))
    of_class = random_class(seed)
    class_text = json.dumps(numa_node_class.class_object(of_class))

    assert numa_node.decode(json.loads(written), HERE).state == state
    assert numa_node_class.decode(json.loads(class_text), HERE) == of_class


def test_a_machine_without_numa_nodes_and_options_without_content_survive() -> None:
    config = classes.only_decisive(
        KubeletConfig(cpu_manager_policy_options={}, eviction_hard={"memory.available": "0%"})
    )
    spec = ClassSpec(machine=MachineInfo((), 8 * GI, 4, 1), config=config)

    assert numa_node_class.decode(numa_node_class.class_object(spec), HERE) == spec


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"release": "1.99"}, "input/not-supported"),
        ({"mode": "other"}, "input/not-supported"),
        ({"rules": {"no_such_rule": "true"}}, "input/not-supported"),
        ({"rules": {"release_at_once": "maybe"}}, "document/type"),
        ({"rules": {"release_at_once": "3"}}, "document/type"),
        ({"devices": {"nvidia.com/gpu": [[0]]}}, "input/invalid"),
        ({"machine": {"nodes": []}}, "document/field-missing"),
        ({"machine": 3}, "document/type"),
        ({"configuration": {"topologyManagerPolicy": "restricted"}}, "input/invalid"),
        ({"rules": {"memory_node_classes": '["memory"]'}}, "input/invalid"),
    ],
)
def test_a_changed_class_is_a_finding(changes: dict[str, Any], code: str) -> None:
    value = copy.deepcopy(numa_node_class.class_object(random_class(1)))
    value["spec"] |= changes
    with pytest.raises(BadInput) as bad:
        numa_node_class.decode(value, HERE)

    assert [each.code for each in bad.value.findings] == [code]
