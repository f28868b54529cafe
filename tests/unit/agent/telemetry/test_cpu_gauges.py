"""The gauges of the CPU Manager that move with events, as the kubelet moves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.controller.node_state import NodeState
from numalet.agent.telemetry import gauges
from numalet.agent.telemetry import metrics as names
from numalet.core.config.behaviour import EXACT, NATIVE
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.config.releases import table
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.pod import Pod, PodLevelResources, QosClass
from numalet.core.model.quantity import Quantity
from numalet.core.node import node as nodes
from numalet.core.node.node import Node
from numalet.io.documents.kubelet import kubelet_config
from numalet.io.documents.kubelet.kubelet_config import ConfigSources
from running import agents, kubelet_node


@pytest.fixture
def state(tmp_path: Path) -> NodeState:
    """An empty node with 16 CPUs, of which 2 are reserved."""
    document = kubelet_node.CONFIG.replace('cpu: "1"', 'cpu: "2"')
    node = kubelet_node.made(tmp_path, document=document).node
    return NodeState(node=node, cpu_gauges=gauges.cpu_gauges_at_start(node))


def _config(folder: Path) -> KubeletConfig:
    return kubelet_config.load(ConfigSources(config_file=folder / "root" / "config.yaml")).config


def _container(name: str, cpu: str) -> dict[str, Any]:
    amounts = {"cpu": cpu, "memory": "1Gi"}
    return {"name": name, "command": ["prepare"], "resources": {"limits": amounts}}


def _pod_with_init(name: str, cpu: str) -> Pod:
    """A pod whose app container uses the CPUs of its init container again."""
    return agents.pod(name, cpu, "1Gi", initContainers=[_container("init", cpu)]).pod


def _after(state: NodeState, *pods: Pod) -> NodeState:
    for pod in pods:
        node, decision = state.node.admit(pod)
        assert decision.admitted
        state = state.at(node)
    return state


def _shown(state: NodeState) -> tuple[float, float]:
    measured = gauges.gauges(state.node, GuaranteeLevel.NONE, {}, moved=state.cpu_gauges)
    return measured[names.EXCLUSIVE_CPUS][0][1], measured[names.SHARED_POOL][0][1]


def test_cpus_that_are_used_again_are_counted_twice(state: NodeState) -> None:
    assert _shown(state) == (0, 14_000)
    full = _after(state, _pod_with_init("one", "4"), agents.pod("two", "5").pod)
    assert _shown(full) == (13, 1000)
    assert _shown(replace(full, cpu_gauges=None)) == (9, 5000)


def test_they_stay_wrong_when_the_pod_has_gone(state: NodeState) -> None:
    one = _pod_with_init("one", "4")
    gone = _after(state, one)
    gone = gone.at(gone.node.remove(one.uid))
    # Its CPUs are released when the next pod asks.
    assert _shown(gone) == (8, 6000)
    assert _shown(_after(gone, agents.pod("two", "1").pod)) == (4 + 1, 10_000 - 1000)


def test_a_restart_counts_the_entries_of_the_state_file(state: NodeState, tmp_path: Path) -> None:
    full = _after(state, _pod_with_init("one", "4"), agents.pod("two", "5").pod)
    node = full.node
    started = nodes.start(_config(tmp_path), node.rules.machine, node.state_files())
    assert isinstance(started, Node)
    again = NodeState(node=started, cpu_gauges=gauges.cpu_gauges_at_start(started))
    # Both containers of the first pod have an entry; the pool is what the file says.
    assert _shown(again) == (13, 5000)


def test_without_the_static_policy_they_are_zero(tmp_path: Path) -> None:
    document = kubelet_node.CONFIG.replace("cpuManagerPolicy: static\n", "")
    node = kubelet_node.made(tmp_path / "none", document=document).node
    state = NodeState(node=node, cpu_gauges=gauges.cpu_gauges_at_start(node))
    assert _shown(_after(state, agents.pod("one", "2").pod)) == (0, 0)


def test_in_native_mode_they_say_what_the_ledger_holds(state: NodeState, tmp_path: Path) -> None:
    started = nodes.start(_config(tmp_path), state.node.rules.machine, behaviour=NATIVE)
    assert isinstance(started, Node)
    native = NodeState(node=started, cpu_gauges=gauges.cpu_gauges_at_start(started))
    assert native.cpu_gauges is None
    assert _shown(_after(native, _pod_with_init("one", "4"))) == (4, 10_000)


def _later(state: NodeState, release: str) -> NodeState:
    """The same node at the start of a kubelet of this release."""
    rules = state.node.rules
    later = replace(rules, release_rules=table.of_name(release).rules_with(lambda _: False))
    node = replace(state.node, roster=replace(state.node.roster, rules=later))
    return NodeState(node=node, cpu_gauges=gauges.cpu_gauges_at_start(node))


def _by_node(state: NodeState) -> dict[str, float]:
    measured = gauges.gauges(state.node, GuaranteeLevel.NONE, {}, moved=state.cpu_gauges)
    return {dict(labels)["numa_node"]: value for labels, value in measured[names.CPUS_BY_NODE]}


@pytest.mark.parametrize(("release", "count"), [("1.32", 8), ("1.33", 4), ("1.36", 4)])
def test_some_releases_count_a_cpu_of_two_containers_once_at_the_start(
    state: NodeState, release: str, count: int
) -> None:
    full = _after(state, _pod_with_init("one", "4"))
    assert _shown(_later(full, release)) == (count, 10_000)


def test_a_node_whose_last_cpu_is_released_keeps_its_value(state: NodeState) -> None:
    state = _later(state, "1.33")
    assert _by_node(state) == {}
    one, two = agents.pod("one", "3").pod, agents.pod("two", "2").pod
    state = _after(state, one)
    assert _by_node(state) == {"0": 3}
    # Both nodes have some, then the second one has none, and then neither.
    three = agents.pod("three", "4").pod
    state = _after(state, two, three)
    assert _by_node(state) == {"0": 5, "1": 4}
    gone = state.at(state.node.remove(three.uid))
    gone = gone.at(gone.node.release_stale())
    assert _by_node(gone) == {"0": 5, "1": 4}
    for pod in (one, two):
        gone = gone.at(gone.node.remove(pod.uid))
    # They go one after the other, and the first leaves the second's CPUs.
    assert _by_node(gone.at(gone.node.release_stale())) == {"0": 2, "1": 4}


def test_natively_every_node_has_its_number(tmp_path: Path) -> None:
    node = kubelet_node.made(tmp_path).node
    native = replace(node.rules, behaviour=NATIVE)
    node = replace(node, roster=replace(node.roster, rules=native))
    state = NodeState(node=node, cpu_gauges=gauges.cpu_gauges_at_start(node))
    assert _by_node(state) == {"0": 0, "1": 0}
    one = agents.pod("one", "3").pod
    full = _after(state, one)
    assert _by_node(full) == {"0": 3, "1": 0}
    gone = full.at(full.node.remove(one.uid))
    assert _by_node(gone.at(gone.node.release_stale())) == {"0": 0, "1": 0}


def _as_a_whole(name: str, cpu: int, *containers: dict[str, Any]) -> Pod:
    """A pod with pod-level resources; a container without resources shares what is left."""
    asked = {"cpu": Quantity.from_int(cpu), "memory": Quantity.from_bytes(2 << 30)}
    pod = agents.pod(name, containers=list(containers)).pod
    qos = QosClass.GUARANTEED
    return replace(pod, qos_class=qos, pod_level=PodLevelResources(asked, asked, qos))


def _sharing(name: str) -> dict[str, Any]:
    return {"name": name, "command": ["serve"]}


@pytest.fixture
def in_pod_scope(state: NodeState, tmp_path: Path) -> NodeState:
    """The node of a kubelet v1.36 that places pods as a whole."""
    gates = {"PodLevelResources": True, "PodLevelResourceManagers": True}
    config = replace(_config(tmp_path), feature_gates=gates, topology_manager_scope="pod")
    behaviour = replace(EXACT, release=table.of_name("1.36"))
    node = nodes.start(config, state.node.rules.machine, behaviour=behaviour)
    assert isinstance(node, Node)
    return NodeState(node=node, cpu_gauges=gauges.cpu_gauges_at_start(node))


def test_a_pod_that_is_placed_as_a_whole_is_counted_once(in_pod_scope: NodeState) -> None:
    """As recorded of kubelet v1.36.2: every CPU of the pod once, and its NUMA node not yet."""
    own, one = agents.pod("one", "3").pod, _container("own", "2")
    whole = _as_a_whole("whole", 8, one, _sharing("first"), _sharing("second"))
    state = _after(in_pod_scope, own)
    assert (_shown(state), _by_node(state)) == ((3, 11_000), {"0": 3})
    state = _after(state, whole)
    assert sum(map(len, state.node.snapshot.cpu.exclusive[whole.uid].values())) == 2 + 6 + 6
    assert (_shown(state), _by_node(state)) == ((11, 3000), {"0": 3})
    # The next one counts its NUMA node too.
    last = agents.pod("last", "1").pod
    state = _after(state, last)
    assert (_shown(state), _by_node(state)) == ((12, 2000), {"0": 4, "1": 8})
    state = state.at(state.node.remove(whole.uid))
    state = state.at(state.node.release_stale())
    assert (_shown(state), _by_node(state)) == ((4, 10_000), {"0": 4, "1": 8})


def test_a_pod_that_was_placed_as_a_whole_is_released_with_its_last_container(
    in_pod_scope: NodeState,
) -> None:
    whole = _as_a_whole("whole", 4, _container("own", "1"), _sharing("other"))
    state = _after(in_pod_scope, whole)
    assert (_shown(state), _by_node(state)) == ((4, 10_000), {})
    assert _shown(_later(state, "1.36")) == (4, 10_000)
    assert _by_node(_later(state, "1.36")) == {"0": 4}
    gone = state.at(state.node.remove(whole.uid))
    gone = gone.at(gone.node.release_stale())
    assert (_shown(gone), _by_node(gone)) == ((0, 14_000), {})
