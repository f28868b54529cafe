"""Tests that boot guests run where they are asked for, and say why where they can not.

``make lab`` asks for them. With ``NUMALET_REQUIRE_LAB=1`` what can not run is a failure.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lab.quiet_watch import QuietWatch
from numalet.core.model.findings import BadInput
from numalet.lab import host, kernel_cache
from numalet.wording import english

# These run inside guests; see guests.py.
collect_ignore = ["guest"]

_ASKED = ("NUMALET_LAB", "NUMALET_REQUIRE_LAB")


@pytest.fixture(scope="session")
def cache() -> Path:
    """The folder with the kernel, which is there; else the tests are skipped, or fail."""
    if not any(os.environ.get(name) for name in _ASKED):
        pytest.skip("it boots guests with QEMU, which takes minutes: make lab")
    folder = kernel_cache.default_folder(os.environ)
    try:
        findings = host.missing()
        if not findings:
            with kernel_cache.kernel(folder, (), QuietWatch()):
                return folder
    except BadInput as bad:
        findings = bad.findings
    why = "; ".join(map(english.sentence, findings))
    if os.environ.get("NUMALET_REQUIRE_LAB"):
        pytest.fail(f"the lab is required and can not run: {why}")
    pytest.skip(f"the lab can not run: {why}")
