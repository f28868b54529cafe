"""``numalet run`` on the machine at hand: real commands, concurrent ones, killed ones."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from harness.terminals import shown_until
from numalet.core.model import cpu_set
from numalet.insight.output.run_document import RunDocument
from numalet.wording import numbers
from running.process_builders import is_there

PATIENCE_SECONDS = 200.0
CPUS = len(os.sched_getaffinity(0))

UP = "echo up; exec sleep 1000"

pytestmark = pytest.mark.skipif(CPUS < 2, reason="one CPU is kept for the system")


def words(root: Path, *rest: str, cpus: str = "1") -> list[str]:
    base = [sys.executable, "-m", "numalet", "run", "--root", str(root), "--cpus", cpus]
    return [*base, "--memory", "64Mi", *rest]


def run(root: Path, *rest: str, cpus: str = "1") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words(root, *rest, cpus=cpus),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
        input="",
    )


def holders(root: Path) -> list[dict[str, object]]:
    path = root / "run" / "runs.json"
    found: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def until(condition: Callable[[], bool]) -> None:
    last = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < last
        time.sleep(0.01)


def begun(root: Path, *rest: str, cpus: str = "1") -> subprocess.Popen[str]:
    """A command that has printed its first line."""
    child = subprocess.Popen(words(root, "-q", *rest, cpus=cpus), stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline()
    return child


def test_a_refusal_keeps_its_status_when_nobody_reads_it(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = words(tmp_path, "--", "touch", str(tmp_path / "ran"), cpus="9999")
    done = subprocess.run(command, stdout=writing, stderr=writing, check=False)
    os.close(writing)

    assert done.returncode == 125
    assert not (tmp_path / "ran").exists()


def test_a_command_has_the_terminal_and_its_status_is_ours(tmp_path: Path) -> None:
    done = subprocess.run(
        words(tmp_path, "--", "sh", "-c", "cat; echo err >&2; exit 7"),
        input="in",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (7, "in")
    first, second = done.stderr.splitlines()
    assert first.startswith("note: CPU ")
    assert second == "err"
    assert holders(tmp_path) == []


def test_a_command_runs_where_it_is_said_to(tmp_path: Path) -> None:
    code = "import os; print(os.environ['NUMALET_CPUS'], *os.sched_getaffinity(0))"
    done = run(tmp_path, "--", sys.executable, "-c", code)
    told, *allowed = done.stdout.split()
    assert [told] == allowed


def test_a_command_has_the_files_that_its_caller_gave_and_none_of_ours(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, b"through a pipe")
    os.close(writing)
    script = f"cat /dev/fd/{reading}; echo; exec ls -m /proc/self/fd"
    done = subprocess.run(
        words(tmp_path, "-q", "--", "sh", "-c", script),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        pass_fds=[reading],
    )
    os.close(reading)
    told, files = done.stdout.splitlines()
    assert told == "through a pipe"
    # The folder that is listed has the lowest number that is free.
    listed = {int(each) for each in files.split(", ")}
    assert {0, 1, 2, 3 if reading != 3 else 4, reading} == listed


def test_sockets_that_are_handed_to_us_are_for_the_command(tmp_path: Path) -> None:
    """As a socket unit of systemd does it: from descriptor 3 on, for the process that is named."""
    starter = (
        "import os, sys; os.environ['LISTEN_PID'] = str(os.getpid());"
        "os.execvp(sys.argv[1], sys.argv[1:])"
    )
    command = words(tmp_path, "-q", "--", "sh", "-c", "echo $$ $LISTEN_PID $LISTEN_FDS")
    done = subprocess.run(
        [sys.executable, "-c", starter, *command],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ | {"LISTEN_FDS": "1"},
    )
    own, named, count = done.stdout.split()
    assert (own, "1") == (named, count)
    # What is meant for another process stays so.
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | {"LISTEN_PID": "1"}
    )
    assert done.stdout.split()[1] == "1"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (("/nowhere/app",), 127),
        (("/etc/passwd",), 126),
        (("sh", "-c", "kill -TERM $$"), 143),
    ],
)
def test_other_ends_have_the_shells_status(
    tmp_path: Path, command: tuple[str, ...], status: int
) -> None:
    assert status == run(tmp_path, "--", *command).returncode
    assert holders(tmp_path) == []


def test_what_does_not_fit_is_refused_with_the_reason(tmp_path: Path) -> None:
    done = run(tmp_path, "--", "true", cpus="5000")
    assert done.returncode == 125
    assert done.stdout == ""
    assert "5000 CPUs requested" in " ".join(done.stderr.split())
    assert run(tmp_path, "--wait", "--", "true", cpus="5000").returncode == 125


def test_a_dry_run_starts_nothing_and_holds_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, "--dry-run", "--", "touch", str(tmp_path / "x"))
    assert done.returncode == 0
    assert "CPU" in done.stderr
    assert not (tmp_path / "x").exists()
    assert run(tmp_path, "--dry-run", "--", "true", cpus="5000").returncode == 125


def test_without_memory_pages_stay_on_the_nodes_of_its_cpus(tmp_path: Path) -> None:
    code = "import os; print(os.environ['NUMALET_MEMORY_NODES']);"
    code += "print(open('/proc/self/numa_maps').read())"
    line = [sys.executable, "-m", "numalet", "run", "--root", str(tmp_path / "root")]
    command = ("--", sys.executable, "-c", code)
    done = subprocess.run(
        [*line, "--cpus", "1", *command], capture_output=True, text=True, check=True
    )
    nodes, maps = done.stdout.split("\n", 1)
    assert nodes
    assert f"memory of NUMA node {nodes}" in done.stderr.replace("nodes", "node")
    assert "enforced by the kernel" in done.stderr or f" bind:{nodes} " in maps


@pytest.mark.parametrize(
    "rest",
    [("--wait=x", "--", "true"), (), ("--device", "x", "true"), ("--policy", "none!", "true")],
)
def test_unusable_words_are_told(tmp_path: Path, rest: tuple[str, ...]) -> None:
    done = run(tmp_path, *rest)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")


def test_signals_are_passed_on(tmp_path: Path) -> None:
    child = begun(tmp_path, "sh", "-c", "trap 'exit 9' USR1; echo up; while :; do sleep 0.01; done")
    child.send_signal(signal.SIGUSR1)
    assert child.wait(PATIENCE_SECONDS) == 9
    assert child.stdout is not None
    child.stdout.close()


@pytest.mark.parametrize("ignored", ["", "HUP INT QUIT PIPE TERM USR1 XFSZ"])
def test_a_command_ignores_what_its_caller_ignored(tmp_path: Path, ignored: str) -> None:
    asked = ["grep", "SigIgn", "/proc/self/status"]
    lines = [f"trap '' {ignored}" if ignored else ""]
    # A shell lets what it puts into the background ignore some more.
    for flag in ("", "& wait $!"):
        lines += [f"{shlex.join(each)} {flag}" for each in (asked, words(tmp_path, *asked))]
    done = subprocess.run(
        ["bash", "-c", "\n".join([*lines, ":"])],
        capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True,
    )  # fmt: skip
    plain, of_run, behind, of_run_behind = done.stdout.splitlines()
    assert (of_run, of_run_behind) == (plain, behind)
    assert plain != behind or ignored


def test_what_python_ignores_for_its_own_sake_is_not_ignored_in_a_command(tmp_path: Path) -> None:
    done = run(tmp_path, "grep", "SigIgn", "/proc/self/status")
    assert int(done.stdout.split()[1], 16) & (1 << signal.SIGPIPE - 1) == 0


def test_commands_share_one_set_of_node_state_and_wait_for_each_other(tmp_path: Path) -> None:
    most = str(CPUS - 1)
    first = begun(tmp_path, "sh", "-c", "echo up; read x < /dev/null; sleep 1000", cpus=most)
    assert len(holders(tmp_path)) == 1
    assert run(tmp_path, "--", "true", cpus=most).returncode == 125
    assert run(tmp_path, "--wait=10ms", "--", "true", cpus=most).returncode == 125
    second = subprocess.Popen(words(tmp_path, "-q", "--wait", "--", "true", cpus=most))
    first.terminate()
    assert second.wait(PATIENCE_SECONDS) == 0
    assert first.wait(PATIENCE_SECONDS) == 143
    assert holders(tmp_path) == []
    assert first.stdout is not None
    first.stdout.close()


def test_what_a_killed_run_held_is_given_back(tmp_path: Path) -> None:
    most = str(CPUS - 1)
    first = begun(tmp_path, "sh", "-c", "setsid sleep 1000 & echo $!; wait", cpus=most)
    first.kill()
    first.wait(PATIENCE_SECONDS)
    assert len(holders(tmp_path)) == 1
    assert run(tmp_path, "--", "true", cpus=most).returncode == 0
    assert holders(tmp_path) == []
    assert first.stdout is not None
    first.stdout.close()


def test_nothing_that_a_command_started_outlives_it(tmp_path: Path) -> None:
    done = run(tmp_path, "--", "sh", "-c", "setsid sleep 1000 >&- 2>&- & echo $!")
    assert done.returncode == 0
    assert not is_there(int(done.stdout))


def test_the_shared_pool_shrinks_and_grows_for_those_who_run_in_it(tmp_path: Path) -> None:
    shared = begun(tmp_path, "sh", "-c", "echo $$; exec sleep 1000", cpus="500m")
    (pid,) = (
        int(each)
        for each in Path(f"/proc/{shared.pid}/task/{shared.pid}/children").read_text().split()
    )
    whole = os.sched_getaffinity(pid)
    own = begun(tmp_path, "sh", "-c", "echo $NUMALET_CPUS; exec sleep 1000", cpus="1")
    taken = whole - os.sched_getaffinity(pid)
    assert len(taken) == 1
    own.terminate()
    own.wait(PATIENCE_SECONDS)
    assert whole == os.sched_getaffinity(pid)
    shared.terminate()
    shared.wait(PATIENCE_SECONDS)
    for each in (own, shared):
        assert each.stdout is not None
        each.stdout.close()


def test_an_agent_that_holds_the_root_folder_is_asked(tmp_path: Path) -> None:
    from numalet.agent.controller.store import Store
    from numalet.agent.run import beside_agent
    from numalet.io.documents.pods import pod_record

    store = Store(tmp_path, pod_record.encode, pod_record.decode)
    store.open()
    code = (
        f"import sys; from {beside_agent.__package__} import beside_agent;"
        "beside_agent.PATIENCE_SECONDS = 0.1;"
        "from numalet.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    line = [sys.executable, "-c", code, *words(tmp_path, "--", "true")[3:]]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    store.close()
    assert done.returncode == 2
    assert "runs but does not answer" in done.stderr


def test_an_interrupt_from_the_terminal_reaches_the_command_once(tmp_path: Path) -> None:
    code = (
        "import signal, sys\n"
        "seen = []\n"
        "signal.signal(signal.SIGINT, lambda *_: seen.append(1))\n"
        "print('up', flush=True)\n"
        "sys.stdin.readline()\n"
        "print('seen', len(seen), flush=True)\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        line = words(tmp_path, "-q", "--", sys.executable, "-c", code)
        os.execv(line[0], line)
    shown = shown_until(terminal, b"up")
    os.write(terminal, b"\x03")
    os.write(terminal, b"\n")
    shown += shown_until(terminal, b"seen 1")
    assert b"seen 1" in shown
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    os.close(terminal)


def test_damaged_node_state_are_told(tmp_path: Path) -> None:
    assert run(tmp_path, "--", "true").returncode == 0
    (tmp_path / "run" / "runs.json").write_text("[{}]", encoding="utf-8")
    done = run(tmp_path, "--", "true")
    assert done.returncode == 2
    assert "runs.json" in done.stderr


def test_a_device_that_is_not_there_is_not_forgotten(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "numalet", "run", "--root", str(tmp_path / "root")]
    options = ["--cpus", "1", "--memory", "64Mi", "--device", "example.com/gpu=1"]
    done = subprocess.run(
        [*command, *options, "--", "true"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "there are no devices 'example.com/gpu', only none" in done.stderr


@pytest.mark.parametrize(("cpus", "status"), [("1", 0), ("500m", 0), ("5000", 125)])
def test_a_dry_run_prints_a_document(tmp_path: Path, cpus: str, status: int) -> None:
    done = run(tmp_path, "--dry-run", "-o", "json", "--", "true", cpus=cpus)
    place = msgspec.json.decode(done.stdout, type=RunDocument)
    assert (status, status == 0) == (done.returncode, place.admitted)
    assert (place.decided_by, place.schema) == ("node-state", "numalet.run/3")
    assert (cpus == "1", cpus == "500m") == (bool(place.cpus), bool(place.shared_cpus))
    assert (status == 0) == (not place.reason)
    refused = run(tmp_path, "-o", "json", "--", "true")
    (finding,) = json.loads(refused.stdout)["findings"]
    assert (refused.returncode, finding["code"]) == (2, "input/conflict")


def shown(root: Path, *words: str) -> str:
    line = [sys.executable, "-m", "numalet", *words, "--root", str(root)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_commands_are_listed_without_an_agent_and_named_in_a_refusal(tmp_path: Path) -> None:
    most = str(CPUS - 1)
    child = begun(tmp_path, "sh", "-c", UP, cpus=most)
    listed = json.loads(shown(tmp_path, "ps", "-o", "json"))
    (item,) = listed["items"]
    assert (child.pid, f"sh -c {UP}") == (item["pid"], item["command"])
    assert item["metadata"]["name"] in shown(tmp_path, "ps")
    picture = shown(tmp_path, "top", "--once")
    assert "no agent" in picture
    assert item["metadata"]["name"] in picture
    assert f"{most} of {CPUS}" in picture
    refused = run(tmp_path, "--", "true", cpus=most)
    assert (
        f"process {child.pid} (sh -c {UP}) has {numbers.cpus(cpu_set.parse(item['cpus']))}"
        in refused.stderr
    )
    child.terminate()
    child.wait(PATIENCE_SECONDS)
    assert json.loads(shown(tmp_path, "ps", "-o", "json"))["items"] == []
    assert child.stdout is not None
    child.stdout.close()


def tickets(root: Path) -> list[str]:
    return [path.name for path in (root / "run" / "queue").glob("0*")]


def test_those_who_wait_are_served_in_order_and_the_dead_are_passed_over(tmp_path: Path) -> None:
    most, served = str(CPUS - 1), tmp_path / "served"
    first = begun(tmp_path, "sh", "-c", "echo up; exec sleep 1000", cpus=most)
    waiting: list[subprocess.Popen[str]] = []
    for index in range(3):
        script = f"echo {index} >> {served}"
        line = words(tmp_path, "-q", "--wait", "--", "sh", "-c", script, cpus=most)
        waiting.append(subprocess.Popen(line, text=True))
        until(lambda: len(tickets(tmp_path)) == len(waiting))
    waiting[1].kill()
    waiting[1].wait(PATIENCE_SECONDS)
    # It would fit beside the first, but it is not its turn.
    late = run(tmp_path, "--wait=10ms", "--", "true", cpus="500m")
    assert late.returncode == 125
    assert "2 commands still wait before 'true'" in late.stderr
    assert not served.exists()
    first.terminate()
    first.wait(PATIENCE_SECONDS)
    assert [waiting[index].wait(PATIENCE_SECONDS) for index in (0, 2)] == [0, 0]
    assert served.read_text(encoding="utf-8").split() == ["0", "2"]
    assert tickets(tmp_path) == []
    assert first.stdout is not None
    first.stdout.close()


def test_nothing_is_started_while_other_node_state_are_in_use(tmp_path: Path) -> None:
    other, root = tmp_path / "other", tmp_path / "root"
    child = begun(other, "sh", "-c", UP)
    for rest in ("--dry-run", "--wait=10ms", "-q"):
        refused = run(root, rest, "--", "touch", str(tmp_path / "x"))
        assert refused.returncode == 125
        said = f"process {child.pid} of user {os.geteuid()} allocates CPUs and memory from {other}"
        assert said in refused.stderr
    # Under the same node state each sees the other.
    assert run(other, "--dry-run", "--", "true", cpus=str(CPUS - 1)).returncode == 125
    waiting = subprocess.Popen(words(root, "-q", "--wait", "--", "true"))
    child.terminate()
    child.wait(PATIENCE_SECONDS)
    assert waiting.wait(PATIENCE_SECONDS) == 0
    assert not (tmp_path / "x").exists()
    assert child.stdout is not None
    child.stdout.close()


@pytest.fixture
def kubelet(tmp_path: Path) -> Iterator[Path]:
    """The root directory of a kubelet whose socket answers; its process is not of this machine."""
    root = tmp_path / "kubelet"
    (root / "pod-resources").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(root / "pod-resources" / "kubelet.sock"))
        listening.listen()
        yield root


def test_nothing_is_started_beside_a_kubelet_that_pins(kubelet: Path, tmp_path: Path) -> None:
    (kubelet / "cpu_manager_state").write_text('{"policyName":"static"}')
    for rest in (("--",), ("--dry-run", "--"), ("--wait", "--")):
        line = (f"--kubelet-root={kubelet}", *rest, "touch", str(tmp_path / "x"))
        done = run(tmp_path / "root", *line)
        assert done.returncode == 2
        assert "kubelet.sock answers) in" in done.stderr
        assert "run the command as a pod of the cluster" in done.stderr
    assert not (tmp_path / "x").exists()


def test_a_kubelet_that_does_not_pin_is_told(kubelet: Path, tmp_path: Path) -> None:
    (kubelet / "cpu_manager_state").write_text('{"policyName":"none"}')
    (kubelet / "memory_manager_state").write_text('{"policyName":"None"}')
    done = run(tmp_path / "root", f"--kubelet-root={kubelet}", "-q", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "warning: kubelet (pod-resources/kubelet.sock answers)" in done.stderr
