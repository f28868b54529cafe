"""Agents killed wherever they touch the world, on a kernel that holds programs in cgroups.

Python starts slowly in a guest, so the agents are copies of the process of this test; they are
real processes nevertheless, and what they leave behind is found by another one.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from numalet.agent.controller.settings import RuntimeKind
from running import crash_rounds
from running.crash_rounds import Rounds
from running.crash_victims import AT_A_POINT, forked

CRASHES = int(os.environ.get("NUMALET_LAB_CRASHES", "30"))
SEED = int(os.environ.get("NUMALET_CRASH_SEED", "1"))
TREE = Path("/sys/fs/cgroup/numalet")
LAST_PASSAGE = 80
"""About so many fault points a round has here: every write into a cgroup is two of them."""


def test_nothing_is_lost_doubled_or_leaked_on_a_kernel_that_enforces(tmp_path: Path) -> None:
    out = Path(os.environ["NUMALET_LAB_OUT"])
    rounds = Rounds(
        folder=tmp_path,
        kind=RuntimeKind.PROCESS,
        chance=random.Random(SEED),
        start=forked,
        patience_seconds=900.0,
        last_passage=LAST_PASSAGE,
        pods=4,
        touched=1,
        log=out / "rounds",
    )
    assert rounds.ground.tree is not None
    assert rounds.ground.tree.root == TREE
    rounds.play(CRASHES)
    told = crash_rounds.summary([rounds])
    (out / "told").write_text(told)
    assert rounds.problems == []
    assert rounds.found.total() == CRASHES
    assert rounds.found[AT_A_POINT] * 3 >= CRASHES * 2
    # No cgroup of a pod, nor of a container, is left.
    assert [each for each in TREE.rglob("pod*") if each.is_dir()] == []
