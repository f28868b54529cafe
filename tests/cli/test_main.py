"""Ways in and out of the command: help, version, usage, ends that nobody wants."""

from __future__ import annotations

import errno
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import typer

from cli.commands import DOCUMENTED, GUARANTEED, Runner, pod, process
from numalet import __main__, __version__
from numalet.cli import helping, main, simulate
from numalet.cli.main import EXIT_BUG, EXIT_INTERRUPTED

COMMANDS = ("machine", "simulate", "replay")
FITTING = (*COMMANDS, "publish", "hollow", "doctor cluster", "fleet wake", "fleet")


def test_the_command_alone_shows_its_help(numalet: Runner) -> None:
    ended = numalet()

    assert (ended.status, ended.err) == (0, "")
    assert [line for line in COMMANDS if f"  {line} " in ended.out] == list(COMMANDS)


def test_the_version_is_printed(numalet: Runner) -> None:
    assert numalet("--version").out == f"numalet {__version__}\n"


def test_the_version_alone_loads_no_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["numalet", "--version"])
    monkeypatch.setitem(sys.modules, "numalet.cli.main", None)

    __main__.main()

    assert capsys.readouterr().out == f"numalet {__version__}\n"


def test_the_entry_point_ends_with_the_status() -> None:
    assert process("simulate").status == 2


_WITH_SEARCHES_COUNTED: Final = """
import atexit, gc, json, sys
from numalet.__main__ import main

searches = []
gc.callbacks.append(lambda phase, of: searches.append(of["generation"]))
atexit.register(lambda: print(json.dumps([searches, gc.isenabled()]), file=sys.stderr))
main()
"""


@pytest.mark.slow
def test_a_short_command_is_not_searched_for_garbage_and_a_long_one_is(tmp_path: Path) -> None:
    def searches(*arguments: str) -> list[int]:
        command = [sys.executable, "-c", _WITH_SEARCHES_COUNTED, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        of_generations, is_enabled = json.loads(done.stderr)
        assert is_enabled
        return list(of_generations)

    assert searches("simulate", *DOCUMENTED, GUARANTEED) == []
    many = tmp_path / "many.yaml"
    many.write_text("---".join(pod(f"p{number}", "20Mi") for number in range(1000)))
    assert searches("simulate", *DOCUMENTED, str(many), "-o", "json") != []


@pytest.mark.parametrize("command", FITTING)
def test_every_command_has_help_with_examples_that_fit(command: str, numalet: Runner) -> None:
    ended = numalet(*command.split(), "--help")

    assert ended.status == 0
    assert f"Usage: numalet {command} [OPTIONS]" in ended.out
    assert f"    numalet {command}" in ended.out.partition("Examples:")[2]
    assert [line for line in ended.out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("command", [*COMMANDS, "publish", "hollow"])
def test_an_example_of_several_lines_can_be_pasted(command: str, numalet: Runner) -> None:
    lines = numalet(command, "--help").out.partition("Examples:")[2].splitlines()
    broken = [
        line for line, after in itertools.pairwise(lines) if after.startswith(" " * 8) and line
    ]
    assert [line for line in broken if not line.endswith((" \\", "|"))] == []


def test_options_say_what_the_command_does_with_them(numalet: Runner) -> None:
    told = " ".join(numalet("explain", "--help").out.split())
    assert "--state-dir DIR Begin with the state files in DIR; only read." in told
    assert "scenario" not in numalet("what-if", "--help").out
    assert "[OPTIONS] [MACHINE]" in numalet("machine", "--help").out


def test_examples_keep_their_line_breaks(numalet: Runner) -> None:
    assert "pods -A -o json |\n        numalet simulate" in numalet("simulate", "-h").out


def test_the_kubelets_flags_stand_in_a_group_of_their_own(numalet: Runner) -> None:
    shown = numalet("simulate", "--help").out
    ours, kubelets = shown.split("Kubelet flags (they win over the file):")

    assert "--state-dir" in ours
    assert "--reserved-memory" in kubelets


def test_only_indented_paragraphs_keep_their_line_breaks() -> None:
    assert helping.with_line_breaks("One\ntwo.\n\n  three\n  four\n") == (
        "One\ntwo.\n\n\b\n  three\n  four"
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["simulate", "--nonsense"], "No such option: --nonsense"),
        (["simulate", "-o", "xml", "pods.yaml"], "'xml' is not one of"),
        (["simulate", "-m"], "requires an argument"),
        (["replay"], "Missing argument"),
    ],
)
def test_wrong_usage_is_unusable_input(
    arguments: list[str], complaint: str, numalet: Runner
) -> None:
    ended = numalet(*arguments)

    assert (ended.status, ended.out) == (2, "")
    assert complaint in ended.err


def _failing_with(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object) -> int:
        raise error

    monkeypatch.setattr(simulate, "_run", fail)


