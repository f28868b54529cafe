"""Laws of pods that are placed as a whole, and a plain account of how their containers divide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numalet.core.config.behaviour import EXACT, NATIVE, Behaviour
from numalet.core.config.rules import StartRefused
from numalet.core.model.cpu_set import CpuSet
from numalet.core.model.pod import Pod
from numalet.core.node.node import Node
from numalet.core.snapshot import invariants
from values import whole_pods
from values.whole_pods import MIB, asked, config

POLICIES = st.sampled_from(["best-effort", "restricted", "single-numa-node"])
OPTIONS = st.sampled_from(
    [
        {},
        {"full-pcpus-only": "true"},
        {"distribute-cpus-across-numa": "true"},
        {"strict-cpu-reservation": "true"},
        {"prefer-align-cpus-by-uncorecache": "true"},
    ]
)
PARTS = st.one_of(
    st.none(),
    st.builds(
        asked,
        st.sampled_from(["1", "2", "3", "500m", "1500m", "0", ""]),
        st.sampled_from(["64Mi", "256Mi", "1Gi", "0", ""]),
    ),
)
TOTALS = st.builds(
    asked,
    st.sampled_from(["1", "2", "4", "5", "8", "3500m"]),
    st.sampled_from(["512Mi", "1Gi", "9Gi"]),
)


@st.composite
def pods(draw: st.DrawFn, uid: str = "u") -> Pod:
    """Pods of up to two init containers, sidecars and containers each, in any order."""
    names = [f"i{at}" for at in range(draw(st.integers(0, 2)))]
    names += [f"s{at}" for at in range(draw(st.integers(0, 2)))]
    starting = draw(st.permutations(names))
    apps = [f"c{at}" for at in range(draw(st.integers(1, 2)))]
    parts: dict[str, Any] = {name: draw(PARTS) for name in (*starting, *apps)}
    return whole_pods.pod(uid, draw(TOTALS), parts)


def exclusive(of: Pod) -> dict[str, tuple[int, int]]:
    """Whole CPUs and bytes of every container that is Guaranteed by itself."""
    alone = {}
    for each in of.containers():
        cpu, memory = each.requests.get("cpu"), each.requests.get("memory")
        is_alone = cpu is not None and memory is not None and cpu.sign > 0 and memory.sign > 0
        whole = cpu.milli_value // 1000 if cpu is not None and cpu.milli_value % 1000 == 0 else 0
        alone[each.name] = (whole, memory.value) if is_alone and memory is not None else (0, 0)
    return alone


def fits(of: Pod) -> bool:
    """Whether the API server would let it pass: no more for single containers than in all."""
    assert of.pod_level is not None
    alone = exclusive(of)
    stays = [name for name in alone if not name.startswith("i")]
    for at, name in ((0, "cpu"), (1, "memory")):
        quantity = of.pod_level.requests[name]
        total = quantity.milli_value // 1000 if at == 0 else quantity.value
        before = 0
        for container in alone:
            peak = before + alone[container][at]
            if container.startswith("i") and peak > total:
                return False
            before += 0 if container.startswith("i") else alone[container][at]
        if sum(alone[each][at] for each in stays) > total:
            return False
    return True


def started(policy: str, options: dict[str, str], behaviour: Behaviour) -> Node:
    of = replace(
        config(policy),
        cpu_manager_policy_options=options or None,
        feature_gates={**whole_pods.MANAGERS, "CPUManagerPolicyAlphaOptions": True},
    )
    return whole_pods.node(of, behaviour=behaviour)


@given(of=pods(), policy=POLICIES, options=OPTIONS)
@settings(max_examples=60, deadline=None)
def test_containers_divide_what_the_pod_has(of: Pod, policy: str, options: dict[str, str]) -> None:
    node, decision = started(policy, options, EXACT).admit(of)
    if not decision.admitted or not fits(of) or "u" not in node.snapshot.cpu.pods:
        return
    pool, parts = node.snapshot.cpu.pods["u"], node.snapshot.cpu.exclusive["u"]
    alone = exclusive(of)
    left: CpuSet = pool
    for name in parts:
        count = alone[name][0]
        if name.startswith("i"):
            assert parts[name] <= left
            assert count in (0, len(parts[name]))
            assert count or parts[name] == left
        elif count:
            assert len(parts[name]) == count
            assert parts[name] <= left
            left -= parts[name]
    assert all(cpus for cpus in parts.values())
    shared = [parts[n] for n in parts if not n.startswith("i") and not alone[n][0]]
    assert all(cpus == left for cpus in shared)


@given(of=pods(), policy=POLICIES)
@settings(max_examples=60, deadline=None)
def test_memory_is_divided_without_a_rest(of: Pod, policy: str) -> None:
    node, decision = started(policy, {}, EXACT).admit(of)
    if not decision.admitted or not fits(of) or "u" not in node.snapshot.memory.pods:
        return
    assert of.pod_level is not None
    total = of.pod_level.requests["memory"].value
    alone = {name: size for name, (_, size) in exclusive(of).items()}
    sizes = {
        name: sum(block.size_bytes for block in blocks)
        for name, blocks in node.snapshot.memory.blocks["u"].items()
    }
    stays = [name for name in sizes if not name.startswith("i")]
    rest = total - sum(alone[name] for name in stays)
    assert {name: sizes[name] for name in stays} == {n: alone[n] or rest for n in stays}
    assert sum(whole_pods.reserved_mib(node)) * MIB == total
    assert not invariants.violations(node.snapshot)


@pytest.mark.parametrize("behaviour", [EXACT, NATIVE], ids=["exact", "native"])
@given(
    of=st.tuples(pods("u0"), pods("u1"), pods("u2")),
    policy=POLICIES,
    options=OPTIONS,
)
@settings(max_examples=40, deadline=None)
def test_when_all_pods_are_gone_nothing_is_held(
    behaviour: Behaviour, of: tuple[Pod, ...], policy: str, options: dict[str, str]
) -> None:
    empty = node = started(policy, options, behaviour)
    for each in filter(fits, of):
        node, decision = node.admit(each)
        if decision.admitted:
            node = node.pod_started(each.uid)
    for each in of:
        node = node.remove(each.uid)
    node = node.release_stale()
    assert node.snapshot.cpu.default == empty.snapshot.cpu.default
    assert (node.snapshot.cpu.pods, node.snapshot.memory.pods) == ({}, {})
    assert node.snapshot.memory.nodes == empty.snapshot.memory.nodes


@given(of=pods(), policy=POLICIES, options=OPTIONS)
@settings(max_examples=40, deadline=None)
def test_in_native_mode_a_restart_changes_nothing(
    of: Pod, policy: str, options: dict[str, str]
) -> None:
    on = started(policy, options, NATIVE)
    node, decision = on.admit(of)
    if not decision.admitted:
        # And what was refused holds nothing.
        assert node.state_files() == on.state_files()
        return
    node = node.pod_started("u")
    configured = replace(
        config(policy),
        cpu_manager_policy_options=options or None,
        feature_gates={**whole_pods.MANAGERS, "CPUManagerPolicyAlphaOptions": True},
    )
    again = node.restart(configured, node.rules.machine, node.state_files())
    assert not isinstance(again, StartRefused)
    after, repeated = again.admit(of)
    assert repeated.admitted
    assert after.state_files() == node.state_files()
