"""The drawings in the documentation: what commands draw of the examples. ``make pictures``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from numalet.drawing import hint_matrix
from numalet.insight.explain import hint_maps
from numalet.insight.explain.explanation_types import Explanation

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "pictures"
_LIMIT_SECONDS: Final = 300

_SEVEN: Final = (
    "simulate", "-m", "2n3c2t", "--memory-per-node", "16Gi", "--cpu-manager-policy", "static",
    "--reserved-cpus", "0,6", "seven.yaml",
)  # fmt: skip
_ALIGNED: Final = ("-c", "kubelet.yaml", "-m", "machine.yaml", "--devices", "devices.yaml")

COMMANDS: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "aligned.svg": ("aligned", ("simulate", *_ALIGNED, "pods.yaml")),
    "cpus-packed.svg": ("cpus", _SEVEN),
    "cpus-distributed.svg": (
        "cpus",
        (
            *_SEVEN, "--feature-gates", "CPUManagerPolicyAlphaOptions=true",
            "--cpu-manager-policy-options", "distribute-cpus-across-numa=true",
        ),
    ),
    "grace-blackwell.svg": ("many-numa-nodes", ("machine", "profile:gb200-34n")),
    "memory-group.svg": (
        "many-numa-nodes",
        (
            "simulate", "-c", "kubelet-memory.yaml", "--topology-manager-policy", "best-effort",
            "--reserved-memory", "0:memory=4196Mi", "-m", "4n8c2t", "--memory-per-node", "32Gi",
            "wide.yaml",
        ),
    ),
    "rejected-pod.svg": (
        "documented",
        (
            "explain", "-c", "kubelet.yaml", "-m", "machine.yaml",
            "--reserved-memory", "0:memory=3Gi;1:memory=2148Mi",
            "second.yaml", "--after", "guaranteed.yaml",
        ),
    ),
    "trap-node.svg": (
        "fleet",
        (
            "simulate", "-m", "profile:dgx-h100", "--devices", "profile:dgx-h100",
            "--cpu-manager-policy", "static", "--topology-manager-policy", "single-numa-node",
            "--kube-reserved", "cpu=2,memory=2Gi", "running.yaml", "tune.yaml",
        ),
    ),
    "two-pods.svg": (
        "tutorial",
        (
            "simulate", "-c", "kubelet.yaml", "-m", "2n16c2t", "--memory-per-node", "64Gi",
            "pods.yaml",
        ),
    ),
}  # fmt: skip
"""By file: the folder of ``examples`` in which a command runs, and the command without --svg."""

MATRICES: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "hints-agree.svg": (
        "aligned", ("explain", *_ALIGNED, "pods.yaml", "--pod", "default/route"),
    ),
    "hints-disagree.svg": (
        "aligned", ("explain", *_ALIGNED, "pods.yaml", "--pod", "default/late"),
    ),
}  # fmt: skip
"""By file: the same of commands that explain; the hints of the first subject are drawn."""


def drawn(name: str) -> str:
    """The picture as it is drawn now."""
    if name in COMMANDS:
        return _printed(*COMMANDS[name], "--svg", "-")
    document = _printed(*MATRICES[name], "--budget", "0", "-o", "json")
    explanation = msgspec.json.decode(document, type=Explanation)
    return hint_matrix.draw(hint_maps.of_explanation(explanation)[0]) + "\n"


def _printed(folder: str, arguments: Sequence[str], *more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "numalet", *arguments, *more],
        cwd=ROOT / "examples" / folder, capture_output=True, text=True,
        timeout=_LIMIT_SECONDS, check=False,
    )  # fmt: skip
    if done.stderr:
        raise AssertionError(done.stderr)
    return done.stdout


def main() -> None:
    """Write all of them."""
    for name in (*COMMANDS, *MATRICES):
        FOLDER.joinpath(name).write_text(drawn(name), encoding="utf-8")


if __name__ == "__main__":
    main()
