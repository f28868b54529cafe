"""``numalet state`` on a directory from which a file is missing."""

from __future__ import annotations

import json
from pathlib import Path

from cli.commands import Runner
from numalet.core.checkpoint import cpu_file, memory_file
from values import state_builders


def test_a_missing_memory_file_is_reported_by_verify_and_restore_check(
    numalet: Runner, tmp_path: Path
) -> None:
    (tmp_path / cpu_file.FILE_NAME).write_text(state_builders.files()[cpu_file.FILE_NAME])

    verified = numalet("state", "verify", str(tmp_path), "-o", "json")
    asked = ("--cpu-manager-policy", "static", "--kube-reserved", "cpu=1", "-m", "2n8c")
    checked = numalet("state", "restore-check", str(tmp_path), *asked, "-o", "json")

    for ended in (verified, checked):
        found = json.dumps(json.loads(ended.out))
        assert "state/file-missing" in found
        assert f"{memory_file.FILE_NAME} is missing" in found
    assert numalet("state", "verify", str(tmp_path), "--strict").status == 1
    one_file = str(tmp_path / cpu_file.FILE_NAME)
    assert "file-missing" not in numalet("state", "verify", one_file, "-o", "json").out
