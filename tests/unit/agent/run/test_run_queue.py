"""The queue of commands that wait: strictly in order, without those that are dead."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from numalet.agent.run import queue
from numalet.agent.run.queue import Waiter
from numalet.core.model.findings import BadInput, Finding

LONG = 60.0
DIES = """
import os, signal, sys
from pathlib import Path
from numalet.agent.run import queue
with queue.joined(Path(sys.argv[1])):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_first_has_its_turn_at_once_and_the_others_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    served: list[int] = []
    with ExitStack() as first:
        first.enter_context(queue.joined(folder)).wait_for_turn(0.0)
        stacks = [ExitStack() for _ in range(3)]
        tickets = [each.enter_context(queue.joined(folder)) for each in stacks]
        assert [each.ahead() for each in tickets] == [1, 2, 3]

        def wait(index: int) -> None:
            with stacks[index]:
                assert tickets[index].wait_for_turn(time.monotonic() + LONG)
                served.append(index)

        threads = [threading.Thread(target=wait, args=(index,)) for index in (2, 1, 0)]
        for each in threads:
            each.start()
    for each in threads:
        each.join(LONG)
    assert served == [0, 1, 2]
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_whoever_was_killed_is_passed_over(tmp_path: Path) -> None:
    folder = tmp_path / "queue"
    done = subprocess.run([sys.executable, "-c", DIES, str(folder)], check=False, timeout=LONG)
    assert done.returncode == -9
    assert len([path for path in folder.iterdir() if path.name.isdecimal()]) == 1
    with queue.joined(folder) as ticket:
        assert ticket.ahead() == 0
        assert ticket.wait_for_turn(0.0)


def test_a_turn_that_does_not_come_in_time_is_told(tmp_path: Path) -> None:
    folder, told = tmp_path / "queue", list[Finding]()
    with (
        Waiter(folder, 0.0, "first", told.append) as first,
        Waiter(folder, 0.0, "second", told.append) as second,
    ):
        assert first.turn() is None
        too_late = second.turn()
    assert too_late is not None
    assert [told[0].code, too_late.code] == ["run/waits", "run/not-its-turn"]
    assert too_late.fields["ahead"] == 1


def test_who_waits_keeps_its_place_and_its_time_until_it_leaves(tmp_path: Path) -> None:
    folder, told = tmp_path / "queue", list[Finding]()
    with (
        Waiter(folder, LONG, "first", told.append) as first,
        Waiter(folder, 0.0, "second", told.append) as second,
    ):
        assert first.turn() is None
        last = first.last
        assert second.turn() is not None
        # It asks again, as whoever decides became another one.
        assert first.turn() is None
        assert second.turn() is not None
        assert last == first.last
        first.leave()
        assert second.turn() is None
        assert first.waits
    # The second one was told once.
    assert [each.code for each in told] == ["run/waits"]
    assert [path for path in folder.iterdir() if path.name.isdecimal()] == []


def test_who_does_not_wait_takes_no_ticket(tmp_path: Path) -> None:
    with Waiter(tmp_path / "queue", None, "command", list[Finding]().append) as waiter:
        assert not waiter.waits
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_can_not_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "queue").write_text("")
    with pytest.raises(BadInput), queue.joined(tmp_path / "queue"):
        pass


def test_how_long_a_command_waited_in_vain_is_told(tmp_path: Path) -> None:
    waiter = Waiter(tmp_path / "queue", LONG, "./app", lambda _: None)
    assert list(waiter.in_vain()) == []
    waiter.last = 0.0
    (finding,) = waiter.in_vain()
    assert str(finding) == "timed out after 60 s: './app' still does not fit"
    assert list(Waiter(tmp_path / "queue", None, "./app", lambda _: None).in_vain()) == []
