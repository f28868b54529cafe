"""The books that commands share, for whoever may not use them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os, sys
from pathlib import Path
from numalet.agent.foreground.shared_books import SharedBooks
from numalet.model.findings import BadInput
from numalet.wording import english
os.setgroups([])
os.setuid(65534)
try:
    SharedBooks(Path(sys.argv[1])).open()
except BadInput as bad:
    print(bad.findings[0].code, english.sentence(bad.findings[0]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_told_whose_books_they_are(reachable: Path) -> None:
    root = reachable / "root"
    root.mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(root)], capture_output=True, text=True, check=True
    )
    code, said = done.stdout.split(maxsplit=1)
    assert "run/not-allowed" == code
    assert f"the books in {root} belong to user 0" in said
    assert "sudo" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_books_that_can_not_be_made_belong_to_nobody(reachable: Path) -> None:
    command = [sys.executable, "-c", CODE, str(reachable / "root")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("agent/root-unusable ")
    assert "Permission denied" in done.stdout
