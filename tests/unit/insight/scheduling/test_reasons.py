"""One line for each cause of a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from numalet.core.admission.reasons import (
    AllocationRefused,
    KubeletWouldCrash,
    NotAligned,
    NothingToPreempt,
    OutOfResource,
    PodLevelOff,
    PredicateFailed,
    Rejection,
    SidecarForbidden,
)
from numalet.core.cluster import asking, shapes
from numalet.core.cluster.facts import FactReader
from numalet.core.hints.provider import ZERO_HINT, Reason
from numalet.core.managers.cpu import reasons as of_cpus
from numalet.core.managers.device import reasons as of_devices
from numalet.core.managers.memory import reasons as of_memory
from numalet.core.model.pod import Pod
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.insight.scheduling import filtering, reasons
from numalet.insight.scheduling.expected_nodes import ExpectedNodes
from numalet.insight.scheduling.filtering import NodeFilter
from values import gpu_fleet
from values.gpu_fleet import GPU


def text(on: Node, pod: Pod, rejection: Rejection | None = None) -> str:
    """The line for a pod, without what begins all of them."""
    facts = FactReader().facts(on)
    shape = shapes.shape_of(pod)
    said = rejection or on.admit(shape)[1].rejection
    assert said is not None
    line = reasons.text(facts, asking.of(shape, facts.node_class).pod, said)
    assert line.startswith("numalet: ")
    assert len(line) < 100
    return line.removeprefix("numalet: ")


def after(on: Node, pods: Iterable[Pod], gone: Iterable[str] = ()) -> Node:
    return gpu_fleet.running("n", pods, gone, on=on).node


PAIRS = [gpu_fleet.pod(uid, 2) for uid in "abcd"]


@pytest.mark.parametrize("scope", ["pod", "container"])
def test_single_numa_node(scope: str) -> None:
    on, asks = gpu_fleet.empty(scope=scope), gpu_fleet.pod
    split = after(on, PAIRS, "ac")
    assert text(split, asks("p", 4)) == f"no NUMA node has 4 {GPU} free"
    assert text(split, asks("p", 5, 1, 1)) == f"5 {GPU} never fit on one NUMA node"
    assert text(after(on, PAIRS, "a"), asks("p", 3, 1, 1)) == f"fewer than 3 {GPU} free"
    full = [asks("x", 4, 1, 1), asks("y", 4, 1, 1)]
    assert text(after(on, full), asks("p", 1, 1, 1)) == f"no {GPU} free"
    assert text(on, asks("p", 0, 33, 1)) == "33 CPUs never fit on one NUMA node"
    assert text(on, asks("p", 0, 1, 300)) == "300Gi of memory never fits on one NUMA node"
    cpus = after(on, [asks("x", 0, 30, 1), asks("y", 0, 32, 1)])
    assert text(cpus, asks("p", 0, 1, 1)) == "no NUMA node has 1 CPU free"
    memory = after(on, [asks("x", 0, 1, 200), asks("y", 0, 1, 200)])
    assert text(memory, asks("p", 0, 1, 100)) == "no NUMA node has 100Gi of memory free"


def test_of_each_enough_but_not_together() -> None:
    pods = [gpu_fleet.pod("cpus", 0, 30, 1), gpu_fleet.pod("gpus", 4, 1, 1)]
    on, asks = after(gpu_fleet.empty(), pods), gpu_fleet.pod("p", 1, 10, 1)
    assert text(on, asks) == f"no NUMA node has 10 CPUs and 1Gi of memory and 1 of {GPU} together"


def test_what_is_too_long_for_one_line() -> None:
    long = replace(gpu_fleet.pod("p", 1, 10, 1))
    pods = [gpu_fleet.pod("cpus", 0, 30, 1), gpu_fleet.pod("gpus", 4, 1, 1)]
    (only,) = long.app_containers
    odd = dict(only.requests)
    odd["memory"] = type(odd["memory"]).parse("1073741825")
    odd["cpu"] = type(odd["cpu"]).parse("10")
    asks = replace(long, app_containers=(replace(only, requests=odd, limits=odd),))
    words = "all that the pod asks for"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reasons, "MOST_CHARACTERS", 80)
        assert text(after(gpu_fleet.empty(), pods), asks) == f"no NUMA node has {words}"
        on = gpu_fleet.empty("restricted")
        refused = NotAligned("pod", "restricted", ZERO_HINT)
        restricted = f"no NUMA nodes that restricted accepts have {words}"
        assert text(on, asks, refused) == restricted
    resource = "example.com/" + "x" * 200
    missing = OutOfResource(resource, 1, 0, 0)
    assert text(gpu_fleet.empty("none"), gpu_fleet.pod("p", 0, 1, 1), missing).endswith("x...")


def test_restricted_accepts_as_few_numa_nodes_as_would_do() -> None:
    on, asks = gpu_fleet.empty("restricted"), gpu_fleet.pod
    one_each = [asks(uid, 1, 1, 1) for uid in "abcdefgh"]
    split = after(on, one_each, "aebf")
    assert (
        text(split, asks("p", 4, 1, 1))
        == f"no NUMA nodes that restricted accepts have 4 {GPU} free"
    )
    wide = after(nodes_without_gpus(), [asks("wide", 0, 40, 300)])
    assert text(wide, asks("p", 0, 1, 1)) == "memory is in a group of NUMA nodes"


def nodes_without_gpus() -> Node:
    node = nodes.start(gpu_fleet.kubelet_config("restricted"), gpu_fleet.machine())
    assert isinstance(node, Node)
    return node


@dataclass(frozen=True)
class FromOutside:
    """A reason of a manager that the project does not have."""

    code: ClassVar[str] = "quota/none-left"


WORDS: list[tuple[Rejection, str]] = [
    (NotAligned("pod", "restricted", ZERO_HINT), "no NUMA nodes that restricted accepts have room"),
    (KubeletWouldCrash("c", "memory", of_memory.UnknownMemoryType("x", 0)),
     "this pod would crash or hang its kubelet"),
    (OutOfResource("pods", 1, 110, 110), "no room for another pod"),
    (OutOfResource("cpu", 1500, 0, 0), "fewer than 1.5 CPUs free in all"),
    (OutOfResource("memory", 1 << 30, 0, 0), "less than 1Gi of memory free in all"),
    (OutOfResource("example.com/nic", 2, 0, 0), "fewer than 2 example.com/nic free in all"),
    (PodLevelOff(), "its kubelet does not support pods with spec.resources"),
    (PredicateFailed("NodeAffinity"), "its kubelet would say NodeAffinity"),
    (
        SidecarForbidden("proxy"),
        "its kubelet does not support sidecars (restartPolicy Always of init containers)",
    ),
    (NothingToPreempt((("cpu", 1),)), "no evictions make room for this critical pod"),
]  # fmt: skip

CAUSES: list[tuple[str, Reason, str]] = [
    ("cpu", of_cpus.NotWholeCores("c", 3, 2), "3 CPUs would not be whole cores"),
    ("cpu", of_cpus.TooFewWholeCores("c", 4, 2, 2), "fewer than 4 CPUs free on whole cores"),
    ("cpu", of_cpus.TooFewCpus(4, 2), "too few CPUs free where they are needed"),
    ("cpu", of_cpus.NoCpusToShare(4, 4),
     "nothing of spec.resources is left for containers that share"),
    ("memory", of_memory.NotAnInteger("c", "memory", "1.5Gi"),
     "1.5Gi of memory is not a whole number of bytes"),
    ("memory", of_memory.NoNodeFits("c"), "no NUMA nodes that go together have the memory free"),
    ("device", of_devices.NotRegistered("c", GPU), f"no healthy {GPU}"),
    ("device", of_devices.TooFewFree("c", GPU, 4, 2), f"too few {GPU} free"),
    ("quota", FromOutside(), "its kubelet would reject it: quota/none-left"),
]  # fmt: skip


@pytest.mark.parametrize(("rejection", "words"), WORDS, ids=lambda each: getattr(each, "code", ""))
def test_a_refusal_of_another_kind(rejection: Rejection, words: str) -> None:
    assert text(gpu_fleet.empty("none"), gpu_fleet.pod("p", 0, 0, 0), rejection) == words


@pytest.mark.parametrize(("provider", "cause", "words"), CAUSES)
def test_a_manager_that_does_not_allocate(provider: str, cause: Reason, words: str) -> None:
    refused = AllocationRefused("c", provider, cause)
    assert text(gpu_fleet.empty("none"), gpu_fleet.pod("p", 0, 0, 0), refused) == words


def test_a_full_cache_of_texts_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "_MOST_TEXTS", 1)
    every = ExpectedNodes()
    for name, node in gpu_fleet.split_fleet().nodes.items():
        every.put(name, node)
    answers = NodeFilter(every)
    for gpus in (8, 4):
        first = answers.filtered(gpu_fleet.asking(gpus), [*every.nodes])
        assert first.failed
        assert answers.filtered(gpu_fleet.asking(gpus), [*every.nodes]) == first
