"""Tests beside a real kubelet run where they are asked for: ``make kubelet``, as root on Debian.

With ``NUMALET_REQUIRE_KUBELET=1`` what can not run is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from running import kubelet_programs, suites
from running.kubelet_programs import KubeletPrograms


@pytest.fixture(scope="session")
def programs() -> KubeletPrograms:
    """Kubelet and container runtime on a machine that can run them; else skipped, or failed."""
    suites.skip_unless_asked("KUBELET", "it starts a kubelet: make kubelet")
    there = kubelet_programs.here()
    if isinstance(there, str):
        suites.can_not_run("KUBELET", there)
    return there


@pytest.fixture
def folder(programs: KubeletPrograms) -> Iterator[Path]:
    with _short_folder() as made:
        yield made


@pytest.fixture(scope="module")
def module_folder(programs: KubeletPrograms) -> Iterator[Path]:
    """One for all tests of a module."""
    with _short_folder() as made:
        yield made


@contextmanager
def _short_folder() -> Iterator[Path]:
    """A folder with a short name, because sockets are in it."""
    # In memory where there is such a folder: the kubelet waits for the disk at every change.
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else "/var/tmp"
    with TemporaryDirectory(prefix="nk", dir=where, ignore_cleanup_errors=True) as made:
        yield Path(made)
