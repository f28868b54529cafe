"""Paths of the objects of others; those of numalet are where their kinds are defined."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
TOPOLOGIES: Final = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"


def node(name: str) -> str:
    return f"{NODES}/{quote(name, safe='')}"
