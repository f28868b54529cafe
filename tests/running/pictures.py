"""The pictures in the documentation: what commands draw of the examples. ``make pictures``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "pictures"
_LIMIT_SECONDS: Final = 300

COMMANDS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "refused-pod.svg": (
        "documented",
        (
            "explain", "-c", "kubelet.yaml", "-m", "machine.yaml",
            "--reserved-memory", "0:memory=3Gi;1:memory=2148Mi",
            "second.yaml", "--after", "guaranteed.yaml",
        ),
    ),
}  # fmt: skip
"""By file: the folder of ``examples`` in which a command runs, and the command without --svg."""


def drawn(name: str) -> str:
    """The picture as it is drawn now."""
    folder, arguments = COMMANDS[name]
    done = subprocess.run(
        [sys.executable, "-m", "numalet", *arguments, "--svg", "-"],
        cwd=ROOT / "examples" / folder, capture_output=True, text=True,
        timeout=_LIMIT_SECONDS, check=False,
    )  # fmt: skip
    if done.stderr:
        raise AssertionError(done.stderr)
    return done.stdout


def main() -> None:
    """Write all of them."""
    for name in COMMANDS:
        FOLDER.joinpath(name).write_text(drawn(name), encoding="utf-8")


if __name__ == "__main__":
    main()