def test_a_bug_is_said_to_be_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for error in (ValueError("boom"), OSError(2, "boom"), OSError(28, "boom", "some-file")):
        _failing_with(error, monkeypatch)
        assert main.run(["simulate", "x"]) == EXIT_BUG
        said = capsys.readouterr().err
        assert "Traceback" in said
        assert "boom" in said
        assert said.endswith(
            f"numalet {__version__}: this is a bug; please report the lines above\n"
        )


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("x.so: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_no_bug(
    error: Exception, monkeypatch: pytest.MonkeyPatch, numalet: Runner
) -> None:
    _failing_with(error, monkeypatch)
    ended = numalet("simulate", "x")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.startswith("error: out of memory; ")
    assert "Traceback" not in ended.err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), typer.Abort()])
def test_an_interruption_is_no_bug(
    error: BaseException, monkeypatch: pytest.MonkeyPatch, numalet: Runner
) -> None:
    _failing_with(error, monkeypatch)

    ended = numalet("simulate", "x")

    assert (ended.status, ended.out, ended.err) == (EXIT_INTERRUPTED, "", "")


def test_a_reader_that_has_enough_is_no_error(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    arguments = ["simulate", *DOCUMENTED, GUARANTEED, "-o", "json", "--state-dir", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "numalet", *arguments],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)

    assert (done.returncode, done.stderr) == (
        0,
        "written: cpu_manager_state, memory_manager_state\n",
    )
    assert (tmp_path / "memory_manager_state").exists()


def _status_without_reader(unbuffered: str, *arguments: str) -> int:
    """The exit status of a command whose two outputs are pipes that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "numalet", *arguments],
        stdout=writing,
        stderr=writing,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        check=False,
    )
    os.close(writing)
    return done.returncode


@pytest.mark.slow
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_command_keeps_its_status_without_a_reader(unbuffered: str, tmp_path: Path) -> None:
    rejected = tmp_path / "pod.yaml"
    rejected.write_text(pod("large", "9000Gi"))

    assert _status_without_reader(unbuffered, "explain", *DOCUMENTED, str(rejected)) == 1
    assert _status_without_reader(unbuffered, "simulate", "no-such-file") == 2
    assert _status_without_reader(unbuffered, "no-such-command") == 2


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_command_that_follows_ends_when_its_reader_is_gone(unbuffered: str) -> None:
    program = (
        "from numalet.cli import streams; streams.prepare()\n"
        "try:\n"
        "    print('one'); streams.flush()\n"
        "except BrokenPipeError: raise SystemExit(7)"
    )
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=writing, env=environment, check=False
    )
    os.close(writing)

    assert done.returncode == 7


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_an_output_without_room_is_said(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "numalet", "simulate", *DOCUMENTED, GUARANTEED],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert (done.returncode, done.stderr) == (
        2,
        "error: cannot write the output: No space left on device\n",
    )


def test_streams_that_are_closed_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    assert main.run(["simulate", "no-such-file"]) == 2
    assert main.run(["--help"]) == 0
    for stream in (sys.stdout, sys.stderr):
        stream.close()


def test_a_file_name_that_is_no_text_can_be_named() -> None:
    ended = process("simulate", "\udce9.yaml")

    assert ended.status == 2
    assert ended.err.startswith("error: \\udce9.yaml: ")


def test_an_ascii_output_gets_ascii_bars() -> None:
    ascii_only = process(
        "simulate", *DOCUMENTED, GUARANTEED, environment={"PYTHONIOENCODING": "ascii"}
    )

    assert ascii_only.status == 0
    assert "/##......." in ascii_only.out


def test_completion_offers_the_commands() -> None:
    asked = {"_NUMALET_COMPLETE": "complete_bash", "COMP_WORDS": "numalet s", "COMP_CWORD": "1"}

    assert {"simulate", "state"} <= set(process(environment=asked).out.split())
    assert "--show-completion" in process("--help").out


def test_commands_are_listed_in_groups_that_tell_a_story(numalet: Runner) -> None:
    shown = numalet("--help").out
    titles = ("Decide, without", "Maintain a kubelet", "Run pinned programs", "Try it")

    assert sorted(titles, key=shown.index) == list(titles)
    assert shown.index("  simulate ") < shown.index(titles[1]) < shown.index("  check ")
    assert shown.index(titles[2]) < shown.index("  agent ") < shown.index(titles[3])
    assert "\nCommands:" not in shown


def test_a_command_without_the_packages_of_the_agent_says_what_to_install(
    numalet: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'grpc'", name="grpc.aio")

    monkeypatch.setattr(main, "commands", lambda *_: absent)
    ended = numalet("run", "--cpus", "1", "--memory", "1Gi", "--", "true")

    assert ended.status == 2
    assert "'grpc'" in ended.err
    assert "run: pip install '.[agent,cluster]'" in ended.err.replace("\n", " ")


def test_any_other_missing_module_is_a_bug(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object, **__: object) -> None:
        raise ModuleNotFoundError("No module named 'numalet.nowhere'", name="numalet.nowhere")

    monkeypatch.setattr(main, "commands", lambda *_: absent)

    assert main.run(["machine"]) == EXIT_BUG
    assert "this is a bug" in capsys.readouterr().err
