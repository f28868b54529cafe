"""The commands that operate a node, made ready to run in tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from numalet.cli import check, main, reserve
from numalet.cli.helping import Command, with_line_breaks

COMMANDS: dict[str, Any] = {
    "check": (check.check, check.EPILOG),
    "reserve": (reserve.reserve, reserve.EPILOG),
}


def make_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the main command know them, where it does not yet."""
    known = {command.name for command in main.app().registered_commands}
    for name, (function, epilog) in COMMANDS.items():
        if name not in known:
            main.app().command(name, cls=Command, epilog=with_line_breaks(epilog))(function)


KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
# Latency first.
memoryManagerPolicy: Static
topologyManagerPolicy: restricted
kubeReserved: {cpu: "4", memory: 4Gi}
systemReserved: {cpu: "1", memory: 1Gi}
reservedMemory:
  # What the documentation computes.
  - numaNode: 0
    limits:
      memory: 3Gi
  - numaNode: 1
    limits:
      memory: 2148Mi   # the threshold included
"""
SHAPE = ("-m", "2n16c2t", "--memory-per-node", "128Gi")

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"


def blocks(page: str, language: str) -> list[str]:
    """What stands between the fences of a how-to page, of one language."""
    text = (_HOW_TO / page).read_text(encoding="utf-8")
    return [body for name, body in _BLOCK.findall(text) if name == language]
