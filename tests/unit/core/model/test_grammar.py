"""Sentences with the number 1, and with a list of one."""

from __future__ import annotations

import pytest

from numalet.core.model import grammar
from numalet.core.model.findings import Finding


@pytest.mark.parametrize(
    ("plural", "expected"),
    [
        ("1 CPUs are free", "1 CPU is free"),
        ("0 CPUs are free", "0 CPUs are free"),
        ("11 CPUs are free", "11 CPUs are free"),
        ("0.1 CPUs", "0.1 CPUs"),
        ("CPUs 0-1 are free", "CPUs 0-1 are free"),
        ("1 more CPUs are needed", "1 more CPU is needed"),
        ("but 1 pods hold memory", "but 1 pod holds memory"),
        ("on NUMA nodes 46", "on NUMA node 46"),
        ("NUMA nodes 46 have 1 CPUs free", "NUMA node 46 has 1 CPU free"),
        ("NUMA nodes 0 and 1", "NUMA nodes 0 and 1"),
        ("NUMA nodes {4,6} have 2 CPUs free", "NUMA nodes {4,6} have 2 CPUs free"),
        ("NUMA nodes 4-6 have", "NUMA nodes 4-6 have"),
        ("the CPUs 4 are in the file", "the CPU 4 is in the file"),
        ("8 are asked for; 1 are free", "8 are asked for; 1 is free"),
        ("those of NUMA node 1 are reserved", "those of NUMA node 1 are reserved"),
    ],
)
def test_one_is_singular(plural: str, expected: str) -> None:
    assert grammar.singular(plural) == expected


class GrammarCount(Finding):
    sentence = "{pods} pods are there"
    fix = "remove {pods} pods"


class GrammarKubelet(Finding):
    sentence = kubelet_text = "{pods} pods are there"


def test_findings_are_sentences_with_one() -> None:
    class Count(GrammarCount):
        pods: int

    class Kubelet(GrammarKubelet):
        pods: int

    assert str(Count(pods=1)) == "1 pod is there"
    # The words of the kubelet stay as they are.
    assert str(Kubelet(pods=1)) == "1 pods are there"
