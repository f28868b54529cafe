"""Why a run is not promised all that it has, as it is written down and as it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from numalet.agent.controller.run_holders import RunHolder
from numalet.agent.controller.shared_state import HOLDERS, SharedState
from numalet.agent.run import other_runs
from numalet.core.checkpoint import cpu_file, memory_file
from numalet.core.model.findings import Finding
from numalet.insight.state.rebase import Lost, RebaseCpusGone, RebaseMalformed, RebaseNodeGone

PLAIN = RunHolder(uid="a", pid=4194304, ticks=1, boot="x", command="c", is_shared=False)
FORMER = {
    "uid": "a", "pid": 4194304, "ticks": 1, "boot": "x", "command": "c", "is_shared": False,
    "path": "kubepods/poda/main",
}  # fmt: skip


def _read(root: Path) -> RunHolder:
    state = SharedState(root)
    with state.held() as content:
        (found,) = (*content.live, *content.dead)
    return found


def _written(root: Path, holder: RunHolder) -> str:
    state = SharedState(root)
    state.folder.mkdir(parents=True, exist_ok=True)
    with state.held():
        state.write({}, (holder,))
    return (state.folder / HOLDERS).read_text()


@pytest.mark.parametrize(
    "why",
    [
        RebaseCpusGone(cpus="4-5"),
        RebaseNodeGone(nodes=[1], known=[0, 2]),
        RebaseMalformed(groups=[[0, 1], [2]], blocks="1 of memory"),
    ],
)
def test_what_was_lost_is_written_as_codes_and_shown_as_sentences(
    why: Finding, tmp_path: Path
) -> None:
    other = RebaseCpusGone(cpus="7")
    lost = [
        Lost(PLAIN.key, memory_file.FILE_NAME, why),
        Lost(PLAIN.key, cpu_file.FILE_NAME, other),
    ]
    holder = other_runs.marked(PLAIN, lost)
    assert holder.is_shared
    assert other_runs.lost_allocation(holder) == f"{why}; {other}"
    text = _written(tmp_path, holder)
    assert str(why) not in text
    assert _read(tmp_path) == holder


def test_a_run_that_lost_nothing_is_written_as_it_always_was(tmp_path: Path) -> None:
    assert other_runs.marked(PLAIN, []) is PLAIN
    assert other_runs.lost_allocation(PLAIN) == ""
    (plain,) = json.loads(_written(tmp_path, PLAIN))
    assert plain.keys() == FORMER.keys()


def test_a_text_of_the_release_before_is_read_and_kept(tmp_path: Path) -> None:
    said = "the CPUs 4-5 are offline or reserved"
    folder = SharedState(tmp_path).folder
    folder.mkdir(parents=True)
    (folder / HOLDERS).write_text(json.dumps([{**FORMER, "unpromised": said}]))
    found = _read(tmp_path)
    assert other_runs.lost_allocation(found) == said
    _written(tmp_path, found)
    assert other_runs.lost_allocation(_read(tmp_path)) == said
