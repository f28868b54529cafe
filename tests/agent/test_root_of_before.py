"""A root folder that an earlier build left, its programs running, is gone on with as it is.

``data/root-before`` was written by the build of commit 7118b9c, whose agent was killed with
SIGKILL: two pods that run with CPUs and memory of their own, one with a finished init container,
one in the shared pool, and one that was rejected. Later builds have to read it, without starting
or moving anything.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from numalet.core.checkpoint import memory_file
from numalet.io.agent_client.client import AgentClient
from running import agent_load

DATA: Final = Path(__file__).parent / "data"
OPTIONS: Final = ("-c", str(DATA / "root-before-kubelet.yaml"), "--node-name", "node-a")
MACHINE: Final = ("-m", "2n8c1t", "--memory-per-node", "16Gi")
STATE_FILES: Final = (memory_file.FILE_NAME, "cpu_manager_state")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    copy = tmp_path / "root"
    shutil.copytree(DATA / "root-before", copy)
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return copy


def runs(root: Path) -> dict[str, Any]:
    """What the runtime has of each container."""
    return {
        str(path.relative_to(root)): json.loads(path.read_text())
        for path in sorted((root / "runs").rglob("*.json"))
    }


@pytest.mark.slow
def test_its_pods_go_on_where_they_are(root: Path) -> None:
    before, files = runs(root), {name: (root / name).read_text() for name in STATE_FILES}
    with (
        agent_load.agent(root, *OPTIONS, machine=MACHINE) as agent,
        AgentClient(agent.socket) as client,
    ):
        pods = client.get("/api/v1/pods")["items"]
        placements = client.get("/apis/numalet.dev/v1alpha1/podplacements")["items"]

    status = {pod["metadata"]["name"]: pod["status"] for pod in pods}
    assert {name: (each["phase"], each.get("reason")) for name, each in status.items()} == {
        "burstable": ("Running", None),
        "pinned": ("Running", None),
        "prepared": ("Running", None),
        "too-large": ("Failed", "TopologyAffinityError"),
    }
    assert all(
        container["restartCount"] == 0
        for each in status.values()
        for container in each.get("containerStatuses", ())
    )
    assert {each["metadata"]["name"]: (each["cpus"], each["numaNodes"]) for each in placements} == {
        "burstable": ("", []),
        "pinned": ("1-2", [0]),
        "prepared": ("3-4", [0]),
        "too-large": ("", []),
    }
    assert runs(root) == before
    assert {name: (root / name).read_text() for name in STATE_FILES} == files
