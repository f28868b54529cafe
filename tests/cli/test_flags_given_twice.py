"""An option of one value that is given twice is refused; the last one never wins in silence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cli.commands import DOCUMENTED, GUARANTEED, Runner
from numalet.cli import main


def _commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that name it."""
    for name, each in getattr(command, "commands", {}).items():
        yield from _commands(each, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


def _options(command: Any) -> Iterator[Any]:
    return (param for param in command.params if param.param_type_name == "option")


ALL = list(_commands(main.commands()))
OF_ONE_VALUE = [
    (path, name)
    for path, command in ALL
    for option in _options(command)
    if not option.multiple and not option.is_flag
    for name in option.opts
]
PAIRS = [
    (path, option.opts[0], option.secondary_opts[0])
    for path, command in ALL
    for option in _options(command)
    if option.secondary_opts
]


def test_all_commands_are_seen() -> None:
    assert {
        ("check",),
        ("explain",),
        ("run",),
        ("agent",),
        ("state", "verify"),
        ("lab", "run"),
    } <= {path for path, _ in OF_ONE_VALUE}
    assert (("simulate",), "--topology-manager-policy") in OF_ONE_VALUE


@pytest.mark.parametrize(
    ("path", "name"), OF_ONE_VALUE, ids=[f"{' '.join(path)} {name}" for path, name in OF_ONE_VALUE]
)
def test_an_option_of_one_value_is_given_once(
    path: tuple[str, ...], name: str, numalet: Runner
) -> None:
    words = [f"{name}=a"] if name.startswith("--") else [name, "a"]
    ended = numalet(*path, *words, *words)

    assert (ended.status, ended.out) == (2, "")
    assert f"'{name}'" in ended.err
    assert "given 2 times" in ended.err


@pytest.mark.parametrize(("path", "name", "opposite"), PAIRS)
def test_an_option_and_its_opposite_are_not_given_together(
    path: tuple[str, ...], name: str, opposite: str, numalet: Runner
) -> None:
    ended = numalet(*path, name, opposite)

    assert (ended.status, ended.out) == (2, "")
    assert f"'{name}' / '{opposite}'" in ended.err


def test_two_spellings_of_one_option_are_the_same_option(numalet: Runner) -> None:
    ended = numalet("simulate", "-c", "a.yaml", "--config=b.yaml")

    assert (ended.status, ended.out) == (2, "")
    assert "Option '-c' / '--config' is given 2 times and takes one value" in ended.err


def test_a_switch_may_be_repeated(numalet: Runner) -> None:
    ended = numalet("simulate", *DOCUMENTED, "--exact", GUARANTEED)

    assert ended.status == 0
    assert numalet("replay", "--fail-fast", "--fail-fast", "no.jsonl").err.count("times") == 0


def test_words_of_the_command_to_run_are_not_checked(numalet: Runner) -> None:
    ended = numalet("run", "--cpus", "x", "--memory", "1Gi", "--", "app", "--cpus", "1")

    assert "times" not in ended.err


@pytest.mark.parametrize(
    ("flag", "values", "complaint"),
    [
        ("--kube-reserved", ("cpu=1", "memory=1Gi"), ""),
        ("--kube-reserved", ("memory=1Gi", "memory=1Gi"), ""),
        ("--kube-reserved", ("memory=1Gi", "memory=2Gi"), "memory is set to both 1Gi and 2Gi"),
        ("--system-reserved", ("cpu=1,cpu=2",), "cpu is set to both 1 and 2"),
        (
            "--eviction-hard",
            ("memory.available<1Gi", "memory.available<2Gi"),
            "memory.available is set to both 1Gi and 2Gi",
        ),
        ("--feature-gates", ("A=true", "A=false"), "A is set to both true and false"),
    ],
)
def test_flags_that_are_maps_add_up_and_do_not_contradict_themselves(
    flag: str, values: tuple[str, ...], complaint: str, numalet: Runner
) -> None:
    flags = [word for value in values for word in (flag, value)]
    ended = numalet("check", "-m", "2n4c", "--memory-per-node", "8Gi", *flags)

    assert ("is set to both" in ended.err) == bool(complaint)
    assert complaint in ended.err
    assert ended.status == 2 or not complaint
