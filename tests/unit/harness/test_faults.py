"""A point does nothing by itself; with a plan it fails where the plan says."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import numalet
from numalet.core.model.findings import BadInput
from numalet.io.files import atomic
from running import agent_zygote, faults
from running.faults import Moment


@pytest.fixture(autouse=True)
def _no_hook_stays() -> Iterator[None]:
    before = faults.install(None)
    yield
    faults.install(before)


def test_every_kind_of_effect_has_a_point() -> None:
    names = {name for functions in faults.POINTS.values() for name in functions.values()}
    assert {
        *("node-state.write", "cgroup.kill", "cgroup.make", "cgroup.remove", "cgroup.write"),
        *("file.create", "file.forget", "file.intend", "file.keep", "file.replace"),
        *("file.restore", "file.sync", "file.write", "journal.write"),
        *("process.fork", "process.forget", "process.signal", "process.spawn"),
        *("process.start or process.end", "records.append"),
        *("runs.end", "runs.make", "runs.remove", "runs.started", "runs.withdraw"),
    } == names


def test_nothing_calls_a_function_past_its_point() -> None:
    """As a module would that had imported the function by its name before it was wrapped."""
    agent_zygote.import_all()
    modules = [m for name, m in sys.modules.items() if name.startswith("numalet.")]
    held = {id(value) for module in modules for value in vars(module).values()}
    for name, functions in faults.POINTS.items():
        for path in functions:
            owner: Any = sys.modules[name]
            there = functools.reduce(getattr, path.split("."), owner)
            assert id(inspect.unwrap(there)) != id(there), path
            assert id(inspect.unwrap(there)) not in held, path


def test_the_program_itself_knows_of_no_points() -> None:
    sources = Path(numalet.__file__).parent.rglob("*.py")
    assert [each for each in sources if faults.VARIABLE in each.read_text()] == []


def test_a_hook_sees_both_moments_of_a_point() -> None:
    seen: list[tuple[str, Moment]] = []
    faults.install(lambda name, moment: seen.append((name, moment)))
    with faults.point("file.write"):
        seen.append(("within", Moment.BEFORE))
    assert seen == [
        ("file.write", Moment.BEFORE),
        ("within", Moment.BEFORE),
        ("file.write", Moment.AFTER),
    ]


def test_a_failed_operation_has_no_moment_after_it() -> None:
    seen: list[Moment] = []
    faults.install(lambda _, moment: seen.append(moment))
    with pytest.raises(KeyError), faults.point("x"):
        raise KeyError
    assert seen == [Moment.BEFORE]


def test_a_hook_taken_away_within_a_point_is_not_called_after_it() -> None:
    seen: list[Moment] = []
    faults.install(lambda _, moment: seen.append(moment))
    with faults.point("x"):
        faults.install(None)
    assert seen == [Moment.BEFORE]


def test_an_error_is_raised_at_the_planned_passage_alone() -> None:
    faults.install(faults.planned("a:before:2:ENOSPC"))
    raised = []
    for name in ("a", "b", "a", "a"):
        try:
            with faults.point(name):
                raised.append(0)
        except OSError as error:
            raised.append(error.errno or -1)
    assert raised == [0, 0, errno.ENOSPC, 0]


def test_a_lasting_error_is_raised_from_the_planned_passage_on() -> None:
    faults.install(faults.planned("*:after:2+:EIO"))
    raised = 0
    for _ in range(4):
        try:
            with faults.point("a"):
                pass
        except OSError:
            raised += 1
    assert raised == 3


@pytest.mark.parametrize("text", ["a:b:1", "a:before:1:NOTHING", "a:before:x", "a", "a:*:1:EIO:x"])
def test_a_plan_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any text of int() as well
        faults.planned(text)


def test_a_process_kills_itself_where_its_environment_says(tmp_path: Path) -> None:
    code = (
        "import sys, os, pathlib; from running import faults; from numalet.io.files import atomic;"
        "faults.install_from(os.environ);"
        "[atomic.write_text(pathlib.Path(sys.argv[1]), text) for text in ('one', 'two')]"
    )
    path = tmp_path / "file"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(faults.__file__).parents[1]),
            faults.VARIABLE: "file.replace:before:2",
        },
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert path.read_text(encoding="utf-8") == "one"


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    atomic.write_text(path, "one")
    faults.install(faults.planned("file.write:before:1:ENOSPC"))
    with pytest.raises(BadInput):
        atomic.write_text(path, "two")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_text(encoding="utf-8") == "one"
