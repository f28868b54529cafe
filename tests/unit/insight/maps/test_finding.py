"""What a reader looks for on the drawing of a node: a CPU, a device, a pod."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.insight.maps import finding, node_map
from numalet.insight.maps.shared_pool import PooledPod
from values import node_charts, shown_nodes
from values.shown_nodes import GIB, guaranteed


@pytest.mark.parametrize(
    ("words", "sentence", "cpus"),
    [
        ("CPU 2", "CPU 2 is on NUMA node 0: exclusive to shop/web.", {2}),
        (" cpu16 ", "CPU 16 is on NUMA node 0: exclusive to data/db.", {16}),
        ("0", "CPU 0 is on NUMA node 0: reserved for the system.", {0}),
        ("CPU 8", "CPU 8 is on NUMA node 1: no pod has it for itself.", {8}),
        ("CPU 99", "This node has no CPU 99.", set()),
    ],
)
def test_a_cpu_by_its_number(words: str, sentence: str, cpus: set[int]) -> None:
    found = finding.find(node_charts.held(), words)
    assert found.sentence == sentence
    assert {*found.cpus} == cpus


@pytest.mark.parametrize(
    ("words", "sentence", "device_ids"),
    [
        ("GPU 0", "nvidia.com/gpu gpu0 is on NUMA node 0: held by ml/train.", {"gpu0"}),
        ("gpu3", "nvidia.com/gpu gpu3 is on NUMA node 1: unhealthy.", {"gpu3"}),
        ("0000:3B:02.1", "example.com/nic 0000:3b:02.1 is on NUMA node 0: free.", {"0000:3b:02.1"}),
        ("any", "example.com/nic any is on a NUMA node that is not known: free.", {"any"}),
    ],
)
def test_a_device_by_its_id(words: str, sentence: str, device_ids: set[str]) -> None:
    found = finding.find(node_charts.held(), words)
    assert found.sentence == sentence
    assert {*found.device_ids} == device_ids


def test_a_device_of_several_numa_nodes() -> None:
    chart = node_charts.held()
    wide = replace(chart.devices[0], device_id="wide", nodes=(0, 1))
    found = finding.find(replace(chart, devices=(wide,)), "wide")
    assert found.sentence == f"{wide.resource} wide is on NUMA nodes 0,1: free."


def test_a_pod_by_its_name_or_a_part_of_it() -> None:
    chart = node_charts.held()
    found = finding.find(chart, "shop/web")
    assert found.sentence == "shop/web, on NUMA node 0: CPUs 2-3, 18-19; 8Gi."
    assert [*found.pod_uids] == [pod.uid for pod in chart.pods if pod.name == "web"]
    assert finding.find(chart, "WEB").pod_uids == found.pod_uids
    several = finding.find(chart, "a")
    assert several.sentence == "2 pods: data/db, ml/train."
    assert finding.find(chart, "ml/train").sentence == (
        "ml/train, on NUMA node 0: CPUs 4, 20; 10Gi; gpu0."
    )


def test_words_that_name_nothing() -> None:
    found = finding.find(node_charts.held(), "<nobody>")
    assert found == finding.SearchResult(sentence="Nothing here is called <nobody>.")
    assert finding.find(node_charts.held(), "  ") == finding.NOTHING


def test_what_differs_between_two_charts() -> None:
    _, node = shown_nodes.started()
    node, _ = node.admit(guaranteed("same", 2, GIB))
    more, _ = node.admit(guaranteed("new", 4, GIB))
    before, after = node_map.of_node(node, "a"), node_map.of_node(more, "b")
    assert finding.differing(before, before) == finding.NOTHING
    new, old = finding.differing(after, before), finding.differing(before, after)
    assert (new.pod_uids, len(new.cpus)) == ({"uid-new"}, 4)
    # The same CPUs were free before.
    assert (old.pod_uids, old.cpus) == (set(), new.cpus)


def test_a_pod_and_a_cpu_of_the_shared_pool() -> None:
    chart = node_charts.held()
    pooled = replace(chart, pool=replace(chart.pool, pods=(PooledPod("ns/log", 250),)))
    assert finding.find(pooled, "log").sentence == "ns/log: on the shared pool of CPUs."
    assert finding.find(pooled, "CPU 8").sentence == (
        "CPU 8 is on NUMA node 1: no pod has it for itself, 1 pod may run on it."
    )
