"""Real programs, with real shims, held by CPU affinity and memory policy."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import itertools
import json
import os
import resource
import signal
import stat
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from numalet.agent.host.runtime import starting
from numalet.agent.host.runtime.port import Arranged, NotStarted, Offered, Started
from numalet.agent.host.runtime.process import ProcessRuntime
from numalet.agent.host.runtime.shim import attempt_files, begin
from numalet.core.enforcement.cgroup_settings import CgroupSettings, ContainerSettings
from numalet.core.enforcement.comparison import GuaranteeLevel
from numalet.core.model.pod import ContainerKey
from numalet.core.workload.run import Cause, ExitReason
from numalet.io.tasks import together
from running import faults
from running.process_builders import (
    KEY,
    NO_GROUPS,
    a_cpu,
    is_there,
    launch,
    next_end,
    python,
    until,
)


def runtime(folder: Path) -> ProcessRuntime:
    return ProcessRuntime(folder, on=NO_GROUPS)


def run(folder: Path, body: Any) -> None:
    """Run a test's body with a runtime, and leave nothing of it behind."""

    async def main() -> None:
        ours = runtime(folder)
        try:
            await body(ours)
        finally:
            await ours.close()
            last = runtime(folder)
            await last.open()
            for uid in await last.pods():
                await last.forget(uid)
            await last.close()

    work: Coroutine[Any, Any, None] = main()
    asyncio.run(work)


async def started(ours: ProcessRuntime, *command: str, **given: Any) -> Started:
    answer = await ours.start(launch(*command, **given))
    assert isinstance(answer, Started), answer
    return answer


def output(ours: ProcessRuntime, attempt: int = 1) -> list[str]:
    path = ours.log_path(KEY, attempt)
    return [] if path is None else path.read_text(encoding="utf-8").splitlines()


def words(ours: ProcessRuntime) -> list[str]:
    """What was printed, without time, stream and tag."""
    return [line.split(" ", 3)[3] for line in output(ours)]


def test_a_program_runs_and_its_end_is_reported(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        answer = await started(ours, "sh", "-c", "echo out; echo err >&2; exit 3")
        assert answer.level == GuaranteeLevel.PROCESS
        end = await next_end(ours)
        assert (
            end.key,
            end.attempt,
            end.exit.code,
            end.exit.reason,
            end.exit.signal,
        ) == (KEY, 1, 3, ExitReason.ERROR, None)
        assert end.exit.started_at is not None
        assert answer.at == end.exit.started_at
        assert end.exit.started_at <= end.exit.finished_at
        lines = [line.split(" ", 1)[1] for line in output(ours)]
        assert {"stdout F out", "stderr F err"} == set(lines)

    run(tmp_path, body)


def test_a_program_that_ends_well_is_completed(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        await started(ours, "true")
        assert ExitReason.COMPLETED is (await next_end(ours)).exit.reason

    run(tmp_path, body)


def test_the_environment_is_the_containers_alone(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        await started(ours, "env", env=(("A", "1"), ("PATH", "/bin:/usr/bin")), working_dir="/usr")
        await next_end(ours)
        names = {line.partition("=")[0] for line in words(ours)}
        assert {"A", "PATH", "NUMALET_CONTAINER"} == names - {"PWD", "LC_CTYPE"}

    run(tmp_path, body)


def test_the_first_instruction_sees_all_settings(tmp_path: Path) -> None:
    code = (
        "import os; print(sorted(os.sched_getaffinity(0)), os.getcwd(), os.umask(0),"
        "os.getsid(0) == os.getpid());"
        "print([l for l in open('/proc/self/status') if l.startswith('SigBlk')]);"
        "print(open('/proc/self/numa_maps').readline().split()[1])"
    )
    settings = CgroupSettings(cpus=frozenset({a_cpu()}), memory_nodes=(0,))

    async def body(ours: ProcessRuntime) -> None:
        await started(ours, *python(code), cgroup=settings, working_dir="/usr")
        assert (await next_end(ours)).exit.code == 0, output(ours)
        first, blocked, policy = words(ours)
        assert f"[{a_cpu()}] /usr 18 True" == first
        assert "0000000000000000" in blocked
        if begin.can_bind_memory():
            assert policy == "bind:0"

    run(tmp_path, body)


def test_a_program_may_have_as_many_files_open_as_the_agent_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "_OPEN_FILES", 77)

    async def body(ours: ProcessRuntime) -> None:
        await started(ours, "bash", "-c", "ulimit -n; ulimit -Hn")
        await next_end(ours)
        assert ["77", str(resource.getrlimit(resource.RLIMIT_NOFILE)[1])] == words(ours)

    run(tmp_path, body)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes somebody else")
@pytest.mark.parametrize(("group", "expected"), [(65533, 65533), (None, 65534)])
def test_a_program_runs_as_the_user_that_is_wanted(
    tmp_path: Path, group: int | None, expected: int
) -> None:
    async def body(ours: ProcessRuntime) -> None:
        command = ("sh", "-c", "id -u; id -g; id -G")
        await started(ours, *command, run_as_user=65534, run_as_group=group)
        await next_end(ours)
        assert ["65534", str(expected), str(expected)] == words(ours)

    run(tmp_path, body)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("/nowhere/program",), "runtime/program-not-found"),
        (("no-such-program-here",), "runtime/program-not-found"),
        (("/etc",), "runtime/not-executable"),
        (("/etc/passwd",), "runtime/not-executable"),
        ((), "runtime/no-command"),
        (("a\0b",), "runtime/program-refused"),
    ],
)
def test_a_program_that_can_not_start_is_told_why(
    tmp_path: Path, command: tuple[str, ...], code: str
) -> None:
    async def body(ours: ProcessRuntime) -> None:
        for _ in range(2):
            answer = await ours.start(launch(*command))
            assert isinstance(answer, NotStarted)
            assert code == answer.why.code
            assert str(answer.why)

    run(tmp_path, body)


