"""Where an API server has its own objects; those of definitions name their path themselves."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"


def node(name: str) -> str:
    """The path of one Node."""
    return f"{NODES}/{quote(name, safe='')}"
