"""What ``fleet rejected``, ``fleet why`` and ``numalet.Fleet`` say of a rejected pod comes true."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any

import numalet
from cluster import storm_scene
from running import storms
from running.control_plane import ControlPlane


def asked(plane: ControlPlane, *words: str) -> Any:
    """The answer of the command as JSON."""
    command = [sys.executable, "-m", "numalet", "fleet", *words, "-o", "json"]
    where = ["--kubeconfig", str(plane.kubeconfig)]
    done = subprocess.run([*command, *where], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


async def test_a_rejected_pod_fits_where_it_is_said_to_fit(defined: ControlPlane) -> None:
    async with storm_scene.of_nodes(defined, 1) as scene:
        await scene.fill("hollow-0", "a", "b", "c")
        await scene.create(storms.pod("d", nodeName="hollow-0"))
        await scene.until_in("Failed", "d")
        name = f"{scene.namespace}/d"

        fleet = await asyncio.to_thread(numalet.Fleet.from_kubeconfig, defined.kubeconfig)
        (group,) = fleet.rejected()["groups"]
        assert (group["reason"], group["fits_on"]) == ("TopologyAffinityError", [])
        assert fleet.why(name)["fit"]["nodes_that_fit"] == []

        await scene.delete("a")
        await scene.seen.until(lambda: "a" not in scene.seen.names("Running"))
        await scene.fleet.settled()
        fleet = await asyncio.to_thread(numalet.Fleet.from_kubeconfig, defined.kubeconfig)
        (group,) = fleet.rejected()["groups"]
        assert group["fits_on"] == ["hollow-0"]
        assert fleet.why(name)["fit"]["nodes_that_fit"] == ["hollow-0"]
        of_command = await asyncio.to_thread(asked, defined, "rejected")
        assert of_command["groups"] == fleet.rejected()["groups"]
        of_command = await asyncio.to_thread(asked, defined, "why", name)
        assert of_command["fit"] == fleet.why(name)["fit"]

        # The same pod again, as its owner would create it.
        await scene.fill("hollow-0", "e")