def _children() -> set[int]:
    """What this process has started and not waited for."""
    path = Path(f"/proc/self/task/{os.getpid()}/children")
    return set(map(int, path.read_text(encoding="ascii").split()))


def _limit_of(free: int) -> int:
    """The limit with which this process can open so many files more."""
    taken = {int(each.name) for each in Path("/proc/self/fd").iterdir()}
    numbers = (number for number in itertools.count() if number not in taken)
    return next(itertools.islice(numbers, free, None))


def _open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_start_that_fails_leaves_no_process(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        before, files = _children(), _open_files()
        answer = await ours.start(launch("/nowhere/program"))
        assert isinstance(answer, NotStarted)
        await until(lambda: _children() <= before)
        assert _open_files() <= files

    run(tmp_path, body)


def test_a_shim_that_never_answers_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "_CODE", "import time; time.sleep(1000)")

    async def body(ours: ProcessRuntime) -> None:
        before = _children()
        impatient = ProcessRuntime(tmp_path, on=NO_GROUPS, patience_seconds=0.05)
        answer = await impatient.start(launch("true"))
        assert isinstance(answer, NotStarted)
        assert (answer.why.code, answer.is_transient) == ("runtime/shim-silent", True)
        await until(lambda: _children() <= before)
        # The next shim of the same attempt is one that answers.
        monkeypatch.undo()
        await started(ours, "true")
        await next_end(ours)

    run(tmp_path, body)


