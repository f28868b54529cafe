"""The node state that commands share, for whoever may not use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from numalet.agent.controller.shared_state import SharedState
from numalet.core.model.findings import BadInput

CODE = """
import os, sys
from pathlib import Path
from numalet.agent.controller.shared_state import SharedState
from numalet.core.model.findings import BadInput
from numalet.wording import explanations
os.setgroups([])
os.setuid(65534)
try:
    SharedState(Path(sys.argv[1])).prepare()
except BadInput as bad:
    print(bad.findings[0].code, explanations.sentence(bad.findings[0]))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_told_whose_node_state_they_are(reachable: Path) -> None:
    root = reachable / "root"
    root.mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(root)], capture_output=True, text=True, check=True
    )
    code, said = done.stdout.split(maxsplit=1)
    assert code == "input/forbidden"
    assert f"{root}: the root folder belongs to user 0" in said
    assert "sudo" in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_node_state_that_can_not_be_made_belong_to_nobody(reachable: Path) -> None:
    command = [sys.executable, "-c", CODE, str(reachable / "root")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("agent/root-unusable ")
    assert "Permission denied" in done.stdout


GOOD = {
    "uid": "a", "pid": 4194304, "ticks": 1, "boot": "x", "command": "c", "is_shared": False,
    "path": "kubepods/poda/main",
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "{", "[", "null", "0", '"x"', "{}", "[null]", "[[]]", "[{}]", "\ufffd", "[" * 100_000,
        '[{"a":' * 50_000,
        *(json.dumps([GOOD | {name: None}]) for name in GOOD),
        *(json.dumps([GOOD | {name: [1]}]) for name in GOOD),
        *(json.dumps([GOOD | {"pid": pid}]) for pid in (-1, 0, 1.5, "7", 10**30)),
        *(json.dumps([GOOD | {"path": path}]) for path in ("..", "/", "/etc", "a/../..", "a//b")),
        json.dumps([GOOD | {"uid": ""}]),
    ],
)  # fmt: skip
def test_a_damaged_or_foreign_list_of_runs_is_a_finding(tmp_path: Path, text: str) -> None:
    state = SharedState(tmp_path)
    assert state.prepare()
    path = tmp_path / "run" / "runs.json"
    path.write_text(text)
    with pytest.raises(BadInput) as bad, state.held():
        pass
    (finding,) = bad.value.findings
    assert ("input/unreadable", str(path)) == (finding.code, finding.where.document)
    assert "runs" in finding.located


def test_a_list_of_runs_of_a_later_release_is_read(tmp_path: Path) -> None:
    state = SharedState(tmp_path)
    assert state.prepare()
    (tmp_path / "run" / "runs.json").write_text(json.dumps([GOOD | {"more": 1}]))
    with state.held() as content:
        assert [each.uid for each in (*content.live, *content.dead)] == ["a"]
