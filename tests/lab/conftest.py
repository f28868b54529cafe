"""Tests that boot guests run where they are asked for, and say why where they can not.

``make lab`` asks for them. With ``NUMALET_REQUIRE_LAB=1`` what can not run is a failure.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from lab.quiet_watch import QuietWatch
from numalet.core.model.findings import BadInput, Finding
from numalet.lab import host, kernel_cache
from numalet.wording import explanations
from running import suites

# These run inside guests; see guests.py.
collect_ignore = ["guest"]


@pytest.fixture(scope="session")
def cache() -> Path:
    """The folder with the kernel, which is there; else the tests are skipped, or fail."""
    suites.skip_unless_asked("LAB", "it boots guests with QEMU, which takes minutes: make lab")
    folder = kernel_cache.default_folder(os.environ)
    if findings := _missing(folder):
        suites.can_not_run("LAB", "; ".join(map(explanations.sentence, findings)))
    return folder


def _missing(folder: Path) -> Sequence[Finding]:
    """What a guest would lack."""
    try:
        if not (findings := host.missing()):
            with kernel_cache.kernel(folder, (), QuietWatch()):
                return ()
    except BadInput as bad:
        return bad.findings
    return findings
