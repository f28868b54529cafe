"""Answers from Python are the documents of the commands, with rows and a table in a notebook."""

from __future__ import annotations

import json
import pickle

import pytest

import numalet
from numalet.core.cluster.cluster import ClusterPod
from numalet.core.model.value import replace
from values import gpu_fleet

SPLIT = gpu_fleet.running("n", [gpu_fleet.pod(uid, 2) for uid in "abcd"], gone=("a", "c"))
CLUSTER = gpu_fleet.cluster([SPLIT, gpu_fleet.running("o", [gpu_fleet.pod("e", 1)])])
WANTED = gpu_fleet.pod("big", 4)


def test_a_row_for_each_copy_that_lands_and_each_node_that_refuses() -> None:
    landed, *refused = numalet.fit(CLUSTER, WANTED, count=2).to_rows()
    assert (landed["copy"], landed["node"], landed["numa_nodes"]) == (1, "o", "1")
    assert landed["memory_bytes"] == 128 * gpu_fleet.GIB
    assert (landed["code"], landed["reason"]) == (None, None)
    assert [(row["copy"], row["node"], row["code"]) for row in refused] == [
        (None, "n", "fleet/devices-apart")
    ]
    assert [*landed] == [*refused[0]]


def test_a_row_for_each_stranded_resource() -> None:
    rows = numalet.traps(CLUSTER, [WANTED]).to_rows()
    assert {row["resource"]: row["stranded"] for row in rows}[gpu_fleet.GPU] == 4
    assert {row["node"] for row in rows} == {"n"}


def test_a_row_for_each_pod_to_evict_and_for_each_node_without() -> None:
    (row,) = numalet.free(gpu_fleet.cluster([SPLIT]), WANTED).to_rows()
    assert (row["node"], row["pod"], row["controller"]) == ("n", "b", "ReplicaSet/of-b")
    rows = numalet.free(CLUSTER, WANTED).to_rows()
    assert {(row["node"], row["pod"]) for row in rows} == {("o", None), ("n", None)}


def test_rows_about_rejected_pods() -> None:
    pod = replace(WANTED, node_name="n", phase="Failed")
    there = ClusterPod(pod=pod, reason="TopologyAffinityError", created_at_seconds=7.0)
    cluster = replace(CLUSTER, pods={**CLUSTER.pods, "big": there})
    (row,) = numalet.rejected(cluster).to_rows()
    assert (row["pod"], row["node"], row["count"], row["fits_on"]) == ("big", "n", 1, 1)
    assert (row["owner"], row["first_at_seconds"], row["fits_there"]) == (None, 7.0, False)
    landed, *_ = numalet.why(cluster, "big").to_rows()
    assert landed["node"] == "o"
    untimed = replace(cluster, pods={"big": replace(there, created_at_seconds=None)})
    assert numalet.rejected(untimed).to_rows()[0]["first_at_seconds"] is None


def test_a_pod_on_its_node_fits_nowhere_else() -> None:
    assert numalet.why(CLUSTER, "b").to_rows() == []


def test_a_row_for_each_decision() -> None:
    config = numalet.decode_config({})
    rows = numalet.simulate(config, "2n4c", [WANTED]).to_rows()
    assert [(row["pod"], row["admitted"]) for row in rows] == [("big", False)]
    static = numalet.decode_config({"cpuManagerPolicy": "static"})
    assert numalet.simulate(static, "2n4c", [WANTED]).to_rows() == []


@pytest.mark.parametrize("answer", [numalet.fit(CLUSTER, WANTED), numalet.traps(CLUSTER)])
def test_an_answer_is_a_document_and_a_table(answer: numalet.Answer) -> None:
    copy = pickle.loads(pickle.dumps(answer))
    assert (copy, copy.to_rows()) == (answer, answer.to_rows())
    assert json.loads(json.dumps(answer)) == answer
    assert answer.title in answer._repr_html_()
