"""What the plugin does before it works."""

from __future__ import annotations

import os

import pytest

from numalet.agent.nri import command
from numalet.wording.log_line import LogLine


@pytest.mark.parametrize("is_permitted", [True, False])
def test_it_runs_before_other_programs_if_it_may(
    monkeypatch: pytest.MonkeyPatch, is_permitted: bool
) -> None:
    made, lines = list[tuple[int, int, int]](), list[LogLine]()

    def set_scheduler(pid: int, policy: int, param: os.sched_param) -> None:
        if not is_permitted:
            raise PermissionError(1, "Operation not permitted")
        made.append((pid, policy, param.sched_priority))

    monkeypatch.setattr(os, "sched_setscheduler", set_scheduler)
    command.run_before_other_programs(lines.append)
    assert made == ([(0, os.SCHED_RR, 1)] if is_permitted else [])
    said = [(each.message, str(each.keys["why"]).lower()) for each in lines]
    text = "No real-time priority; answers may wait for busy CPUs"
    assert said == ([] if is_permitted else [(text, "operation not permitted")])
