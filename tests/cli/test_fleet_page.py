"""The page on fleets of GPU machines shows real commands with real output; so do the metrics."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from cli import console_page
from numalet.cluster import fleet_metrics
from running.said_program import SaidProgram
from values import gpu_dump

SHOWN = [each for each in console_page.shown("gpu-fleet.md") if "--dump" in each[0]]
METRICS = console_page.ROOT / "docs" / "reference" / "fleet-metrics.md"
PROMETHEUS = console_page.ROOT / "packaging" / "prometheus"
DAY = re.compile(r"^```\n(arrival,.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the page names."""
    made = tmp_path_factory.mktemp("fleet")
    gpu_dump.write_three_nodes(made / "dump.json")
    page = (console_page.ROOT / "docs" / "how-to" / "gpu-fleet.md").read_text(encoding="utf-8")
    (day,) = DAY.findall(page)
    (made / "day.csv").write_text(day, encoding="utf-8")
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("command", "expected"), SHOWN)
def test_a_command_prints_what_the_page_says(command: str, expected: str, folder: Path) -> None:
    actual = console_page.printed(command, folder)
    assert actual == expected or not expected
    assert "rror" not in actual


def test_the_page_has_commands() -> None:
    assert len(SHOWN) > 5


# A server may answer a request at the moment of the signal. uvicorn catches every exception of an
# application, so an exception that a signal handler raised there would be lost.
SIGNALLED_WHILE_ANSWERING = """
import os, signal
from numalet.__main__ import main
from numalet.cluster.fleet_metrics import FleetCollector

def is_up(self):
    os.kill(os.getpid(), {number})
    return True

FleetCollector.is_up = property(is_up)
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_a_request_is_answered_ends_it(
    folder: Path, number: signal.Signals
) -> None:
    code = SIGNALLED_WHILE_ANSWERING.format(number=int(number))
    arguments = ["--dump", str(folder / "dump.json"), "--listen", "127.0.0.1:0"]
    served = SaidProgram("fleet", "serve", *arguments, program=["-c", code])
    try:
        served.until_said("/metrics\n")
        address = served.said.split()[1].removesuffix("metrics")
        with urllib.request.urlopen(address + "readyz", timeout=200) as answer:
            assert answer.read() == b"ok\n"
        assert served.process.wait(200) == 0
    finally:
        served.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_metrics_are_served_until_the_end(folder: Path, number: signal.Signals) -> None:
    arguments = ["--dump", "dump.json", "--listen", "127.0.0.1:0", "--shape"]
    with subprocess.Popen(
        [sys.executable, "-m", "numalet", "fleet", "serve", *arguments, "nvidia.com/gpu=4,cpu=16"],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
        text=True,
    ) as served:
        assert served.stderr is not None
        address = served.stderr.readline().removeprefix("serving ").strip()
        with urllib.request.urlopen(address, timeout=200) as answer:
            page = answer.read().decode()
        served.send_signal(number)
        assert served.wait(200) == 0
    assert 'numalet_fleet_trap_nodes{pool="gpus"} 2.0' in page
    assert 'numalet_fleet_stranded{pool="gpus",resource="nvidia.com/gpu"} 8.0' in page
    assert 'numalet_fleet_nodes{origin="published",pool="gpus"} 3.0' in page
    assert 'numalet_fleet_fits{shape="nvidia.com/gpu=4,cpu=16"} 0.0' in page
    assert "numalet_fleet_up 1.0" in page
    shown = dict(re.findall(r"^# HELP numalet_fleet_(\w+) (.*)$", page, re.MULTILINE))
    assert shown == dict(fleet_metrics.HELP)


def test_every_metric_is_in_the_reference() -> None:
    rows = re.findall(
        r"^\| `numalet_fleet_(\w+)` \| [^|]* \| (.*) \|$",
        METRICS.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert dict(rows) == dict(fleet_metrics.HELP)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
def test_alerts_do_what_their_tests_say() -> None:
    for question, ending in (("check", "rules"), ("test", "test")):
        done = subprocess.run(
            ["promtool", question, "rules", f"numalet-fleet.{ending}.yaml"],
            cwd=PROMETHEUS,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_name_metrics_that_there_are() -> None:
    text = (PROMETHEUS / "numalet-fleet.rules.yaml").read_text(encoding="utf-8")
    assert set(re.findall(r"numalet_fleet_(\w+)", text)) <= set(fleet_metrics.HELP)
