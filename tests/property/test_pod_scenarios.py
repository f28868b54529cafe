"""Whatever a scenario file holds: a scenario or findings, and the runner follows every scenario."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numalet.core.model.findings import BadInput, Finding
from numalet.insight.simulate import recording, runner
from numalet.insight.simulate.comparison import compare
from numalet.insight.simulate.session import Scenario
from numalet.insight.usecases.scenario_file import RawScenario

pytestmark = pytest.mark.property

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def node(number: int) -> dict[str, Any]:
    """One of two NUMA nodes with 10Gi."""
    return {
        "id": number,
        "memory_bytes": 10 << 30,
        "hugepages": [{"page_size_kib": 2048, "count": 512}],
        "distances": [10, 20] if number == 0 else [20, 10],
        "cores": [{"id": 0, "socket": number, "threads": [number], "uncore_cache": None}],
    }


def pod(uid: str, memory: str) -> dict[str, Any]:
    """A Guaranteed pod with an init container."""
    containers = [
        {"name": name, "resources": {"limits": {"cpu": "1", "memory": memory}}}
        for name in ("c", "i")
    ]
    spec = {"containers": containers[:1], "initContainers": containers[1:]}
    return {"kind": "Pod", "metadata": {"name": uid, "uid": uid}, "spec": spec}


BASE: dict[str, Any] = {
    "name": "s",
    "tags": [],
    "machine": {"numa_nodes": [node(0), node(1)]},
    "kubelet_config": {
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": "best-effort",
        "kubeReserved": {"memory": "924Mi"},
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    },
    "devices": [],
    "steps": [{"admit": pod("a", "8Gi")}, {"restart": {"order": ["a"]}}, {"remove": "a"}],
    "expect": {},
}


def places(value: Any) -> list[tuple[str | int, ...]]:
    """Keys to every part of a value."""
    found: list[tuple[str | int, ...]] = []
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        found.append((key,))
        if isinstance(member, dict | list):
            found += [(key, *rest) for rest in places(member)]
    return found


PLACES = places(BASE)


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    """A scenario with another value at one or two places."""
    document = copy.deepcopy(BASE)
    for _ in range(draw(st.integers(1, 2))):
        *path, last = draw(st.sampled_from(PLACES))
        parent: Any = document
        for key in path:
            try:
                parent = parent[key]
            except (KeyError, IndexError, TypeError):
                break
        if isinstance(parent, dict):
            parent[last] = draw(ANYTHING)
        elif isinstance(parent, list) and last == 0 and parent:
            parent[0] = draw(ANYTHING)
    return document


def decoded(text: str) -> Scenario | None:
    """The scenario, or None after checking that every finding has a place and a sentence."""
    found: Scenario | None = None
    findings: tuple[Finding, ...] = ()
    try:
        found = RawScenario("s.jsonl", text, 1).decode()
    except BadInput as bad:
        findings = bad.findings
    assert (found is None) == bool(findings)
    for finding in findings:
        assert finding.where.document == "s.jsonl"
        assert str(finding)
    return found


@given(broken())
def test_any_scenario_is_followed_or_refused(document: dict[str, Any]) -> None:
    scenario = decoded(json.dumps(document))
    if scenario is None:
        return
    outcome = runner.run(scenario)
    again = decoded(json.dumps(recording.document(scenario, outcome)))
    assert again is not None
    assert compare(outcome, runner.run(again)) == ()


@given(st.text(max_size=50))
def test_any_line_is_a_scenario_or_refused(text: str) -> None:
    decoded(text)


@given(ANYTHING, ANYTHING)
def test_comparing_anything_with_anything_ends(expected: Any, actual: Any) -> None:
    both = {"expected": {"steps": [expected]}, "actual": {"steps": [actual]}}
    same = compare(both["expected"], both["expected"])
    assert same == ()
    if json.dumps(expected) == json.dumps(actual):
        assert compare(both["expected"], both["actual"]) == ()
