"""A device plugin in a process of its own, restarted against a running agent.

``NUMALET_PLUGIN_RESTARTS`` says how often; ``make soak`` makes it 100 times.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from running import agent_load, plugin_restarts
from running.plugin_restarts import OFFERED, Restarts

RESTARTS: Final = int(os.environ.get("NUMALET_PLUGIN_RESTARTS", "4"))


@pytest.mark.slow
@pytest.mark.timeout(60 + 10 * RESTARTS)
def test_nothing_is_lost_doubled_or_leaked_however_often_a_plugin_restarts(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    root = tmp_path / "root"
    with agent_load.agent(root, "--podresources-qps", "0") as agent:
        restarts = Restarts(agent, root)
        began = time.monotonic()
        restarts.play(RESTARTS)
        told = f"{RESTARTS} restarts of a plugin in {time.monotonic() - began:.1f} s"
        record_property("told", f"{told}, the slowest {restarts.slowest_seconds:.2f} s")
        assert sum(restarts.endings.values()) == RESTARTS
        assert restarts.registrations() == RESTARTS + 1
        plugin_restarts.eventually(
            restarts.has_not_grown,
            f"{plugin_restarts.footprint(agent.pid)} after {restarts.begin}",
        )
        # As a kubelet writes it: devices when a plugin tells of them, not when it goes.
        registered = restarts.checkpoint()["RegisteredDevices"]
        assert {plugin_restarts.GPU: sorted(OFFERED)} == registered
        (entry,) = restarts.checkpoint()["PodDeviceEntries"]
        assert [*restarts.held().values()] == [
            name for ids in entry["DeviceIDs"].values() for name in ids
        ]
        assert restarts.held()["stays"] in OFFERED
        assert {"kubelet.sock", "kubelet_internal_checkpoint"} == {
            path.name for path in (root / "device-plugins").iterdir()
        }
