"""What a cluster says of itself, and which taints a toleration bears."""

from __future__ import annotations

import pytest

from numalet.core.cluster.cluster import Cluster, Taint, TaintEffect, Toleration, UndecidedNode
from numalet.core.model import input_error

TAINT = Taint("gpu", "only", TaintEffect.NO_SCHEDULE)


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(exists=True), True),
        (Toleration(key="gpu", exists=True), True),
        (Toleration(key="gpu", value="only"), True),
        (Toleration(key="gpu", value="only", effect=TaintEffect.NO_SCHEDULE), True),
        (Toleration(key="gpu", value="only", effect=TaintEffect.NO_EXECUTE), False),
        (Toleration(key="gpu", value="other"), False),
        (Toleration(key="other", exists=True), False),
        (Toleration(), False),
    ],
)
def test_a_toleration_bears_the_taints_that_it_names(
    toleration: Toleration, expected: bool
) -> None:
    assert toleration.tolerates(TAINT) is expected


def test_a_cluster_shows_how_large_it_is() -> None:
    assert repr(Cluster()) == "<Cluster: nodes 0, pods 0>"
    unknown = UndecidedNode(name="u", why=input_error.NotFound("nothing describes it"))
    assert repr(Cluster(undecided={"u": unknown})) == "<Cluster: nodes 0, undecided 1, pods 0>"
