"""Continuous integration: which stages run after what, and what becomes of a failure.

``.ci/run`` is copied and run with stand-ins for what it starts: the stages only say their names.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
ALL = [
    *("check", "docs", "systems", "lab", "kubelet", "cluster", "differential", "differential"),
    *("image-test", "browser"),
]
"""The third to the last but two run side by side; two releases are compared in turn."""

MAKE = """#!/bin/sh
test "$1" != oracle || exit 0
echo "$1" >> "$SEEN"
test "$1" != cluster || test -e "$HOME/built" || exit 1
test "$1" = "$FAILING" || exit 0
echo "= FAILURES ="
echo "$1 is not well"
exit 1
"""
BUILT = """#!/bin/sh
touch "$HOME/built"
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

    def ran_all(self) -> bool:
        ordered = [*self.stages[:2], *sorted(self.stages[2:-2]), *self.stages[-2:]]
        return ordered == [*ALL[:2], *sorted(ALL[2:-2]), *ALL[-2:]]


@dataclass(frozen=True)
class Project:
    """A copy of the script among stand-ins."""

    folder: Path

    def put(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    @property
    def seen(self) -> Path:
        """What the stand-ins noted."""
        return self.folder / "seen"

    def begin(
        self, build: str = BUILT, failing: str = "", **variables: str
    ) -> subprocess.Popen[str]:
        """Start it in a session of its own; ``failing`` is the target of make that fails."""
        self.put(".ci/control-plane", build)
        self.seen.touch()
        own = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "NUMALET_KUBECTL": "/nowhere/kubectl",
            "SEEN": str(self.seen),
            "FAILING": failing,
        }
        return subprocess.Popen(
            [str(self.folder / ".ci" / "run")],
            env=own | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, build: str = BUILT, failing: str = "", **variables: str) -> Ran:
        """The same, and wait until it ends."""
        process = self.begin(build, failing, **variables)
        said, _ = process.communicate()
        return Ran(process.returncode, self.seen.read_text().split(), said)

    def builder_runs(self) -> bool:
        """Whether what builds the control plane is still there; it was, for it wrote its number."""
        builder = int((self.folder / "seen.builder").read_text())
        return Path(f"/proc/{builder}").exists()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.put("bin/make", MAKE)
    made.put("bin/dpkg-query", "#!/bin/sh\necho ii\n")
    for name in ("promtool", "kubectl"):
        made.put(f"bin/{name}", "#!/bin/sh\n")
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci" / "run")
    return made


def test_a_control_plane_is_built_and_all_stages_run(project: Project) -> None:
    ran = project.run()
    assert (ran.status, ran.ran_all()) == (0, True)
    assert (project.folder / "built").exists()


def test_a_control_plane_that_can_not_be_built_fails_after_all_stages(project: Project) -> None:
    ran = project.run(NOT_BUILT)
    assert (ran.status, ran.ran_all()) == (1, True)
    assert "the control plane cannot be built" in ran.said
    assert "the disk is full" in ran.said


@pytest.mark.parametrize("failing", dict.fromkeys(ALL[1:]))
def test_a_stage_that_fails_hides_no_other(project: Project, failing: str) -> None:
    ran = project.run(failing=failing)
    assert (ran.status, ran.ran_all()) == (1, True)
    # The failure is the last thing that it prints before the list of stages.
    assert f"failures of make-{failing}\n= FAILURES =\n{failing} is not well\n" in ran.said


# A check that begins once the control plane is being built.
AFTER_THE_BUILDER = MAKE.replace(
    "echo", 'until test -s "$SEEN.builder"; do sleep 0.1; done\necho', 1
)


def test_a_check_that_fails_ends_all_at_once(project: Project) -> None:
    project.put("bin/make", AFTER_THE_BUILDER)
    ran = project.run(NEVER_BUILT, failing="check")
    assert (ran.status, ran.stages) == (1, ["check"])
    assert not project.builder_runs()


def test_who_ends_it_ends_the_build(project: Project) -> None:
    project.put("bin/make", f"{AFTER_THE_BUILDER}\nexec sleep 1000\n")
    process = project.begin(NEVER_BUILT)
    while not project.seen.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate()
    assert process.returncode != 0
    assert not project.builder_runs()
