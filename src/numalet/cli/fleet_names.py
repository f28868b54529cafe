"""Names of pools and nodes that a question is limited to: one that is not there is a slip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from numalet.cli import fleet_view
from numalet.core.cluster.cluster import Cluster
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput


def check_pools(cluster: Cluster, names: Iterable[str]) -> None:
    """Raises ``BadInput`` if one of these is no pool of the cluster."""
    known = list(cluster.pools())
    unknown = [each for each in names if each not in known]
    if unknown:
        text = _listed(known)
        raise BadInput(
            [input_error.NotFound(f"unknown pool {each!r}; pools: {text}") for each in unknown]
        )


def check_nodes(cluster: Cluster, names: Iterable[str]) -> None:
    """Raises ``BadInput`` if one of these is no node of the cluster that can be decided on."""
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
