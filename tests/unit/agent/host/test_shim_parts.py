"""The shim's parts: logs that are cut, papers, and who belongs to whom."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from numalet.agent.host.runtime.shim import attempt_files, begin, process_tree
from numalet.agent.host.runtime.shim.attempt_files import (
    AttemptLog,
    PreallocatedFile,
    Stream,
    stamp,
)


def _carried(folder: Path, *pieces: bytes, most_bytes: int = 1 << 20, files: int = 3) -> Path:
    """The log after these pieces came through a pipe."""
    reading, writing = os.pipe()
    log = AttemptLog(folder / "log", most_bytes, files)
    stream = Stream(reading, "stdout", log)
    for piece in pieces:
        os.write(writing, piece)
        assert stream.carry()
    os.close(writing)
    stream.finish()
    log.close()
    log.close()
    os.close(reading)
    return folder / "log"


def _tagged(path: Path) -> list[tuple[str, str]]:
    fields = (line.split(" ", 3) for line in path.read_text(encoding="utf-8").splitlines())
    return [(each[2], each[3]) for each in fields]


def test_lines_have_time_stream_and_tag(tmp_path: Path) -> None:
    (line,) = _carried(tmp_path, b"hello\n").read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F hello", line)


def test_pieces_are_put_together_and_a_last_line_needs_no_end(tmp_path: Path) -> None:
    path = _carried(tmp_path, b"a", b"b\nc\n\n", b"d")
    assert _tagged(path) == [("F", "ab"), ("F", "c"), ("F", ""), ("F", "d")]


def test_long_lines_come_in_parts(tmp_path: Path) -> None:
    path = _carried(tmp_path, b"x" * 20_000, b"y" * 20_000 + b"\n")
    tagged = _tagged(path)
    assert [tag for tag, _ in tagged] == ["P", "P", "F"]
    assert "".join(text for _, text in tagged) == "x" * 20_000 + "y" * 20_000


def test_a_log_is_cut_into_files_and_the_oldest_go(tmp_path: Path) -> None:
    path = _carried(tmp_path, *(b"line %d\n" % n for n in range(9)), most_bytes=100, files=3)
    names = sorted(each.name for each in tmp_path.iterdir())
    assert names == ["log", "log.1", "log.2"]
    assert _tagged(path)[-1] == ("F", "line 8")
    assert all(each.stat().st_size <= 100 for each in tmp_path.iterdir())


def test_a_single_file_begins_again(tmp_path: Path) -> None:
    _carried(tmp_path, *(b"line %d\n" % n for n in range(9)), most_bytes=100, files=1)
    assert [each.name for each in tmp_path.iterdir()] == ["log"]


def test_a_log_that_can_not_be_written_costs_lines_only(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    assert (_carried(tmp_path, b"a\n")).is_dir()


def test_a_stream_that_says_nothing_now_may_say_more(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    stream = Stream(reading, "stderr", AttemptLog(tmp_path / "log", 100, 1))
    assert stream.carry()
    os.close(writing)
    assert not stream.carry()
    os.close(reading)


def test_moments_are_in_utc_with_nanoseconds() -> None:
    assert stamp(1_000_000_002) == "1970-01-01T00:00:01.000000002Z"


def test_a_paper_appears_whole(tmp_path: Path) -> None:
    paper = PreallocatedFile(tmp_path, "end.json")
    assert attempt_files.read(tmp_path, "end.json") is None
    paper.write({"code": 1})
    assert attempt_files.read(tmp_path, "end.json") == {"code": 1}
    assert [each.name for each in tmp_path.iterdir()] == ["end.json"]


def test_a_paper_that_is_not_needed_leaves_nothing(tmp_path: Path) -> None:
    PreallocatedFile(tmp_path, "end.json").discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_damaged_paper_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "end.json").write_text(text, encoding="utf-8")
    assert attempt_files.read(tmp_path, "end.json") is None


def test_families_are_found_and_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import subprocess, sys, time;"
        "subprocess.Popen(['sleep', '1000']); print('up', flush=True); time.sleep(1000)"
    )
    env = {**os.environ, process_tree.MARK: "a-mark"}
    with subprocess.Popen(
        [sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, env=env
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        below = process_tree.descendants(os.getpid())
        assert child.pid in below
        (grandchild,) = process_tree.descendants(child.pid)
        assert below == process_tree.offspring(os.getpid())
        with monkeypatch.context() as without:
            # A kernel that does not say whose children there are.
            without.setattr(process_tree, "_children", None)
            without.setattr(os.path, "exists", lambda _: False)
            assert (grandchild,) == process_tree.offspring(child.pid)
        assert grandchild in below
        assert {child.pid, grandchild} == set(process_tree.strays(-5, "a-mark"))
        found = process_tree.process(child.pid)
        assert found is not None
        assert os.getpid() == found.parent
        assert process_tree.is_alive(child.pid, found.started)
        assert not process_tree.is_alive(child.pid, found.started + 1)
        process_tree.kill((grandchild, child.pid))
        child.wait()
    assert not process_tree.is_alive(child.pid, found.started)
    process_tree.kill((child.pid,))


def test_a_process_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert process_tree.process(1, tmp_path) is None


def test_a_process_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    numbers = " ".join(map(str, range(4, 30)))
    (tmp_path / "7" / "stat").write_text(f"7 (a) b (c) Z {numbers}\n", encoding="utf-8")
    found = process_tree.process(7, tmp_path)
    assert found is not None
    assert found.is_dead
    assert (found.parent, found.session) == (4, 6)


def _in_child(action: str) -> int:
    """The exit status of a process that does this with ``begin``."""
    code = f"from numalet.agent.host.runtime.shim import begin\n{action}"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode


@pytest.mark.skipif(not begin.can_bind_memory(), reason="no memory policies here")
def test_memory_is_bound_to_nodes_that_are_there() -> None:
    assert _in_child("begin.bind_memory([0])") == 0
    assert _in_child("begin.bind_memory([1000])") == 1


def test_a_score_can_always_be_raised() -> None:
    assert _in_child("raise SystemExit(not begin.set_oom_score_adj(1000))") == 0
    assert _in_child("raise SystemExit(begin.set_oom_score_adj(5000))") == 0


@pytest.mark.parametrize(
    ("setup", "stage"),
    [
        ("argv=['nothing-like-this'], env={}", "program"),
        ("argv=['true'], env={}, working_dir='/nowhere'", "working-dir"),
        ("argv=['true'], env={}, cgroup='/nowhere'", "cgroup"),
        ("argv=['true'], env={}, cpus=[4000]", "cpus"),
    ],
)
def test_the_step_that_failed_is_named(setup: str, stage: str) -> None:
    action = (
        "import os\n"
        f"try: begin.become(begin.Setup({setup}), os.getppid())\n"
        f"except begin.StageFailed as failed: raise SystemExit(failed.stage.value != {stage!r})"
    )
    assert _in_child(action) == 0


def test_a_process_becomes_the_program() -> None:
    action = (
        "import os; begin.become(begin.Setup(argv=['sh', '-c', 'exit 9'], env={}), os.getppid())"
    )
    assert _in_child(action) == 9


def test_a_child_whose_parent_is_gone_does_not_begin() -> None:
    action = "begin.become(begin.Setup(argv=['sh', '-c', 'exit 9'], env={}), -1)"
    assert _in_child(action) == 1


def test_a_file_of_an_attempt_that_is_nested_too_deeply_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text("[" * 100_000)
    assert attempt_files.read(tmp_path, "deep") is None
