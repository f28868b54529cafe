"""Options as fields of a class: parameters of a signature, and the value that a command gets."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from numalet.cli import kubelet_options
from numalet.cli.kubelet_options import KubeletFlags
from numalet.cli.node_options import DeviceOptions, MachineOptions
from numalet.cli.options import REQUIRED, Options, Part, argument, option, with_options
from numalet.core.model import input_error
from numalet.core.model.findings import BadInput
from numalet.io.documents.kubelet.kubelet_config import Base, ConfigSources
from numalet.io.machines import MachineChoice


class _Span(Options):
    first: int = option("Where it begins.", "N", default=0)
    last: int = option("Where it ends.", "N", "-l", default=9)

    def check(self) -> None:
        if self.first > self.last:
            raise input_error.Conflict("--first is after --last").bad_input()


class _Speech(Options):
    name: str = argument("Who.", "[NAME]", default="x")
    span: _Span
    part: Annotated[_Span, Part(without=("first", "last"))]
    loud: bool = option("Loudly.")
    words: list[str] = option("Words; repeatable.", "WORD", "--word")


def _speak(options: _Speech) -> None:
    """Say it."""
    span, part = options.span, options.part
    spans = f"{span.first}-{span.last} {part.first}-{part.last}"
    typer.echo(f"{options.name} {spans} {options.loud} {options.words}")


def _run(command: Any, *arguments: str) -> str:
    """What the command prints."""
    app = typer.Typer()
    app.command()(command)
    return CliRunner().invoke(app, arguments, catch_exceptions=False).output


def test_the_options_of_a_group_stand_where_the_group_stood() -> None:
    command = with_options(_speak)
    expected = ["name", "first", "last", "loud", "words"]
    assert expected == list(inspect.signature(command).parameters)
    assert expected == list(command.__annotations__)


def test_a_command_with_options_keeps_its_name_and_docstring() -> None:
    command = with_options(_speak)
    assert (command.__name__, command.__doc__) == ("_speak", "Say it.")


def test_the_command_gets_the_value_that_the_options_make() -> None:
    command = with_options(_speak)
    assert _run(command) == "x 0-9 0-9 False []\n"
    given = ("y", "-l", "3", "--first", "1", "--loud", "--word", "a", "--word", "b")
    assert _run(command, *given) == "y 1-3 0-9 True ['a', 'b']\n"


def test_values_that_contradict_each_other_end_the_command() -> None:
    with pytest.raises(BadInput):
        _run(with_options(_speak), "--first", "3", "--last", "2")


def test_options_have_defaults_where_nothing_is_given() -> None:
    speech = _Speech(name="z", span=_Span(last=1), part=_Span())
    assert (speech.name, speech.span.first, speech.span.last, speech.part.last) == ("z", 0, 1, 9)
    assert (speech.loud, speech.words) == (False, [])


def test_other_parameters_stay() -> None:
    def speak(context: typer.Context, span: _Span, word: str = "hm") -> None:
        typer.echo(f"{context.info_name} {span.last} {word}")

    assert _run(with_options(speak), "--word", "oh") == "speak 9 oh\n"


class _Titled(Options):
    word: str = option("A word.", default=REQUIRED)
    span: Annotated[_Span, Part(panel="Spans")]


def test_a_group_may_have_a_title_and_an_option_may_be_required() -> None:
    def speak(options: _Titled) -> None:
        typer.echo(options.word)

    command = with_options(speak)
    panels = {
        name: each.default.rich_help_panel
        for name, each in inspect.signature(command).parameters.items()
    }
    assert panels == {"word": None, "first": "Spans", "last": "Spans"}
    assert "Missing option '--word'" in _run(command)
    assert _run(command, "--word", "oh") == "oh\n"


_devices: list[tuple[MachineChoice, dict[str, Any]]] = []


def _take_machine(machine: MachineOptions, devices: DeviceOptions) -> None:
    _devices.append((machine.choice(), devices.fields()))


def test_machine_and_devices_are_what_their_options_say() -> None:
    given = ("-m", "2n4c", "--memory-per-node", "8Gi", "--hugepages-per-node", "1Gi=4")
    devices = ("--device", "a/b=c", "--device", "d/e=f", "--devices", "all.yaml")
    command = with_options(_take_machine)
    _run(command, *given, *devices)
    expected = {"devices": ("a/b=c", "d/e=f"), "device_file": "all.yaml"}
    assert _devices.pop() == (MachineChoice("2n4c", "8Gi", {"1Gi": "4"}), expected)
    _run(command)
    assert _devices.pop() == (MachineChoice(), {"devices": (), "device_file": None})


def test_counts_of_huge_pages_are_read_when_the_machine_is_asked_for() -> None:
    options = MachineOptions(machine="1n1c", hugepages_per_node="1Gi=4; 2Mi=512,64Ki=1")
    pages = {"1Gi": "4", "2Mi": "512", "64Ki": "1"}
    assert MachineChoice("1n1c", None, pages) == options.choice()
    assert MachineChoice("2n1c", None, pages) == options.choice("2n1c")


@pytest.mark.parametrize("text", ["", "1Gi", "=4", "1Gi=4;1Gi=5", ";"])
def test_other_counts_of_huge_pages_are_refused(text: str) -> None:
    with pytest.raises(BadInput) as bad:
        MachineOptions(hugepages_per_node=text).choice()
    assert [finding.code for finding in bad.value.findings] == ["input/invalid"]


_seen: list[ConfigSources] = []


def _take_all(flags: KubeletFlags) -> None:
    _seen.append(flags.sources(Path("kubelet.yaml")))


def test_kubelet_flags_keep_their_order_and_repetitions() -> None:
    given = (
        ("--feature-gates", "A=true"),
        ("--kube-reserved", "cpu=1"),
        ("--kube-reserved", "memory=2Gi"),
        ("--memory-manager-policy", "Static"),
    )
    _run(with_options(_take_all), *(part for pair in given for part in pair), "--config-dir", "d")
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
    _run(with_options(_take_all), "--no-config-file")
    assert Base.FLAGS_ONLY is _seen.pop().base


def _names(command: Any) -> list[str]:
    return list(inspect.signature(with_options(command)).parameters)


def _take_reservations(flags: kubelet_options.ReservationFlags) -> None:
    _seen.append(flags.sources(None))


def _take_but_topology(flags: kubelet_options.FlagsBesideTopology) -> None:
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
    _run(with_options(_take_reservations), "--eviction-hard", "memory.available<1Gi")
    assert _seen.pop().flags == (("--eviction-hard", "memory.available<1Gi"),)
