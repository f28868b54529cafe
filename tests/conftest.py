"""Profiles of the generated tests, for ``pytest --hypothesis-profile=NAME``; see the Makefile.

Folders with names that are as short in every run, because the name of a socket has at most 107
bytes. And what a test has to tell (its property ``told``), at the end of the report, since
processes that run tests side by side have nowhere to print.
"""

from __future__ import annotations

import gc
import itertools
import os
import signal
import sys
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, settings

from harness import forgotten_exceptions, measurement
from harness.host_guard import HostGuard
from harness.loop_of_one_test import LoopOfOneTest

for name, examples in {"thorough": 20_000, "sample": 400}.items():
    settings.register_profile(
        name,
        max_examples=examples,
        derandomize=name == "sample",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )

# Neither other work on the machine nor chance decides whether a run passes: no deadline, and the
# same cases in each run of the same test. ``make thorough`` draws others each time.
settings.register_profile("default", deadline=None, derandomize=True)
settings.load_profile("default")

# A task that a test forgot must not break the next test.
forgotten_exceptions.log_without_traceback()

# A test may start what looks like a kubelet; programs of other tests are not beside that one.
os.environ["NUMALET_KUBELET_ROOT"] = "/nowhere/kubelet"

# Each process of tests has its own scope, so its programs never meet those of another.
os.environ["NUMALET_SCOPE"] = f"tests-{os.getpid()}"

# Programs that tests start keep what they compiled, as those of users do: an agent that is compiled
# at every start takes half as long again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A run that is started in the background of a shell ignores an interrupt, and so would what it
# starts; a program that a user starts does not.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        is_interrupt = number is signal.SIGINT
        signal.signal(number, signal.default_int_handler if is_interrupt else signal.SIG_DFL)

_numbers = itertools.count()
_IN_MEMORY: Final = "/dev/shm"
_LONGEST_NAME_BYTES: Final = 20
_SHORT: Final = None if len(os.fsencode(tempfile.gettempdir())) <= _LONGEST_NAME_BYTES else "/tmp"


@pytest.fixture(autouse=True)
def _own_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    """What outlives a test, such as an agent that several ask, is not in the next one's way."""
    monkeypatch.setenv("NUMALET_SCOPE", f"test-{uuid.uuid4().hex[:12]}")


def pytest_configure(config: pytest.Config) -> None:
    """Fail a run that does not leave the host as it was; measure the tests that count."""
    config.pluginmanager.register(HostGuard(config), "numalet-host-guard")
    config.pluginmanager.register(measurement, "numalet-measurement")


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The event loop of tests that are coroutines."""
    return "asyncio", {"loop_factory": LoopOfOneTest}


@pytest.fixture(scope="session")
def _short_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="n", dir=_SHORT, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture
def tmp_path(_short_folder: Path) -> Path:
    """In place of pytest's own: its name says nothing, so that it leaves room for those of sockets.

    The one of pytest has the names of the user, the run, the worker and the test in it; an agent
    whose root folder is there starts in one run and not in the next.
    """
    folder = _short_folder / str(next(_numbers))
    folder.mkdir(mode=0o700)
    return folder


def pytest_collection_finish() -> None:
    """Keep the collector of garbage from looking through thousands of tests again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def quick_collections() -> None:
    """For tests that collect garbage often: it is not searched for in what others have made."""
    pytest_collection_finish()


@pytest.fixture
def reachable() -> Iterator[Path]:
    """A folder that other users can reach; those above ``tmp_path`` are closed to them."""
    with tempfile.TemporaryDirectory(prefix="node") as folder:
        path = Path(folder)
        path.chmod(0o711)
        yield path


@pytest.fixture
def quick_path() -> Iterator[Path]:
    """The same in memory where there is such a folder, for tests that would wait for the disk."""
    folder = _IN_MEMORY if os.access(_IN_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="node", dir=folder, ignore_cleanup_errors=True) as name:
        yield Path(name)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests had to tell."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    for name, value in (each for report in reports for each in report.user_properties):
        if name == "told":
            terminalreporter.write_line(str(value))
