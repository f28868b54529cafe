"""``numalet fleet serve`` beside a real API server: its metrics are those of the cluster now."""

from __future__ import annotations

import asyncio
import re
import signal

import httpx
import pytest

from cluster import gpu_pods
from numalet.cluster.hollow.fleet_members import FleetOptions
from numalet.io.kube_api import access
from running import fleet_programs, hollow_fleets
from running.control_plane import ControlPlane
from running.fleet_programs import PATIENCE_SECONDS

FITS = f'numalet_fleet_fits{{shape="{gpu_pods.shape(4)}"}}'
TRAPS = "numalet_fleet_trap_nodes{pool="


class Page:
    """The page of metrics, asked for until it has what is expected."""

    def __init__(self, web: httpx.AsyncClient, url: str) -> None:
        self._web = web
        self._url = url

    async def value(self, metric: str) -> float | None:
        """The sum over all label values of a metric, or of one by its beginning; None without."""
        page = (await self._web.get(self._url)).text
        found = re.findall(rf"^{re.escape(metric)}\S* (\S+)$", page, re.MULTILINE)
        return sum(map(float, found)) if found else None

    async def until(self, expected: dict[str, float]) -> None:
        actual: dict[str, float | None] = {}
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while actual != expected:
                    await asyncio.sleep(0.1)
                    actual = {name: await self.value(name) for name in expected}
        except TimeoutError:
            assert actual == expected


@pytest.mark.slow
async def test_the_metrics_are_those_of_the_cluster_as_pods_come_and_go(
    defined: ControlPlane,
) -> None:
    options = FleetOptions(untaints=True, writers=4)
    words = ("serve", "--listen", "127.0.0.1:0", "--shape", gpu_pods.shape(4))
    async with (
        hollow_fleets.running(access.of(defined.kubeconfig), 2, (), options) as fleet,
        fleet_programs.running(defined.kubeconfig, *words) as program,
        httpx.AsyncClient(trust_env=False, timeout=60) as web,
    ):
        pods = f"/api/v1/namespaces/{defined.namespace()}/pods"
        await program.until(lambda: "/metrics" in program.err)
        (url,) = re.findall(r"serving (\S+)", program.err)
        page = Page(web, url)

        async def bind(name: str, gpus: int, node: str) -> None:
            await fleet.api.create(pods, gpu_pods.pod(name, gpus, node))
            await fleet.until(lambda: fleet.phases().get(name) == "admitted")

        await page.until({"numalet_fleet_up": 1, FITS: 4, TRAPS: 0})
        for name in "abcd":
            await bind(name, 2, "hollow-0")
        await page.until({FITS: 2, TRAPS: 0})
        for name in "ac":
            await fleet.api.delete(f"{pods}/{name}")
        # Two and two GPUs are free: the sums promise four, and there are none.
        await page.until({FITS: 2, TRAPS: 1})

        defined.api_server.kill()
        await page.until({"numalet_fleet_up": 0, FITS: 2, TRAPS: 1})
        assert (await page.value("numalet_fleet_view_age_seconds") or 0) > 0
        await defined.api_server.start_meanwhile()
        await page.until({"numalet_fleet_up": 1, "numalet_fleet_view_age_seconds": 0})
        await fleet.api.delete(f"{pods}/b")
        await page.until({FITS: 3, TRAPS: 0})
        await bind("four", 4, "hollow-1")
        await page.until({FITS: 2, TRAPS: 0})
        assert await program.ended(signal.SIGTERM) == 0
