"""Real processes of the agent, killed with SIGKILL wherever they touch the world.

``NUMALET_CRASHES`` says how many; ``make crash`` makes 500. What a round is: ``crash_rounds``.
The same on a kernel that holds programs in cgroups: ``tests/lab/guest/test_crashes_kernel.py``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from numalet.agent.controller.settings import RuntimeKind
from running import crash_rounds
from running.crash_rounds import Rounds
from running.crash_victims import AT_A_POINT, separate

CRASHES: Final = int(os.environ.get("NUMALET_CRASHES", "9"))
SEED: Final = int(os.environ.get("NUMALET_CRASH_SEED", "1"))


@pytest.mark.slow
@pytest.mark.timeout(600 + 12 * CRASHES)
def test_nothing_is_lost_doubled_or_leaked_however_often_the_agent_is_killed(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with_fake = CRASHES * 3 // 5
    counts = {RuntimeKind.FAKE: with_fake, RuntimeKind.PROCESS: CRASHES - with_fake}
    played = []
    for kind, count in counts.items():
        rounds = Rounds(
            folder=tmp_path / kind.value, kind=kind, chance=random.Random(SEED), start=separate
        )
        rounds.play(count)
        played.append(rounds)
    record_property("told", crash_rounds.summary(played))
    assert [problem for each in played for problem in each.problems] == []
    assert list(counts.values()) == [each.found.total() for each in played]
    assert all(each.found[AT_A_POINT] * 3 >= each.found.total() * 2 for each in played)
