"""``numalet run`` below the launchers that the page "Replace numactl, taskset and srun" names.

Open MPI is started as it is, Slurm as a cluster of one node: munged, slurmctld and slurmd, all in a
folder of the test and in a PID namespace that ends with it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from architecture import tree
from numalet.core.model import cpu_set
from running import suites

pytestmark = pytest.mark.timeout(900)

PAGE: Final = (tree.DOCS / "how-to" / "coming-from.md").read_text(encoding="utf-8")
CPUS: Final = len(os.sched_getaffinity(0))
PATIENCE_SECONDS: Final = 300.0
_CPUS_OF_THIS: Final = "import os; print(','.join(map(str, sorted(os.sched_getaffinity(0)))))"
# A rank may share CPUs, because one is kept for the system and a small machine has no other two.
_SCALED: Final = (
    ("--per-rank --cpus 8", "--per-rank --cpus 200m"),
    ("--cpus 8", "--cpus 1"),
    ("--cpus-per-task=8", "--cpus-per-task=1"),
    ("64G", "64M"),
    ("-np 4", "-np 2"),
)
_OPEN_MPI: Final = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
_SLURM: Final = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}
SlurmdSpoolDir={folder}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1024 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES
"""
_DAEMONS: Final = """\
munged --force --socket=munge.socket --key-file=key --pid-file=munge.pid --log-file=munge.log \\
  --seed-file=seed
slurmctld -i -f slurm.conf
exec slurmd -D -f slurm.conf -N "$1"
"""


def needs(*programs: str) -> None:
    suites.skip_unless_asked("SYSTEMS", "it starts daemons of other projects: make systems")
    lacking = [each for each in programs if shutil.which(each) is None]
    if lacking:
        suites.can_not_run("SYSTEMS", f"{', '.join(lacking)} not installed")
    if CPUS < 2:
        suites.can_not_run("SYSTEMS", "one CPU is kept for the system")


def lines(program: str) -> list[str]:
    """The shell lines and the table cells of the page that start this program."""
    cells = re.findall(rf"^\| `({program} [^`]+)`", PAGE, re.MULTILINE)
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
    return [*cells, *(line for line in blocks.splitlines() if program in line.split())]


def run(line: str, folder: Path, *program: str, **env: str) -> list[str]:
    """What each rank of a line of the page says, with amounts of this machine and this program.

    A rank writes to a file of its own. mpirun reads ranks through pseudo-terminals, and a machine
    under load once lost the line of a rank that had ended with 0.
    """
    said = folder / "said"
    said.mkdir(parents=True)
    rank = shlex.join(["sh", "-c", 'exec "$@" > "$(mktemp "$0/XXXXXX")"', str(said), *program])
    for before, after in _SCALED:
        line = line.replace(before, after)
    root = str(folder / "root")
    numalet = shlex.join([sys.executable, "-m", "numalet", "run", "-q", "--root", root])
    line = line.replace("numalet run", numalet).replace("./app", rank)
    done = subprocess.run(
        ["sh", "-c", line],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        env={**os.environ, **env},
    )
    assert done.returncode == 0, done.stderr
    return sorted(each.read_text().strip() for each in said.iterdir())


def test_open_mpi_starts_ranks_below_and_above(tmp_path: Path) -> None:
    needs("mpirun")
    below, above = lines("mpirun")
    within, same = run(below, tmp_path / "a", sys.executable, "-c", _CPUS_OF_THIS, **_OPEN_MPI)
    # Both ranks have the one CPU that their launcher got.
    assert len(cpu_set.parse(within)) == 1
    assert within == same
    script = "echo $OMPI_COMM_WORLD_LOCAL_RANK:$OMP_NUM_THREADS:$NUMALET_MEMORY_NODES"
    ranks = run(above, tmp_path / "b", "sh", "-c", script, **_OPEN_MPI)
    assert [each.split(":")[:2] for each in ranks] == [["0", "1"], ["1", "1"]]


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment with which srun starts commands in a cluster of this machine."""
    needs("srun", "slurmctld", "slurmd", "munged", "unshare")
    if os.geteuid() != 0:
        suites.can_not_run("SYSTEMS", "only root can start slurmd")
    folder, host = tmp_path / "slurm", socket.gethostname().partition(".")[0]
    folder.mkdir()
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (one, other)]
    conf = folder / "slurm.conf"
    conf.write_text(_SLURM.format(host=host, ports=ports, folder=folder, cpus=CPUS))
    (folder / "key").write_bytes(os.urandom(1024))
    (folder / "key").chmod(0o600)
    env = {"SLURM_CONF": str(conf)}
    inside = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    with (folder / "log").open("wb") as log:
        daemons = subprocess.Popen(
            [*inside, "sh", "-ec", _DAEMONS, "sh", host],
            cwd=folder,
            env=os.environ | env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        _until_idle(daemons, folder, env)
        yield env
    finally:
        daemons.kill()
        daemons.wait()


def _until_idle(daemons: subprocess.Popen[bytes], folder: Path, env: dict[str, str]) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    words = ("sinfo", "--noheader", "--format=%T")
    while True:
        asked = subprocess.run(
            words, capture_output=True, text=True, check=False, env=os.environ | env
        )
        if asked.stdout.strip() == "idle":
            return
        said = (folder / "log").read_text(errors="replace")
        assert daemons.poll() is None, said
        assert time.monotonic() < last, said + asked.stderr
        time.sleep(0.1)


def test_slurm_starts_the_row_and_the_ranks_of_the_page(
    tmp_path: Path, slurm: dict[str, str]
) -> None:
    row, per_rank = lines("srun")
    (theirs,) = run(row, tmp_path / "a", sys.executable, "-c", _CPUS_OF_THIS, **slurm)
    assert len(cpu_set.parse(theirs)) == 1
    script = "echo $SLURM_LOCALID:$OMP_NUM_THREADS:$NUMALET_CPUS"
    ranks = run(per_rank, tmp_path / "b", "sh", "-c", script, **slurm)
    assert [each.split(":")[:2] for each in ranks] == [["0", "1"], ["1", "1"]]
