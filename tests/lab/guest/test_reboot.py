"""A folder that stays while the machine changes: kubelet state files over a reboot.

``NUMALET_LAB_BOOT`` says which boot it is.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import numalet

BOOT = os.environ.get("NUMALET_LAB_BOOT", "")
CONFIG = {
    "memoryManagerPolicy": "Static",
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "100Mi"}}],
    "topologyManagerPolicy": "single-numa-node",
}


@pytest.fixture
def state() -> Path:
    return Path(os.environ["NUMALET_LAB_DISK"])


def started(state: Path) -> numalet.Node | numalet.StartRefused:
    files = {path.name: path.read_text() for path in state.iterdir() if path.is_file()}
    return numalet.start_node(
        numalet.decode_config(CONFIG, "lab"), numalet.open_machine(None).info, files
    )


@pytest.mark.skipif(BOOT != "first", reason="for the first boot")
def test_state_files_are_written(state: Path) -> None:
    node = started(state)
    assert isinstance(node, numalet.Node)
    for name, text in node.state_files().items():
        (state / name).write_text(text)
    assert (state / "memory_manager_state").exists()


@pytest.mark.skipif(BOOT != "same", reason="for a reboot of the same machine")
def test_the_same_machine_starts_with_them(state: Path) -> None:
    assert isinstance(started(state), numalet.Node)


@pytest.mark.skipif(BOOT != "changed", reason="for a reboot with other memory, or a node less")
def test_another_machine_refuses_them(state: Path) -> None:
    refused = started(state)
    assert isinstance(refused, numalet.StartRefused)
    assert refused.stage.value == "memory-manager-start"
