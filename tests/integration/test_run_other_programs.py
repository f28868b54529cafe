"""``numalet run`` next to numactl, taskset, hwloc-bind and launchers of MPI, which it can replace.

The rows of the page "Replace numactl, taskset and srun" run with amounts that this machine has.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from architecture import tree
from numalet.core.model import cpu_set

PAGE: Final = tree.DOCS / "how-to" / "coming-from.md"
CPUS: Final = len(os.sched_getaffinity(0))
_ROW: Final = re.compile(r"^\| `([^`]+ \./app)` \| `([^`]+ \./app)`", re.MULTILINE)
ROWS: Final = _ROW.findall(PAGE.read_text(encoding="utf-8"))
_SCALED: Final = (
    ("0-7", "0"),
    ("core:0-3", "core:0"),
    ("--cpus 8", "--cpus 1"),
    ("cpus-per-task=8", "cpus-per-task=1"),
    ("64G", "64M"),
)
_PROBE: Final = "import os; print(','.join(map(str, sorted(os.sched_getaffinity(0)))))"
_LAUNCHED: Final = {"OMPI_COMM_WORLD_LOCAL_RANK": "0"}

pytestmark = [
    pytest.mark.skipif(CPUS < 2, reason="one CPU is kept for the system"),
    pytest.mark.timeout(600),
]


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )


def numalet(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "numalet", "run", "-q", "--root", str(root), *words]


def needs(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def shown(text: str) -> tuple[frozenset[int], str]:
    """The CPUs and the bound memory nodes in the output of ``numactl --show``."""
    facts = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    return frozenset(map(int, facts["physcpubind"].split())), facts["membind"].strip()


def test_the_page_has_a_row_for_each_program() -> None:
    programs = {theirs.split()[0] for theirs, _ in ROWS}
    assert programs == {"numactl", "taskset", "hwloc-bind", "srun", "systemd-run"}


@pytest.mark.parametrize(("theirs", "ours"), ROWS, ids=[row[0] for row in ROWS])
def test_a_row_of_the_page_runs(theirs: str, ours: str, tmp_path: Path) -> None:
    needs("numactl")
    for before, after in _SCALED:
        theirs, ours = theirs.replace(before, after), ours.replace(before, after)
    program = theirs.split()[0]
    probe = shlex.join(["numactl", "--show"])
    given = shlex.split(ours.replace("./app", probe))
    assert given[:2] == ["numalet", "run"]
    done = run(*numalet(tmp_path, *given[2:]))
    assert done.returncode == 0, done.stderr
    cpus, nodes = shown(done.stdout)
    assert len(cpus) == 1
    assert nodes.split() == ["0"]
    # The others need a cluster or a service manager that runs.
    if program not in ("numactl", "taskset", "hwloc-bind") or shutil.which(program) is None:
        return
    other = run(*shlex.split(theirs.replace("./app", probe)))
    assert other.returncode == 0, other.stderr
    assert shown(other.stdout)[0] <= os.sched_getaffinity(0)


def test_a_command_stays_within_the_cpus_of_taskset(tmp_path: Path) -> None:
    needs("taskset")
    free = max(os.sched_getaffinity(0))
    within = ("taskset", "-c", str(free))
    done = run(*within, *numalet(tmp_path, "--cpus", "1", "--", sys.executable, "-c", _PROBE))
    assert (done.returncode, done.stdout) == (0, f"{free}\n"), done.stderr


def test_a_refusal_names_the_inherited_cpus_and_how_to_use_others(tmp_path: Path) -> None:
    needs("taskset")
    # The first CPU is the one that is reserved for the system.
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    within = ("taskset", "-c", str(first))
    refused = run(*within, *numalet(tmp_path, "--cpus", "1", "--", "true"))
    assert refused.returncode == 125
    assert "--any-cpu" in refused.stderr
    anywhere = numalet(tmp_path, "--cpus", str(CPUS - 1), "--any-cpu", "--")
    done = run(*within, *anywhere, sys.executable, "-c", _PROBE)
    assert done.returncode == 0, done.stderr
    assert last in cpu_set.parse(done.stdout.strip())


def test_a_rank_gets_its_cpus_and_threads(tmp_path: Path) -> None:
    script = "echo $OMP_NUM_THREADS $OMP_PLACES $GOMP_CPU_AFFINITY $I_MPI_PIN $NUMALET_CPUS"
    words = numalet(tmp_path, "--per-rank", "--cpus", "1", "--env", "openmp,mpi", "--")
    done = run(*words, "sh", "-c", script, **_LAUNCHED)
    assert done.returncode == 0, done.stderr
    threads, places, affinity, pin, cpu = done.stdout.split()
    assert (threads, places, affinity, pin) == ("1", f"{{{cpu}}}", cpu, "0")
    alone = run(*words, "true", **dict.fromkeys(_LAUNCHED, ""))
    assert alone.returncode == 2
    assert "start it with mpirun or srun" in alone.stderr


_OPENMP: Final = """\
#include <omp.h>
#include <stdio.h>
int main(void) {
  int threads = 0;
  #pragma omp parallel reduction(+:threads)
  threads += 1;
  printf("%d %d %d\\n", threads, omp_get_num_places(), (int) omp_get_proc_bind());
}
"""


def test_a_program_of_openmp_has_a_thread_on_each_cpu(tmp_path: Path) -> None:
    needs("cc")
    source, program = tmp_path / "threads.c", tmp_path / "threads"
    source.write_text(_OPENMP, encoding="utf-8")
    built = run("cc", "-fopenmp", "-o", str(program), str(source))
    if built.returncode:
        pytest.skip(f"cc has no OpenMP: {built.stderr}")
    count = str(CPUS - 1)
    words = numalet(tmp_path / "root", "--cpus", count, "--env", "openmp", "--", str(program))
    # What the caller set for the whole machine does not count here.
    done = run(*words, OMP_NUM_THREADS="64", OMP_PLACES="threads(64)")
    # 3 is omp_proc_bind_close.
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [count, count, "3"], "")


def test_ranks_of_open_mpi_run_side_by_side(tmp_path: Path) -> None:
    needs("mpirun")
    launcher = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-np", "2")
    words = numalet(tmp_path, "--per-rank", "--cpus", "200m", "--env", "mpi", "--")
    done = run(*launcher, *words, "sh", "-c", "echo $OMPI_COMM_WORLD_LOCAL_RANK")
    assert (done.returncode, sorted(done.stdout.split())) == (0, ["0", "1"]), done.stderr