def test_papers_of_long_ago_go_when_a_container_is_started_again(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        for number in (1, 2, 3, 4):
            await ours.start(launch("/nowhere/program", attempt=number))
        kept = (tmp_path / "runs" / "u-1" / "c").iterdir()
        assert {"3", "4"} == {each.name for each in kept}

    run(tmp_path, body)


def test_a_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        answer = await ours.start(launch("true", working_dir="/nowhere"))
        assert isinstance(answer, NotStarted)
        assert (
            answer.why.code,
            answer.why.fields["folder"],
        ) == ("runtime/no-working-dir", "/nowhere")

    run(tmp_path, body)


def test_cpus_and_nodes_that_are_not_there_are_refused(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        cpus = CgroupSettings(cpus=frozenset({1000}))
        nodes = CgroupSettings(memory_nodes=(1000,))
        answers = [
            await ours.start(launch("true", attempt=at, cgroup=each))
            for at, each in ((1, cpus), (2, nodes))
        ]
        codes = [answer.why.code for answer in answers if isinstance(answer, NotStarted)]
        expected = ["runtime/cpus-refused", "runtime/memory-nodes-refused"]
        assert expected[: 1 + begin.can_bind_memory()] == codes

    run(tmp_path, body)


def test_names_never_lead_out_of_the_folder(tmp_path: Path) -> None:
    key = ContainerKey("../../up", "../c")

    async def body(ours: ProcessRuntime) -> None:
        await started(ours, "true", key=key)
        assert key == (await next_end(ours)).key
        assert list(await ours.pods()) == ["../../up"]
        assert [each.name for each in (tmp_path / "root").iterdir()] == ["runs"]
        await ours.forget("../../up")
        assert list(await ours.pods()) == []

    run(tmp_path / "root", body)


def test_the_same_attempt_started_twice_is_one_program(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        command = ("sh", "-c", "echo once; exec sleep 1000")
        first = await started(ours, *command)
        assert first == await started(ours, *command)
        other = runtime(tmp_path)
        assert first == await other.start(launch(*command))
        await other.close()
        await ours.stop(KEY, 0)
        await next_end(ours)
        assert words(ours) == ["once"]

    run(tmp_path, body)


def test_two_agents_at_once_start_one_program(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        other = runtime(tmp_path)
        order = launch("sh", "-c", "echo once; exec sleep 1000")
        async with together() as group:
            starting = [group.create_task(each.start(order)) for each in (ours, other)]
        one, two = (each.result() for each in starting)
        assert isinstance(one, Started)
        if isinstance(two, Started):
            assert one.pid == two.pid
        await other.close()
        await ours.stop(KEY, 0)
        await next_end(ours)
        assert words(ours) == ["once"]

    run(tmp_path, body)


def test_stop_asks_first(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        await started(
            ours,
            "sh",
            "-c",
            "trap 'echo asked; exit 7' TERM; echo up; while :; do sleep 0.01; done",
        )
        await until(lambda: words(ours) == ["up"])
        await ours.stop(KEY, 1000)
        end = await next_end(ours)
        assert end.exit.code == 7
        assert words(ours) == ["up", "asked"]

    run(tmp_path, body)


def test_stop_kills_after_the_period_and_a_shorter_one_shortens_it(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        await started(ours, "sh", "-c", "trap '' TERM; echo up; while :; do sleep 0.01; done")
        await until(lambda: words(ours) == ["up"])
        await ours.stop(KEY, 1000)
        await ours.stop(KEY, 0.05)
        end = await next_end(ours)
        assert (
            end.exit.code,
            end.exit.signal,
            end.exit.reason,
        ) == (137, signal.SIGKILL, ExitReason.ERROR)
        await ours.stop(KEY, 0)

    run(tmp_path, body)


def test_nothing_that_the_program_started_outlives_it(tmp_path: Path) -> None:
    code = (
        "import os, sys, time\n"
        "for _ in range(2):\n"
        "    if os.fork():\n"
        "        while _ == 0 and not os.path.exists(sys.argv[1]): time.sleep(0.01)\n"
        "        os._exit(5)\n"
        "    os.setsid()\n"
        "open(sys.argv[1] + '.new', 'w').write(str(os.getpid()))\n"
        "os.rename(sys.argv[1] + '.new', sys.argv[1]); time.sleep(1000)"
    )
    note = tmp_path / "pid"

    async def body(ours: ProcessRuntime) -> None:
        await started(ours, *python(code, str(note)))
        await next_end(ours)
        pid = int(note.read_text(encoding="ascii"))
        await until(lambda: not is_there(pid))

    run(tmp_path / "root", body)


def test_a_program_outlives_the_agent_and_is_adopted(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        first = await started(ours, "sleep", "1000")
        await ours.close()
        assert is_there(first.pid)
        later = runtime(tmp_path)
        (seen,) = await later.open()
        assert (KEY, 1, first.at, None) == (seen.key, seen.attempt, seen.started_at, seen.exit)
        await later.stop(KEY, 0)
        # It was asked and killed in one go, so either may have come first.
        assert (await next_end(later)).exit.signal in (signal.SIGTERM, signal.SIGKILL)
        assert not is_there(first.pid)
        await later.close()

    run(tmp_path, body)


def test_an_end_that_no_agent_saw_is_found(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        first = await started(ours, "sh", "-c", "sleep 0.1; exit 4")
        await ours.close()
        await until(lambda: not is_there(first.pid))
        attempt_files = tmp_path / "runs" / "u-1" / "c" / "1"
        await until((attempt_files / "end.json").exists)
        (seen,) = await runtime(tmp_path).open()
        assert seen.exit is not None
        assert seen.exit.code == 4

    run(tmp_path, body)


def _shim(folder: Path) -> int:
    from numalet.agent.host.runtime.shim import attempt_files

    started = attempt_files.read(folder / "runs" / "u-1" / "c" / "1", attempt_files.STARTED)
    assert started is not None
    return int(started["shim"])


def test_a_program_dies_with_its_shim_and_all_it_started(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        first = await started(ours, "sh", "-c", "setsid sleep 1000 & echo $!; wait")
        await until(lambda: len(words(ours)) == 1)
        orphan = int(words(ours)[0])
        os.kill(_shim(tmp_path), signal.SIGKILL)
        end = await next_end(ours)
        assert ExitReason.UNKNOWN is end.exit.reason
        assert Cause("runtime/shim-gone", {}) == end.exit.cause
        await until(lambda: not is_there(first.pid) and not is_there(orphan))
        (seen,) = await runtime(tmp_path).open()
        assert end.exit == seen.exit

    run(tmp_path, body)


def test_agent_and_shim_killed_leave_nothing(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        first = await started(ours, "sh", "-c", "setsid sleep 1000 & echo $!; wait")
        await until(lambda: len(words(ours)) == 1)
        orphan = int(words(ours)[0])
        await ours.close()
        os.kill(_shim(tmp_path), signal.SIGKILL)
        await until(lambda: not is_there(first.pid))
        later = runtime(tmp_path)
        await until(lambda: not is_there(_shim(tmp_path)))
        (seen,) = await later.open()
        assert seen.exit is not None
        assert ExitReason.UNKNOWN is seen.exit.reason
        await until(lambda: not is_there(orphan))

    run(tmp_path, body)


def test_a_shim_that_does_not_answer_is_killed_with_its_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("numalet.agent.host.runtime.monitoring.STUBBORN_SECONDS", 0.05)

    async def body(ours: ProcessRuntime) -> None:
        first = await started(ours, "sleep", "1000")
        os.kill(_shim(tmp_path), signal.SIGSTOP)
        await ours.stop(KEY, 0)
        assert ExitReason.UNKNOWN is (await next_end(ours)).exit.reason
        await until(lambda: not is_there(first.pid))

    run(tmp_path, body)


def test_forget_kills_and_removes_everything(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        first = await started(ours, "sleep", "1000")
        await ours.forget("u-1")
        assert not is_there(first.pid)
        assert list(await ours.pods()) == []
        assert ours.log_path(KEY, 1) is None
        await ours.forget("u-1")
        await ours.stop(KEY, 0)

    run(tmp_path, body)


def test_cpus_of_what_runs_are_corrected(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        first = await started(ours, "sleep", "1000")
        wanted = ContainerSettings(path="x", cgroup=CgroupSettings(cpus=frozenset({a_cpu()})))
        before = os.sched_getaffinity(first.pid)
        expected = ("cpuset.cpus",) if before != {a_cpu()} else ()
        assert expected == await ours.settle(wanted, KEY)
        assert await ours.settle(wanted, KEY) == ()
        assert {a_cpu()} == os.sched_getaffinity(first.pid)
        assert await ours.settle(ContainerSettings(path="x", cgroup=CgroupSettings()), KEY) == ()
        assert await ours.settle(wanted, ContainerKey("other", "c")) == ()

    run(tmp_path, body)


def test_reality_is_read_from_the_kernel(tmp_path: Path) -> None:
    code = "import time; x = bytearray(50 << 20); print('up', flush=True); time.sleep(1000)"
    settings = CgroupSettings(cpus=frozenset({a_cpu()}), memory_nodes=(0,))

    async def body(ours: ProcessRuntime) -> None:
        assert await ours.reality(KEY) is None
        await started(ours, *python(code), cgroup=settings)
        await until(lambda: words(ours) == ["up"])
        found = await ours.reality(KEY)
        assert found is not None
        assert found.pages_bytes["memory"][0] >= 50 << 20
        assert found.pages_bytes["file"][0] > 0
        assert frozenset({a_cpu()}) == found.allowed_cpus
        assert found.allowed_nodes == (0,)
        assert found.processes == 1
        assert found.cgroup is None

    run(tmp_path, body)


def test_a_disk_without_room_is_a_clear_answer(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        before = faults.install(faults.planned("file.write:before:1:ENOSPC"))
        try:
            answer = await ours.start(launch("true"))
        finally:
            faults.install(before)
        assert isinstance(answer, NotStarted)
        assert answer.why.code == "runtime/storage"
        assert "No space left on device" in answer.why.fields["error"]
        await started(ours, "true")
        await next_end(ours)

    run(tmp_path, body)


def test_what_the_host_lacks_for_a_moment_is_no_fault_of_the_container(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        before = faults.install(faults.planned("file.write:before:1:EMFILE"))
        try:
            answer = await ours.start(launch("true"))
        finally:
            faults.install(before)
        assert isinstance(answer, NotStarted)
        assert (answer.why.code, answer.is_transient) == ("runtime/storage", True)
        missing = await ours.start(launch("/nowhere/program"))
        assert isinstance(missing, NotStarted)
        assert not missing.is_transient

    run(tmp_path, body)


@pytest.mark.slow
def test_a_start_without_a_file_to_spare_leaves_nothing_behind(tmp_path: Path) -> None:
    """However many files can still be opened: the same attempt starts as soon as there are more."""

    async def body(ours: ProcessRuntime) -> None:
        await started(ours, "true", attempt=1)
        await next_end(ours)
        files, limits = _open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)
        outcomes, others = set(), {errno.EMFILE}
        for free in range(10):
            limit = _limit_of(free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limits[1]))
            try:
                answer = await ours.start(launch("true", attempt=2 + free))
                assert not isinstance(answer, Offered)
                outcomes.add(type(answer))
                assert isinstance(answer, Started) or answer.is_transient, (free, answer)
            except OSError as error:
                others.add(error.errno or 0)
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            await started(ours, "true", attempt=2 + free)
            await next_end(ours)
            await until(lambda: _open_files() <= files)
        assert ({Started, NotStarted}, {errno.EMFILE}) == (outcomes, others)

    run(tmp_path, body)


def test_a_shim_that_can_not_fork_is_asked_again_for_the_same_attempt(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        folder = tmp_path / "runs" / "u-1" / "c" / "1"
        assert isinstance(await ours.start(launch("/nowhere/program")), NotStarted)
        # What the shim writes where the kernel lets it have no process.
        refused = {"stage": "fork", "errno": errno.EAGAIN}
        (folder / attempt_files.REFUSED).write_text(json.dumps(refused))
        answer = await ours.start(launch("true"))
        assert isinstance(answer, NotStarted)
        assert (answer.why.code, answer.is_transient) == ("runtime/fork-failed", True)
        await started(ours, "true")
        await next_end(ours)

    run(tmp_path, body)


def test_a_shim_that_refused_and_has_not_ended_yet_is_waited_for(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        folder = tmp_path / "runs" / "u-1" / "c" / "1"
        assert isinstance(await ours.start(launch("/nowhere/program")), NotStarted)
        (folder / attempt_files.REFUSED).unlink()
        with (folder / attempt_files.LOCK).open("r+b") as held:
            # The shim of before may have it for a moment longer.
            await asyncio.to_thread(fcntl.flock, held, fcntl.LOCK_EX)
            start = asyncio.ensure_future(ours.start(launch("true")))
            await asyncio.sleep(0)
        assert isinstance(await start, Started)
        await next_end(ours)

    run(tmp_path, body)


def test_a_fork_that_fails_is_a_clear_answer(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        before = faults.install(faults.planned("process.spawn:before:1:EAGAIN"))
        try:
            answer = await ours.start(launch("true"))
        finally:
            faults.install(before)
        assert isinstance(answer, NotStarted)
        assert (answer.why.code, answer.is_transient) == ("runtime/fork-failed", True)
        await started(ours, "true")
        await next_end(ours)

    run(tmp_path, body)


def test_papers_and_logs_are_for_their_owner_alone(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        await started(ours, "echo", "x")
        await next_end(ours)
        for path in (tmp_path / "runs").rglob("*"):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path

    run(tmp_path, body)


def test_there_is_nothing_to_arrange_without_cgroups(tmp_path: Path) -> None:
    async def body(ours: ProcessRuntime) -> None:
        assert Arranged() == await ours.arrange({"": CgroupSettings(cpu_weight=1)})
        assert "cgroup/no-cgroup-v2" in ours.capabilities().shortfalls

    run(tmp_path, body)
