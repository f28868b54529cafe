"""Run tests inside a guest: one boot for all tests of a case.

A case names files of ``tests/lab/guest`` and the guest that they want. They are run there by
pytest, with the project's own virtualenv; the report comes out through the shared folder::

    run_inside(Case("test_sysfs_truth.py", topology="4n8c-distances"), cache, tmp_path)
    run_inside(Case("test_x.py", hugepages="2Mi=0:64", init=Init.SYSTEMD, disk=folder), ...)

Two cases with the same ``disk`` are a reboot. Inside, ``NUMALET_LAB_DISK`` and
``NUMALET_LAB_OUT`` name the shared folders and ``NUMALET_LAB_TOPOLOGY`` the topology.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import pytest

from lab.quiet_watch import QuietWatch
from numalet.lab import guest
from numalet.lab.guest import EndedGuest, Ending
from numalet.lab.request import GuestRequest, Init, parse_hugepages, shares, with_hugepages
from numalet.lab.topology import Topology, changed_topology, topology_named

ROOT = Path(__file__).resolve().parents[2]
INSIDE = Path("tests/lab/guest")

PATIENCE_SECONDS = 3600.0
"""Several times what the slowest guest takes on a quiet machine."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Tests, and the guest that they run in."""

    tests: tuple[str, ...]
    topology: str = "2n4c"
    hugepages: str = ""
    node_memory: tuple[str, ...] = ()
    without_nodes: tuple[int, ...] = ()
    kernel_arguments: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    qemu: tuple[str, ...] = ()
    init: Init = Init.NONE
    disk: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    select: str = ""
    """As pytest's ``-k``: only some tests of the files."""

    def shape(self) -> Topology:
        """The topology with the changes made to it."""
        named = topology_named(self.topology)
        return changed_topology(named, self.node_memory, self.without_nodes)


def request(case: Case, command: tuple[str, ...], out: Path | None = None) -> GuestRequest:
    """The guest of a case, with any command."""
    reserved = parse_hugepages(case.hugepages)
    return GuestRequest(
        topology=with_hugepages(case.shape(), reserved),
        command=command,
        folder=PurePosixPath(ROOT),
        environment=case.environment,
        hugepages=reserved,
        kernel_arguments=case.kernel_arguments,
        modules=case.modules,
        qemu=case.qemu,
        shares=shares(out, case.disk),
        init=case.init,
        timeout_seconds=PATIENCE_SECONDS,
    )


def command(case: Case) -> tuple[str, ...]:
    """How pytest is called inside: with nothing that it does not need, which saves seconds."""
    return (
        *(sys.executable, "-m", "pytest", "-q", "-c", str(INSIDE / "guest.ini")),
        *("-p", "no:cacheprovider", "--confcutdir", str(INSIDE), "--basetemp=/run/pytest"),
        *("--junitxml", "/lab/out/junit.xml", *(("-k", case.select) if case.select else ())),
        *(str(INSIDE / name) for name in case.tests),
    )


@dataclass(frozen=True)
class Inside:
    """What happened inside: the end of the guest, what was printed, one outcome per test."""

    ended: EndedGuest
    printed: str
    outcomes: Mapping[str, str]


def run_inside(case: Case, cache: Path, folder: Path) -> Inside:
    """Boot the guest, run the tests in it, fail with their report if one of them fails.

    ``folder`` is where the report goes; the tests may write there too.
    """
    quick = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    asked = Case(**{**case.__dict__, "environment": {**quick, **case.environment}})
    watch = QuietWatch()
    ended = guest.run(request(asked, command(asked), folder), watch, cache)
    printed = watch.printed.decode(errors="replace")
    outcomes = _outcomes(folder / "junit.xml")
    if ended.ending is not Ending.EXITED:
        pytest.fail(f"{case}: {ended.ending.value}\n{printed}\n{ended.console}", pytrace=False)
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    if ended.status or failed or not outcomes:
        pytest.fail(f"in the guest {case.topology}: {failed}\n{printed}", pytrace=False)
    return Inside(ended, printed, outcomes)


def _outcomes(report: Path) -> dict[str, str]:
    """passed, failed or skipped by the name of the test."""
    if not report.is_file():
        return {}
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case}
        bad = bool(kinds & {"failure", "error"})
        outcome = "failed" if bad else "skipped" if "skipped" in kinds else "passed"
        found[str(case.get("name"))] = outcome
    return found
