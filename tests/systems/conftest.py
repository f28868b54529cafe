"""Tests on other systems run where they are asked for: ``make systems``, as root on Debian.

With ``NUMALET_REQUIRE_SYSTEMS=1`` what can not run is a failure. Every system is a folder with a
fresh Debian, which is gone after its tests.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pytest

from running import debian_folder, suites
from running.debian_folder import DebianFolder

Debian: TypeAlias = Callable[..., DebianFolder]
"""Makes the Debian of a release, with packages."""


@pytest.fixture
def debian() -> Iterator[Debian]:
    """Makes systems on a machine that can; else the tests are skipped, or fail."""
    suites.skip_unless_asked("SYSTEMS", "it installs other systems in folders: make systems")
    lacking = debian_folder.missing()
    why = f"{', '.join(lacking)} not installed" if lacking else ""
    if os.geteuid() != 0:
        why = "only root can make them"
    if why:
        suites.can_not_run("SYSTEMS", why)
    with TemporaryDirectory(prefix="numalet-systems", ignore_cleanup_errors=True) as made:

        def system(suite: str, *packages: str) -> DebianFolder:
            return debian_folder.make(suite, Path(made, suite), *packages)

        yield system
