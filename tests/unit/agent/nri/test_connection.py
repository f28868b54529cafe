"""The priority of the thread that answers a runtime."""

from __future__ import annotations

import os
import threading

import pytest

from numalet.agent.nri import connection
from numalet.wording.log_line import LogLine

Setting = tuple[int, int]


def settings(monkeypatch: pytest.MonkeyPatch, *, is_permitted: bool) -> list[Setting]:
    """What is set, in place of the thread's own priority."""
    made: list[Setting] = []

    def set_scheduler(pid: int, policy: int, param: os.sched_param) -> None:
        assert pid == 0
        if policy == os.SCHED_RR and not is_permitted:
            raise PermissionError(1, "Operation not permitted")
        made.append((policy, param.sched_priority))

    monkeypatch.setattr(os, "sched_setscheduler", set_scheduler)
    return made


def test_the_thread_is_ahead_of_other_programs_while_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made, lines = settings(monkeypatch, is_permitted=True), list[LogLine]()
    with connection.ahead_of_other_programs(lines.append):
        assert made == [(os.SCHED_RR, 1)]
    # The thread may get other work later.
    assert made[1:] == [(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority)]
    assert lines == []


def test_without_permission_it_answers_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made, lines = settings(monkeypatch, is_permitted=False), list[LogLine]()
    with connection.ahead_of_other_programs(lines.append):
        assert made == []
    (line,) = lines
    assert line.message == "No real-time priority; answers may wait for busy CPUs"
    assert "not permitted" in line.keys["why"]


def test_other_threads_keep_their_priority() -> None:
    before = os.sched_getscheduler(0)
    during = list[int]()

    def answer() -> None:
        with connection.ahead_of_other_programs(lambda line: None):
            during.append(os.sched_getscheduler(os.getpid()))

    thread = threading.Thread(target=answer)
    thread.start()
    thread.join()
    assert during == [before]
