"""The age of the files that describe a cluster."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from numalet.cli import fleet_sources


def test_the_newest_file_says_when_a_dump_was_written(tmp_path: Path) -> None:
    old, new = tmp_path / "a" / "nodes.yaml", tmp_path / "pods.json"
    old.parent.mkdir()
    for path, seconds in ((old, 1_000), (new, 2_000)):
        path.write_text("", encoding="utf-8")
        os.utime(path, (seconds, seconds))
    assert fleet_sources.made_at([tmp_path]) == datetime.fromtimestamp(2_000, UTC)
    assert fleet_sources.made_at([old]) == datetime.fromtimestamp(1_000, UTC)
    assert fleet_sources.made_at([Path("-"), tmp_path / "none"]) is None
