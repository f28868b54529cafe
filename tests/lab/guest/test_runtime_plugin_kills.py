"""The plugin is killed at every point of a container's life, on a machine with several CPUs."""

from __future__ import annotations

import os
from pathlib import Path

from lab.guest import container_runtime as kernel
from lab.guest.container_runtime import CPUS
from running.plugin_lives import Lives

LIVES = int(os.environ["NUMALET_PLUGIN_LIVES"])
EXCLUSIVE = len(CPUS) - 1


def test_kills_at_every_point_of_a_life_lose_double_and_leak_nothing(tmp_path: Path) -> None:
    with (
        kernel.copies() as copies,
        kernel.started(tmp_path) as runtime,
        kernel.plugged(runtime, copies) as plugin,
    ):
        lives = Lives(runtime, plugin, CPUS, EXCLUSIVE)
        lives.come_and_go(LIVES)
        figures = (
            f"{LIVES} lives, {lives.kills} kills, {len(lives.unpinned)} unpinned; from the return "
            f"of the plugin to the plan: {max(lives.seconds):.1f} s"
        )
        Path("/lab/out/told").write_text(figures)
        assert lives.unpinned
        web = runtime.run(runtime.run_pod("web", "burstable"))
        assert runtime.cpus(web) == CPUS
        own = [runtime.cpus(runtime.run(runtime.run_pod(f"own{n}"), 1)) for n in range(EXCLUSIVE)]
        assert sorted(map(sorted, own)) == [[cpu] for cpu in sorted(CPUS - {0})]
        assert runtime.cpus(web) == {0}
