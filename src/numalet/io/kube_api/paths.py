"""Paths of built-in objects; custom resources define their own."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"


def node(name: str) -> str:
    return f"{NODES}/{quote(name, safe='')}"
