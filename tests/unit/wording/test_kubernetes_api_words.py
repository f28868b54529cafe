"""Sentences of the API that are made of values."""

from __future__ import annotations

from numalet.wording import kubernetes_api as words

GPUS = {"devices": {"example.com/gpu": ["g0", "g1"]}}
NICS = {"devices": {"example.com/nic": ["n0"], "example.com/gpu": ["g2"]}}


def test_a_dry_run_says_what_the_pod_would_get() -> None:
    placement = {"numaNodes": [0, 2], "cpus": "2-3", "containers": [GPUS, NICS]}
    assert words.foreseen(placement) == (
        "dry run: the pod would get memory of NUMA node 0, 2; CPUs 2-3;"
        " example.com/gpu g0, g1, g2; example.com/nic n0"
    )
    nothing = {"numaNodes": [], "cpus": "", "containers": [{"devices": {}}]}
    assert words.foreseen(nothing) == "dry run: the pod would get only shared CPUs and memory"
