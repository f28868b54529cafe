"""The unit file for systemd: systemd itself finds nothing wrong, and it says what it has to."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest

from architecture import tree
from numalet.agent.host.cgroup_v2.root import PODS_UNIT

FOLDER = tree.ROOT / "packaging" / "systemd"
UNIT = FOLDER / "numalet-agent.service"
PODS = FOLDER / PODS_UNIT


def _unit(path: Path = UNIT) -> ConfigParser:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[method-assign, assignment]
    parser.read(path)
    return parser


def test_workloads_outlive_the_service() -> None:
    service = _unit()["Service"]
    assert tuple(service[name] for name in ("Type", "UMask", "KillMode")) == (
        "notify",
        "0077",
        "process",
    )


def test_pods_have_a_delegated_cgroup_that_is_not_the_agents() -> None:
    pods = _unit(PODS)["Service"]
    assert (pods["Delegate"], pods["ExitType"]) == ("yes", "cgroup")
    agent = _unit()
    assert "Delegate" not in agent["Service"]
    assert agent["Unit"]["Requires"] == PODS_UNIT
    assert PODS_UNIT in agent["Unit"]["After"].split()


def test_an_agent_that_can_not_start_is_not_started_again_and_again() -> None:
    assert _unit()["Service"]["RestartPreventExitStatus"] == "2"


def test_a_wheel_brings_the_units_and_the_document_that_they_name(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=tree.ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    brought = {name.partition(".data/data/")[2] for name in names}
    for path in (UNIT, PODS):
        assert f"share/doc/numalet/systemd/{path.name}" in brought
        named = _unit(path)["Unit"]["Documentation"]
        # Where pip puts it beside /usr/local/bin/numalet, which is what ExecStart says.
        assert named.removeprefix("file:///usr/local/") in brought


def _assessment(unit: Path) -> list[dict[str, Any]]:
    command = ["systemd-analyze", "security", "--offline=true", "--json=short", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"systemd-analyze security: {done.stderr}")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("unit", [UNIT, PODS], ids=lambda unit: str(unit.stem))
def test_each_setting_that_is_left_out_has_a_reason(unit: Path) -> None:
    reasons = [line for line in unit.read_text().splitlines() if re.match("# .*=.*: ", line)]
    named = {name for line in reasons for name in re.findall(r"(\w+)=", line.partition(": ")[0])}
    for row in _assessment(unit):
        if not row["set"]:
            names = re.findall(r"(\w+)=", row["name"])
            assert named & {*names} or _unit(unit)["Service"].get(names[0]), row


def test_no_setting_reaches_pods() -> None:
    """Those of the agent's process are inherited by pods, those of their cgroup apply to them."""
    of_agent = {*_unit()["Service"]} & {*re.findall(r"(\w+)=", PODS.read_text())}
    assert of_agent == {
        *("Type", "ExecStart", "OOMScoreAdjust", "OOMPolicy", "TasksMax"),
        *("NotifyAccess", "UMask"),
    }
    of_cgroup = "(Device|IP|Memory(Max|High|Low|Min)|CPU|Allowed|IO|SocketBind|Restrict(Net|File))"
    taken = [name for name in _unit(PODS)["Service"] if re.match(of_cgroup, name)]
    assert not {*taken, "PrivateDevices", "ProtectClock", "User"} & {*_unit(PODS)["Service"]}


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
@pytest.mark.parametrize("unit", [UNIT, PODS], ids=lambda unit: str(unit.stem))
def test_systemd_finds_nothing_wrong(unit: Path, tmp_path: Path) -> None:
    assert "ExecStart=/usr/local/bin/numalet " in UNIT.read_text()
    for each in (UNIT, PODS):
        text = each.read_text().replace("/usr/local/bin/numalet", sys.executable)
        (tmp_path / each.name).write_text(text)
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / unit.name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    about_it = [line for line in done.stderr.splitlines() if "numalet-" in line]
    assert (done.returncode, about_it) == (0, []), done.stderr
