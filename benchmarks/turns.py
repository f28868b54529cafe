"""This checkout and another one, measured in turns: each turn is a process for either of them.

The speed of a machine changes while it is measured, so what counts is the ratio within a turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

TURNS: Final = 5
OWN: Final = Path(__file__).resolve().parent.parent


def in_process(checkout: Path, module: str, *arguments: str) -> Mapping[str, Any]:
    """The JSON that a module of this folder prints when it runs on the sources of a checkout."""
    path = os.pathsep.join([str(checkout / "src"), str(OWN), str(OWN / "tests")])
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer


def ratio(ratios: Iterable[float]) -> str:
    """The median of the turns, and the lowest and the highest."""
    ordered = sorted(ratios)
    return f"{median(ordered):.2f} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


def sameness(pairs: Iterable[tuple[object, object]]) -> str:
    """Whether both did the same in every turn."""
    return "the same" if all(theirs == ours for theirs, ours in pairs) else "**different**"
