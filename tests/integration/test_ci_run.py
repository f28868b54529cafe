"""Continuous integration: which stages run after what, and what becomes of a failure.

``.ci/run`` is copied and run with stand-ins for what it starts: the stages only say their names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
ALL = ["check", "lab", "soak", "cluster"]

STAGES = """#!/bin/sh
# In place of Python with stages.py: notes which stage ended with which status.
shift
if [ "$1" = sum ]; then ! grep -v ' 0$' "$2"; exit; fi
times=$2 name=$3
shift 3
"$@"
status=$?
echo "$name $status" >> "$times"
exit $status
"""
MAKE = """#!/bin/sh
echo "$1" >> "$SEEN"
test "$1" != cluster || test -e "$NUMALET_CONTROL_PLANE" || exit 1
test "$1" != "$FAILING"
"""
BUILT = """#!/bin/sh
mkdir -p "$1"
"""
NOT_BUILT = """#!/bin/sh
echo "the disk is full" >&2
exit 1
"""
NEVER_BUILT = """#!/bin/sh
echo $$ > "$SEEN.builder"
exec sleep 1000
"""


@dataclass(frozen=True)
class Ran:
    """The exit status, the stages that ran, in their order, and what was printed."""

    status: int
    stages: list[str]
    said: str


@dataclass(frozen=True)
class Project:
    """A copy of the script among stand-ins."""

    folder: Path

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run(self, build: str = BUILT, failing: str = "", **variables: str) -> Ran:
        """Run it; ``failing`` is the target of make that fails."""
        self.put(".ci/control-plane", build)
        seen = self.folder / "seen"
        seen.touch()
        own = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "PYTHON": str(self.folder / "bin" / "stages"),
            "NUMALET_KUBECTL": "/nowhere/kubectl",
            "SEEN": str(seen),
            "FAILING": failing,
        }
        done = subprocess.run(
            [str(self.folder / ".ci" / "run")],
            env=own | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        return Ran(done.returncode, seen.read_text().split(), done.stdout + done.stderr)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.put("bin/make", MAKE)
    made.put("bin/stages", STAGES)
    made.put("bin/dpkg-query", "#!/bin/sh\necho ii\n")
    for name in ("promtool", "kubectl"):
        made.put(f"bin/{name}", "#!/bin/sh\n")
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci" / "run")
    return made


def test_a_control_plane_is_built_and_all_stages_run(project: Project) -> None:
    ran = project.run()
    assert (ran.status, ran.stages) == (0, ALL)
    assert (project.folder / ".cache" / "numalet" / "control-plane").is_dir()


def test_a_control_plane_that_is_named_is_taken_as_it_is(project: Project) -> None:
    ran = project.run(NOT_BUILT, NUMALET_CONTROL_PLANE=str(project.folder))
    assert (ran.status, ran.stages) == (0, ALL)


def test_a_control_plane_that_can_not_be_built_fails_after_all_stages(project: Project) -> None:
    ran = project.run(NOT_BUILT)
    assert (ran.status, ran.stages) == (1, ALL)
    assert "there is no control plane" in ran.said
    assert "the disk is full" in ran.said


@pytest.mark.parametrize("failing", ["lab", "soak", "cluster"])
def test_a_stage_that_fails_hides_no_other(project: Project, failing: str) -> None:
    ran = project.run(failing=failing)
    assert (ran.status, ran.stages) == (1, ALL)


def test_a_check_that_fails_ends_all_at_once(project: Project) -> None:
    # It fails while the control plane is built.
    begun = 'until test -s "$SEEN.builder"; do :; done\necho'
    project.put("bin/make", MAKE.replace("echo", begun, 1))
    ran = project.run(NEVER_BUILT, failing="check")
    assert (ran.status, ran.stages) == (1, ["check"])
    builder = int((project.folder / "seen.builder").read_text())
    assert not Path(f"/proc/{builder}").exists()
