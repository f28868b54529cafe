"""``numalet run`` over node state that was written when the machine had other memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from numalet.core.checkpoint import memory_document, memory_file
from numalet.core.managers.memory.ledger import MemoryBlock, MemoryLedger
from numalet.core.model import resources

PATIENCE_SECONDS = 200.0

pytestmark = [
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is kept for the system"),
    pytest.mark.slow,
]


def _words(root: Path, *rest: str) -> list[str]:
    base = [sys.executable, "-m", "numalet", "run", "--root", str(root), "--memory", "64Mi"]
    return [*base, *rest]


def _run(root: Path, *rest: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        _words(root, "--cpus", "100m", *rest),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )


def _node_state(root: Path) -> tuple[Path, MemoryLedger]:
    path = root / "run" / memory_file.FILE_NAME
    document = memory_file.read(path.read_text())
    assert isinstance(document, memory_document.MemoryDocument)
    return path, memory_document.to_ledger(document)


def _written_with_more(root: Path, more_bytes: int, held_bytes: int | None = None) -> None:
    """Let the node state be that of a machine that had more memory, and a run that held so much."""
    path, ledger = _node_state(root)
    nodes = {
        node_id: replace(
            node,
            tables={
                name: replace(
                    table,
                    total=table.total + more_bytes,
                    allocatable=table.allocatable + more_bytes,
                    free=table.free + more_bytes,
                )
                if name == resources.MEMORY
                else table
                for name, table in node.tables.items()
            },
        )
        for node_id, node in ledger.nodes.items()
    }
    blocks = ledger.blocks
    if held_bytes is not None:
        blocks = {
            uid: {
                name: tuple(MemoryBlock(b.nodes, b.resource, held_bytes) for b in held)
                for name, held in containers.items()
            }
            for uid, containers in blocks.items()
        }
    path.write_text(memory_file.write("Static", MemoryLedger(nodes, blocks)))


@pytest.fixture
def running(tmp_path: Path) -> subprocess.Popen[str]:
    """A command that holds something and has begun."""
    words = _words(tmp_path, "-q", "--cpus", "1", "--", "sh", "-c", "echo up; exec sleep 1000")
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline()
    return child


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    child.communicate(timeout=PATIENCE_SECONDS)


def test_a_run_starts_beside_one_that_began_with_other_memory(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    _written_with_more(tmp_path, 1 << 20)
    done = _run(tmp_path, "--", "true")
    still_there = running.poll() is None
    _, ledger = _node_state(tmp_path)
    _end(running)
    assert (done.returncode, still_there) == (0, True), done.stderr
    assert len(ledger.holders()) == 1
    assert "keeps running" not in done.stderr


def test_ps_marks_a_run_that_does_not_fit_any_more(
    running: subprocess.Popen[str], tmp_path: Path
) -> None:
    words = [sys.executable, "-m", "numalet", "ps", "--root", str(tmp_path)]

    def shown() -> str:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    before = shown()
    _written_with_more(tmp_path, 1 << 50, held_bytes=1 << 49)
    # Nobody has written the mark yet: ps finds out by itself what a start would lose.
    changed = shown()
    _run(tmp_path, "--", "true")
    written = shown()
    _end(running)
    assert "Unpromised" not in before
    assert "Running/Unpromised" in changed
    assert "Running/Unpromised" in written


@pytest.mark.parametrize("waits", [(), ("--wait=1h",)])
def test_a_run_that_does_not_fit_any_more_goes_on_and_is_told_once(
    running: subprocess.Popen[str], tmp_path: Path, waits: tuple[str, ...]
) -> None:
    _written_with_more(tmp_path, 1 << 50, held_bytes=1 << 49)
    first, second = _run(tmp_path, *waits, "--", "true"), _run(tmp_path, "--", "true")
    still_there = running.poll() is None
    (holder,) = json.loads((tmp_path / "run" / "runs.json").read_text())
    _end(running)
    assert (first.returncode, second.returncode, still_there) == (0, 0, True), first.stderr
    said = " ".join(first.stderr.split())
    assert f"process {running.pid}" in said
    assert said.count("keeps running") == 1
    assert "keeps running" not in second.stderr
    # What is written down has a code and values, and no sentence of ours.
    (cause,) = holder["causes"]
    assert cause["code"].startswith("rebase/")
    assert set(cause["fields"]) > {"size_bytes"}
    assert "unpromised" not in holder
