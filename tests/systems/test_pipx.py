"""On a clean Debian 12: ``pipx install numalet-….whl``, and it works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from architecture import tree
from systems.conftest import Debian

_USER = ("env", "HOME=/root", "PATH=/root/.local/bin:/usr/bin:/bin")


@pytest.mark.timeout(600)
def test_an_installed_wheel(debian: Debian, tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=tree.ROOT, check=True, stdout=subprocess.PIPE)
    (wheel,) = tmp_path.glob("*.whl")
    system = debian("bookworm", "pipx")
    system.copy(wheel, wheel.name)
    system.run(*_USER, "pipx", "install", f"/{wheel.name}")
    said = system.run(*_USER, "numalet", "machine", "2n4c2t", "--memory-per-node", "8Gi")
    assert "2 NUMA nodes" in said
    with subprocess.Popen(
        system.command(*_USER, "numalet", "dashboard", "-m", "2n4c2t", "--memory-per-node", "8Gi"),
        stdout=subprocess.PIPE, text=True,
    ) as serving:  # fmt: skip
        try:
            assert serving.stdout is not None
            link = next(line for line in serving.stdout if "http://" in line)
            address = "http://" + link.partition("http://")[2].split()[0]
            with httpx.Client(follow_redirects=True, trust_env=False) as client:
                answer = client.get(address)
            assert answer.status_code == 200
            assert "2n4c2t" in answer.text
        finally:
            # The parent of the list of processes ignores requests to end; with it all of them go.
            serving.kill()
