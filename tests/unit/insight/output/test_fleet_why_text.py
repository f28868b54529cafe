"""The answer about a pod in sentences: every verdict, and every way out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from numalet.core.cluster.cluster import Cluster, ClusterPod, UndecidedNode
from numalet.core.model import input_error
from numalet.insight.fleet import rejected
from numalet.insight.output import fleet_why_document, fleet_why_text
from numalet.wording import numbers
from values import gpu_fleet
from values.gpu_fleet import pod, running

PAIRS = [pod(uid, 2) for uid in "abcd"]
HALF = running("half", PAIRS, gone="ab")
SPLIT = running("split", PAIRS, gone="ac")
FULL = running("full", [pod("x", 4, priority=9), pod("y", 4, priority=9)])
FREE = running("free", [], on=gpu_fleet.empty(policy="none"))


def said(cluster: Cluster, node: str, message: str = "") -> str:
    failed = replace(pod("r", 4), node_name=node, phase="Failed")
    given = ClusterPod(pod=failed, reason="TopologyAffinityError", message=message)
    known = replace(cluster, pods={**cluster.pods, "r": given})
    answer = fleet_why_document.of(known, given)
    return "\n".join(each.text for each in fleet_why_text.sentences(answer))


@pytest.mark.parametrize(
    ("cluster", "node", "words"),
    [
        (gpu_fleet.cluster([HALF]), "half", "Now half would admit it."),
        (gpu_fleet.cluster([SPLIT]), "split", "Now split would reject it: TopologyAffinityError"),
        (gpu_fleet.cluster([SPLIT]), "split", "shows where evicted pods could run"),
        (gpu_fleet.cluster([HALF]), "lost", "The cluster has no node lost now."),
        (
            gpu_fleet.cluster([replace(HALF, is_cordoned=True)]),
            "half",
            "but the scheduler would not send it there: cordoned.",
        ),
        (gpu_fleet.cluster([FREE]), "free", "Correct its class (--class)."),
        (gpu_fleet.cluster([FULL]), "full", "Neither a smaller shape nor evictions"),
        (gpu_fleet.cluster([HALF, SPLIT]), "half", "choose 1 node that rejects it: split."),
    ],
)
def test_every_verdict_has_a_sentence(cluster: Cluster, node: str, words: str) -> None:
    assert words in said(cluster, node, "as recorded")


def test_without_a_decided_node_only_the_record_is_said() -> None:
    dark = UndecidedNode(name="dark", why=input_error.NotFound("no class"))
    text = said(Cluster(undecided={"dark": dark}), "dark")
    assert "dark is not decided on now: no class" in text
    assert text.endswith("No node has enough data for a decision.")


def test_a_moment_is_in_utc() -> None:
    assert fleet_why_text.moment(None) == "-"
    assert fleet_why_text.moment(60.0) == "1970-01-01 00:01 UTC"


def test_the_first_nodes_are_counted() -> None:
    failed = replace(pod("r", 4), node_name="half", phase="Failed")
    given = ClusterPod(pod=failed, reason="OutOfcpu")
    cluster = replace(gpu_fleet.cluster([HALF]), pods={"r": given})
    assert rejected.rejected(cluster).on_nodes == "half 1"
    assert numbers.numa_nodes(()) == ""
    assert numbers.numa_nodes((0, 1)) == "NUMA nodes 0-1"
