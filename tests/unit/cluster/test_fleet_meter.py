"""The measures of a fleet that changes in parts are those of a fleet that is measured anew."""

from __future__ import annotations

import random
from dataclasses import replace

from numalet.cluster.fleet_metrics import FleetMeter
from numalet.core.cluster.cluster import Cluster, ClusterPod, Origin, UndecidedNode
from numalet.core.findings.cluster import ClusterNodeWithoutClass
from values import gpu_fleet


def fleets() -> list[Cluster]:
    """Nodes come and go, change their pool and where they are known from, and take pods."""
    rng, every, cluster = random.Random(5), [], gpu_fleet.cluster([gpu_fleet.running("n", [])])
    pods = [gpu_fleet.pod("a", 2), gpu_fleet.pod("b", 2)]
    for step in range(20):
        nodes, name = dict(cluster.nodes), rng.choice(sorted(cluster.nodes))
        match step % 5:
            case 0:
                nodes[f"n{step}"] = gpu_fleet.running(f"n{step}", pods)
            case 1:
                nodes[name] = replace(nodes[name], pool=rng.choice("xy"))
            case 2:
                nodes[name] = replace(nodes[name], origin=Origin.REBUILT)
            case 3:
                nodes[name] = gpu_fleet.running(name, pods, gone="a")
            case _:
                del nodes[name]
        cluster = replace(cluster, nodes=nodes)
        every.append(cluster)
    why = ClusterNodeWithoutClass(node="u")
    return [*every, replace(cluster, undecided={"u": UndecidedNode(name="u", why=why, pool="x")})]


def test_totals_are_those_of_what_is_there_now() -> None:
    shapes = [("four", ClusterPod(pod=gpu_fleet.pod("asks", 4)))]
    meter = FleetMeter(shapes)
    for cluster in fleets():
        assert meter.measured(cluster) == FleetMeter(shapes).measured(cluster)
    assert meter.measured(cluster).nodes["x", "undecided"] == 1


def test_the_age_of_a_pool_is_that_of_the_node_that_was_silent_longest() -> None:
    cluster = gpu_fleet.cluster([gpu_fleet.running(name, []) for name in "ab"])
    published = {"a": 20.0, "b": 10.0, "gone": 1.0}
    assert FleetMeter().measured(cluster, published).published_seconds == {"gpus": 10.0}


def test_nothing_is_free_on_a_node_that_gets_no_new_pods() -> None:
    cluster = gpu_fleet.cluster([gpu_fleet.running(name, []) for name in "ab"])
    meter = FleetMeter()
    free = meter.measured(cluster).free["gpus", "nvidia.com/gpu"]
    cordoned = cluster.with_nodes([replace(cluster.nodes["a"], is_cordoned=True)])
    assert meter.measured(cordoned).free["gpus", "nvidia.com/gpu"] == free / 2
    closed = cordoned.with_nodes([replace(cluster.nodes["b"], is_ready=False)])
    assert meter.measured(closed).free["gpus", "nvidia.com/gpu"] == 0
