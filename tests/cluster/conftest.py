"""Tests against a real control plane run where they are asked for, and say why where they can not.

``make cluster`` asks for them. With ``NUMALET_REQUIRE_CLUSTER=1`` what can not run is a failure,
and so is a test that skips itself.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from cluster import manifests
from running import control_plane, control_plane_programs, suites
from running.control_plane import ControlPlane
from running.control_plane_programs import ControlPlanePrograms

_FIGURES: Final = pytest.StashKey[list[str]]()
_PLANES: Final = pytest.StashKey[list[ControlPlane]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the servers wrote when a test fails; a skip is a failure where it is required."""
    report = yield
    if report.skipped and suites.is_required("CLUSTER") and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"a cluster test is required and was skipped: {report.longrepr}"
    if report.failed:
        for plane in item.config.stash.get(_PLANES, []):
            report.sections.append((f"servers of {plane.folder.name}", plane.logs()))
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print what was measured."""
    if measured := config.stash.get(_FIGURES, []):
        terminalreporter.section("figures")
        terminalreporter.write_line("\n".join(measured))


@pytest.fixture
def figures(pytestconfig: pytest.Config, request: pytest.FixtureRequest) -> list[str]:
    """Lines that are printed at the end of the run."""
    measured = pytestconfig.stash.setdefault(_FIGURES, [])
    measured.append(f"{request.node.name}:")
    return measured


@pytest.fixture(scope="session")
def programs() -> ControlPlanePrograms:
    """The programs of a control plane, which are there; else the tests are skipped, or fail."""
    suites.skip_unless_asked("CLUSTER", "it starts a control plane: make cluster")
    there = control_plane_programs.in_named_folder()
    if isinstance(there, str):
        suites.can_not_run("CLUSTER", there)
    return there


@contextmanager
def _opened(
    programs: ControlPlanePrograms, config: pytest.Config, api_flags: tuple[str, ...] = ()
) -> Iterator[ControlPlane]:
    planes = config.stash.setdefault(_PLANES, [])
    # In memory where there is such a folder: etcd waits for the disk at every write.
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        TemporaryDirectory(prefix="numalet-plane", dir=where, ignore_cleanup_errors=True) as folder,
        control_plane.running(programs, Path(folder), api_flags) as plane,
    ):
        planes.append(plane)
        try:
            yield plane
        finally:
            planes.remove(plane)


@pytest.fixture(scope="session")
def _shared(programs: ControlPlanePrograms, pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    with _opened(programs, pytestconfig) as plane:
        yield plane


@pytest.fixture
def plane(_shared: ControlPlane) -> Iterator[ControlPlane]:
    """The control plane that all tests use, one after the other; what a test makes is removed.

    A test may stop its servers, or start the scheduler and the controllers, which end after it.
    """
    yield _shared
    _shared.scheduler.kill()
    _shared.controllers.kill()
    _shared.clear()


@pytest.fixture(scope="session")
def _installed(_shared: ControlPlane) -> None:
    """What kubectl applies of the project is there: once for all tests, as none removes it."""
    _shared.apply(*manifests.DEFINITIONS, *manifests.ACCOUNTS)
    _shared.until_established()


@pytest.fixture
def defined(plane: ControlPlane, _installed: None) -> ControlPlane:
    """The control plane with the definitions of what nodes publish, and the accounts with roles."""
    return plane


@pytest.fixture(scope="module")
def plane_without_cache(
    programs: ControlPlanePrograms, pytestconfig: pytest.Config
) -> Iterator[ControlPlane]:
    """One whose API server asks etcd each time, so that what etcd forgot is gone at once.

    With its cache the API server knows the last changes better than etcd does; releases from 1.34
    on even serve old pages of lists from it.
    """
    with _opened(programs, pytestconfig, ("--watch-cache=false",)) as plane:
        yield plane


@pytest.fixture
def own_plane(
    programs: ControlPlanePrograms, pytestconfig: pytest.Config
) -> Iterator[Callable[..., ControlPlane]]:
    """Starts a control plane for this test alone, with further flags of the API server."""
    with ExitStack() as stack:
        yield lambda *flags: stack.enter_context(_opened(programs, pytestconfig, flags))
