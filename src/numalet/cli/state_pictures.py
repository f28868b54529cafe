"""Pictures of state files: their machine, and their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numalet.cli.node_options import DeviceOptions, Sizes
from numalet.cli.options import Options, option
from numalet.core.model import input_error
from numalet.core.model.value import Value, replace

if TYPE_CHECKING:
    from numalet.cli.drawing_options import PictureFiles
    from numalet.insight.state.reading import States
    from numalet.insight.state.state_chart import StateMachine
    from numalet.insight.state.state_diff import StateDifference
    from numalet.insight.usecases.state_doctor import StateSource


class PictureChoice(Options):
    """The machine on which state files are drawn."""

    machine: str | None = option(
        "For pictures: the machine that the files are of, so that CPUs and free devices are drawn"
        " where they are; as for 'verify', '/' for the machine that this runs on.",
        "MACHINE",
        "-m",
    )
    sizes: Sizes
    devices: DeviceOptions


class PicturedMachine(Value):
    """The machine for the drawing; ``contradictions`` are parts of the files that do not fit it."""

    name: str = ""
    machine: StateMachine | None = None
    contradictions: tuple[str, ...] = ()


def pictured(choice: PictureChoice, sources: Sequence[StateSource]) -> PicturedMachine:
    """Return the named machine, if any. Raises ``BadInput``."""
    from numalet.cli.output import show_findings
    from numalet.insight.state import verify as state_verify
    from numalet.insight.state.state_chart import StateMachine
    from numalet.io import devices as device_door

    machine = choice.machine
    if machine is None:
        if choice.devices.device or choice.devices.devices:
            raise input_error.Required("devices need their machine; name it with -m").bad_input()
        return PicturedMachine()
    loaded = choice.sizes.choice(machine).open()
    show_findings(loaded.notes)
    on_it = device_door.devices_on(loaded, choice.devices.devices, choice.devices.device)
    contradictions: list[str] = []
    for source in sources:
        alone = [each for report in state_verify.verify(source.files) for each in report.findings]
        for report in state_verify.verify(source.files, loaded.info):
            others = [each for each in report.findings if each not in alone]
            contradictions += [f"{source.path}: {each.located}" for each in others]
    return PicturedMachine(machine, StateMachine(loaded.info, on_it), tuple(contradictions))


def write_shown(
    states: States,
    path: str,
    names: Mapping[str, str],
    pictures: PictureFiles,
    on: PicturedMachine,
) -> None:
    """Write the content of the files as a page, and as a drawing of the node."""
    from numalet.cli import drawing_options
    from numalet.drawing import node_drawing
    from numalet.insight.state import state_chart, state_diff
    from numalet.pages import bodies, templating

    chart = pictures.coloured(state_chart.state_chart(states, path, names, on.machine))
    origin = drawing_options.origin(machine=on.name)
    notes = [each.located for each in state_diff.unreadable(states)]
    pictures.write(
        html=lambda: templating.html_file(
            f"State files of {path}",
            bodies.state_body(chart, origin, notes, on.contradictions),
        ),
        svg=lambda: node_drawing.draw(chart),
    )


def write_compared(
    compared: Sequence[tuple[str, States]],
    names: Mapping[str, str],
    differences: Sequence[StateDifference],
    pictures: PictureFiles,
    on: PicturedMachine,
) -> None:
    """Write two sets of state files, with their paths, as one page."""
    from numalet.cli import drawing_options
    from numalet.insight.maps import node_map
    from numalet.insight.state import state_chart, state_diff
    from numalet.pages import bodies, templating

    charts = [
        pictures.coloured(state_chart.state_chart(states, path, names, on.machine))
        for path, states in compared
    ]
    pods = node_map.in_letter_order(pod for chart in charts for pod in chart.pods)
    before, after = (replace(chart, lettered=pods) for chart in charts)
    notes = [each.located for _, states in compared for each in state_diff.unreadable(states)]
    origin = drawing_options.origin(machine=on.name)
    pictures.write(
        html=lambda: templating.html_file(
            "State files compared",
            bodies.comparison_body(before, after, differences, origin, notes, on.contradictions),
        )
    )
