"""The unit file for systemd: systemd itself finds nothing wrong, and it says what it has to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import pytest

from architecture import tree

UNIT = tree.ROOT / "packaging" / "systemd" / "numalet-agent.service"


def _unit() -> ConfigParser:
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    parser.read(UNIT)
    return parser


def test_workloads_outlive_the_service_and_its_cgroup_is_delegated() -> None:
    service = _unit()["Service"]
    assert ("yes", "process") == (service["Delegate"], service["KillMode"])
    assert ("notify", "0077") == (service["Type"], service["UMask"])


def test_an_agent_that_can_not_start_is_not_started_again_and_again() -> None:
    assert "2" == _unit()["Service"]["RestartPreventExitStatus"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    text = UNIT.read_text()
    assert "ExecStart=/usr/local/bin/numalet " in text
    copy = tmp_path / UNIT.name
    copy.write_text(text.replace("/usr/local/bin/numalet", sys.executable))
    command = ["systemd-analyze", "verify", "--man=no", str(copy)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    about_it = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert (0, []) == (done.returncode, about_it), done.stderr
