"""Who holds a place: a lock of its own, or, in the former format, a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from numalet.agent.controller.run_holders import FOLDER, Holders, RunHolder
from numalet.agent.controller.shared_state import SharedState
from numalet.agent.host.runtime.shim import process_tree

HOLDS = """
import sys
from pathlib import Path
from numalet.agent.controller.run_holders import Holders
lock = Holders(Path(sys.argv[1])).lock("uid-one")
print("held", flush=True)
sys.stdin.readline()
"""


def holder(uid: str = "uid-one", pid: int = 0) -> RunHolder:
    """A run of this process, or of one that is given."""
    pid = pid or os.getpid()
    found = process_tree.process(pid)
    ticks = 0 if found is None else found.started
    return RunHolder(
        uid=uid, pid=pid, ticks=ticks, boot=process_tree.boot_id(), command="x", is_shared=False
    )


def test_a_holder_lives_as_long_as_its_lock_is_held_whatever_its_id_is(tmp_path: Path) -> None:
    holders = Holders(tmp_path)
    line = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert holders.is_alive(holder(pid=child.pid))
        assert holders.is_alive(replace(holder(), pid=2**31 - 1, boot="another"))
        child.send_signal(signal.SIGKILL)
    # This process lives, but it is not who holds the lock.
    assert not holders.is_alive(holder())


def test_a_holder_of_the_former_format_is_its_process(tmp_path: Path) -> None:
    holders = Holders(tmp_path)
    assert holders.is_alive(holder())
    assert not holders.is_alive(replace(holder(), ticks=1))
    assert not holders.is_alive(replace(holder(), boot="another"))
    assert os.getpid() == holders.pid_here(holder())


def test_an_id_of_another_namespace_says_nothing_here(tmp_path: Path) -> None:
    holders = Holders(tmp_path)
    lock = holders.lock("uid-one")
    assert os.getpid() == holders.pid_here(holder())
    for about in (b'{"pid_namespace": 1}', b"", b"[]"):
        os.ftruncate(lock, 0)
        os.pwrite(lock, about, 0)
        assert holders.pid_here(holder()) is None
    assert holders.is_alive(holder())
    holders.unlock("uid-one", lock)
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_files_of_those_who_are_gone_are_removed_and_no_others(tmp_path: Path) -> None:
    holders = Holders(tmp_path)
    kept = holders.lock("uid-held")
    for uid in ("uid-known", "uid-gone"):
        os.close(holders.lock(uid))
    holders.sweep(["uid-known"])
    assert {"uid-held", "uid-known"} == {path.name for path in (tmp_path / FOLDER).iterdir()}
    os.close(kept)


def test_a_run_of_the_former_program_is_taken_over_and_lets_go_by_itself(tmp_path: Path) -> None:
    state = SharedState(tmp_path)
    assert state.prepare()
    with state.held():
        state.write({}, (holder(), holder("uid-two", pid=2**22 - 1)))
    # It knows nothing of locks, and what it reads has to have the form that it wrote.
    text = (tmp_path / "run" / "runs.json").read_text(encoding="utf-8")
    assert '{"uid": "uid-one", "pid": ' in text
    with state.held() as content:
        assert [each.uid for each in content.live] == ["uid-one"]
        assert [each.uid for each in content.dead] == ["uid-two"]


@pytest.mark.parametrize("uid", ["", ".", "..", "a/b", "/etc/passwd"])
def test_a_name_that_leads_elsewhere_is_damage(tmp_path: Path, uid: str) -> None:
    from numalet.core.model.findings import BadInput

    state = SharedState(tmp_path)
    assert state.prepare()
    with state.held():
        state.write({}, (holder(uid),))
    with pytest.raises(BadInput) as bad, state.held():
        pass
    assert [each.code for each in bad.value.findings] == ["input/unreadable"]
