"""Options that several commands have: groups in a signature, and what is made of them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from numalet.cli import kubelet_options, machine_options
from numalet.cli.machine_options import DeviceOptions, MachineOptions
from numalet.cli.option_groups import OptionGroup, expanded, option
from numalet.core.model.findings import BadInput
from numalet.io.documents.kubelet_config import Base, ConfigSources
from numalet.io.machines import MachineChoice


@dataclass(frozen=True, slots=True)
class Span:
    """From where to where."""

    first: int
    last: int


Spans = Annotated[
    Span, OptionGroup((option("first", int, 0), option("last", Annotated[int, "end"], 9)), Span)
]


def _speak(name: str = "x", *, span: Spans, loud: bool = False) -> None:
    """Say it."""
    typer.echo(f"{name} {span} {loud}")


def _run(command: Any, *arguments: str) -> str:
    """What the command prints."""
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, arguments, catch_exceptions=False).output


def test_the_options_of_a_group_stand_where_the_group_stood() -> None:
    command = expanded(_speak)
    expected = ["name", "first", "last", "loud"]
    assert expected == list(inspect.signature(command).parameters)
    assert expected == list(command.__annotations__)


def test_an_expanded_command_keeps_its_name_and_docstring() -> None:
    command = expanded(_speak)
    assert (command.__name__, command.__doc__) == ("_speak", "Say it.")


def test_the_command_gets_the_value_that_the_options_make() -> None:
    command = expanded(_speak)
    assert _run(command) == "x Span(first=0, last=9) False\n"
    given = ("--name", "y", "--last", "3", "--first", "1", "--loud")
    assert _run(command, *given) == "y Span(first=1, last=3) True\n"


def test_a_command_without_groups_takes_what_it_took() -> None:
    def speak(word: str = "hm") -> None:
        typer.echo(word)

    assert _run(expanded(speak), "--word", "oh") == "oh\n"


def _show_machine(*, machine: machine_options.Chosen, devices: machine_options.Devices) -> None:
    typer.echo(repr((machine, devices)))


def test_machine_and_devices_are_what_their_options_say() -> None:
    given = ("-m", "2n4c", "--memory-per-node", "8Gi", "--hugepages-per-node", "1Gi=4")
    devices = ("--device", "a/b=c", "--device", "d/e=f", "--devices", "all.yaml")
    expected = (
        MachineOptions(machine="2n4c", memory_per_node="8Gi", hugepages_per_node="1Gi=4"),
        DeviceOptions(("a/b=c", "d/e=f"), "all.yaml"),
    )
    command = expanded(_show_machine)
    assert f"{expected!r}\n" == _run(command, *given, *devices)
    assert f"{(MachineOptions(), DeviceOptions((), None))!r}\n" == _run(command)


def test_counts_of_huge_pages_are_read_when_the_machine_is_asked_for() -> None:
    options = MachineOptions(machine="1n1c", hugepages_per_node="1Gi=4; 2Mi=512,64Ki=1")
    pages = {"1Gi": "4", "2Mi": "512", "64Ki": "1"}
    assert MachineChoice("1n1c", None, pages) == options.choice()
    assert MachineChoice() == MachineOptions().choice()


@pytest.mark.parametrize("text", ["", "1Gi", "=4", "1Gi=4;1Gi=5", ";"])
def test_other_counts_of_huge_pages_are_refused(text: str) -> None:
    with pytest.raises(BadInput) as bad:
        MachineOptions(hugepages_per_node=text).choice()
    assert [finding.code for finding in bad.value.findings] == ["input/invalid"]


_seen: list[ConfigSources] = []


def _take_all(*, flags: kubelet_options.AllFlags) -> None:
    _seen.append(flags.sources(Path("kubelet.yaml")))


def test_kubelet_flags_keep_their_order_and_repetitions() -> None:
    given = (
        ("--feature-gates", "A=true"),
        ("--kube-reserved", "cpu=1"),
        ("--kube-reserved", "memory=2Gi"),
        ("--memory-manager-policy", "Static"),
    )
    _run(expanded(_take_all), *(part for pair in given for part in pair), "--config-dir", "d")
    expected = ConfigSources(
        base=Base.EMPTY_FILE,
        config_file=Path("kubelet.yaml"),
        config_dir=Path("d"),
        flags=(
            ("--memory-manager-policy", "Static"),
            ("--kube-reserved", "cpu=1"),
            ("--kube-reserved", "memory=2Gi"),
            ("--feature-gates", "A=true"),
        ),
    )
    assert expected == _seen.pop()


def test_without_a_file_there_are_only_flags() -> None:
    _run(expanded(_take_all), "--no-config-file")
    assert Base.FLAGS_ONLY is _seen.pop().base


def _names(command: Any) -> list[str]:
    return list(inspect.signature(expanded(command)).parameters)


def _take_reservations(*, flags: kubelet_options.ReservationFlags) -> None:
    _seen.append(flags.sources(None))


def _take_but_topology(*, flags: kubelet_options.FlagsBesideTopology) -> None:
    _seen.append(flags.sources(None))


def test_a_command_may_have_a_part_of_the_flags() -> None:
    topology = [
        "topology_manager_policy",
        "topology_manager_scope",
        "topology_manager_policy_options",
    ]
    reservations = ["kube_reserved", "system_reserved", "eviction_hard"]
    assert [
        "config_dir",
        "no_config_file",
        "native",
        "memory_node_classes",
        "release",
        "kubelet_version",
        *reservations,
    ] == _names(_take_reservations)
    every = _names(_take_all)
    assert topology == every[11:14]
    # A comparison has an option of its own for releases.
    beside = [*every[:4], *every[5:11], *every[14:]]
    assert ("release", beside) == (every[4], _names(_take_but_topology))
    _run(expanded(_take_reservations), "--eviction-hard", "memory.available<1Gi")
    assert _seen.pop().flags == (("--eviction-hard", "memory.available<1Gi"),)
