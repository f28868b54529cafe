"""``numalet fleet --watch`` and ``fleet serve`` follow an API server, and say when they can not."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from running import fake_api_server
from running.fake_kubelets import PATHS, Kubelets
from running.fleet_programs import PATIENCE_SECONDS, running

SHAPE = "nvidia.com/gpu=4,cpu=4,memory=4Gi"
ALL_THAT_FIT = ("fit", SHAPE, "--count", "0")


@contextlib.asynccontextmanager
async def two_nodes() -> AsyncIterator[Kubelets]:
    """Two nodes with room for two pods of four GPUs each, less what runs there."""
    async with fake_api_server.running() as server:
        kubelets = Kubelets(server)
        for name in ("a", "b"):
            kubelets.node(name)
            kubelets.state(name, 1)
        yield kubelets


def _kubeconfig(kubelets: Kubelets, folder: Path) -> Path:
    return kubelets.server.write_kubeconfig(folder / "kubeconfig")


@pytest.mark.slow
async def test_a_watched_table_follows_and_says_how_old_it_is(tmp_path: Path) -> None:
    async with (
        two_nodes() as kubelets,
        running(
            _kubeconfig(kubelets, tmp_path), "fit", SHAPE, "--count", "0", "--watch"
        ) as program,
    ):
        await program.until(lambda: f"{SHAPE}: 2 fit" in program.out)
        assert "old" not in program.out
        kubelets.state("a", 1, 4)
        await program.until(lambda: f"{SHAPE}: 1 fit" in program.out)
        await kubelets.server.stop()
        await program.until(lambda: "s old: " in program.out)
        assert len(re.findall(r"This may be \d+ s old: /\S+ may be out of date", program.out)) == 1
        await kubelets.server.start()
        kubelets.state("b", 1, 4)
        await program.until(lambda: f"{SHAPE}: 0 fit" in program.out)
        assert await program.ended() == 130


@pytest.mark.slow
async def test_an_answer_for_programs_is_only_the_answer(tmp_path: Path) -> None:
    async with (
        two_nodes() as kubelets,
        running(_kubeconfig(kubelets, tmp_path), "fit", SHAPE, "--watch", "-o", "json") as program,
    ):
        await program.until(lambda: '"count": 1' in program.out)
        await kubelets.server.stop()
        await program.until(lambda: "may be out of date" in program.err)
        assert "old" not in program.out


@pytest.mark.slow
async def test_a_cluster_that_can_not_be_listed_ends_a_watch(tmp_path: Path) -> None:
    async with two_nodes() as kubelets:
        kubelets.server.refused["/api/v1/pods"] = 403
        async with running(_kubeconfig(kubelets, tmp_path), "traps", "--watch") as program:
            await program.until(lambda: "cannot list /api/v1/pods" in program.err)
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert await program.process.wait() == 2


@pytest.mark.slow
async def test_metrics_follow_a_cluster_that_comes_late_goes_and_comes_back(
    tmp_path: Path,
) -> None:
    async with two_nodes() as kubelets, httpx.AsyncClient(trust_env=False, timeout=60) as web:
        server = kubelets.server
        server.refused |= dict.fromkeys(PATHS[:2], 500)
        words = ("serve", "--listen", "127.0.0.1:0", "--shape", SHAPE)
        async with running(_kubeconfig(kubelets, tmp_path), *words) as program:
            await program.until(lambda: "/metrics" in program.err)
            (url,) = re.findall(r"serving (\S+)/metrics", program.err)

            async def page_with(*lines: str) -> str:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while True:
                        page = (await web.get(f"{url}/metrics")).text
                        if all(line in page for line in lines):
                            return page
                        await asyncio.sleep(0.1)

            assert "numalet_fleet_fits" not in await page_with("numalet_fleet_up 0.0")
            assert (await web.get(f"{url}/readyz")).status_code == 503
            assert "cannot list" in program.err
            server.refused.clear()
            fits = f'numalet_fleet_fits{{shape="{SHAPE}"}}'
            await page_with("numalet_fleet_up 1.0", f"{fits} 2.0")
            assert "numalet_fleet_view_age_seconds 0.0" in await page_with()
            assert (await web.get(f"{url}/readyz")).text == "ok\n"

            kubelets.state("a", 1, 4)
            await page_with(f"{fits} 1.0")
            kubelets.pod("waits", 4)
            kubelets.state("b", 1, 4)
            await page_with(f"{fits} 0.0")

            await server.stop()
            page = await page_with("numalet_fleet_up 0.0", f"{fits} 0.0")
            (age,) = re.findall(r"^numalet_fleet_view_age_seconds (\S+)$", page, re.MULTILINE)
            assert float(age) > 0
            assert (await web.get(f"{url}/healthz")).status_code == 200
            assert "s old" in (await web.get(f"{url}/readyz")).text
            await server.start()
            await page_with("numalet_fleet_up 1.0", "numalet_fleet_view_age_seconds 0.0")
            assert await program.ended() == 0
