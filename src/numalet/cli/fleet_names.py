"""Check names of pools and nodes in options: an unknown one is a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.cli import fleet_view
from numalet.core.cluster.cluster import Cluster
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput


def check_pools(cluster: Cluster, names: Iterable[str]) -> None:
    """Raise ``BadInput`` for an unknown pool."""
    known = list(cluster.pools())
    unknown = [each for each in names if each not in known]
    if unknown:
        text = _listed(known)
        raise BadInput(
            [input_error.NotFound(f"unknown pool {each!r}; pools: {text}") for each in unknown]
        )


def check_nodes(cluster: Cluster, names: Iterable[str]) -> None:
    """Raise ``BadInput`` for a node that is unknown or undecided."""
    unknown = [each for each in names if each not in cluster.nodes]
    if unknown:
        text = _listed(sorted(cluster.nodes))
        raise BadInput(
            [
                input_error.NotFound(f"unknown or undecided node {each!r}; nodes: {text}")
                for each in unknown
            ]
        )


def _listed(names: Sequence[str]) -> str:
    return fleet_view.some(each or "''" for each in names) or "none"
