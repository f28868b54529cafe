"""Output of a completed simulation: a document here, tables in ``simulate_tables``.

This module does not import Rich, which draws the tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, assert_never

from numalet.cli import output
from numalet.cli.output import OutputFormat
from numalet.core.admission.decision import Decision
from numalet.core.admission.reasons import Rejection
from numalet.core.config.behaviour import Behaviour
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import NOWHERE, Finding, Location, Severity
from numalet.core.model.pod import Pod
from numalet.core.model.value import Value
from numalet.insight.maps import resource_maps
from numalet.insight.maps.resource_maps import MemoryMap, NodeCpus, SimulationDevicesDocument
from numalet.insight.simulate.session import (
    Asked,
    NotRestarted,
    Record,
    Removed,
    Restarted,
    Session,
)
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory
from numalet.wording import kubelet_start, releases

if TYPE_CHECKING:
    from numalet.cli.drawing_options import PictureFiles
    from numalet.insight.usecases.simulating import Prepared


class SimulationResult(Value):
    prepared: Prepared
    records: tuple[Record, ...]
    session: Session

    @property
    def behaviour(self) -> Behaviour:
        return self.session.node.rules.behaviour

    def map(self) -> MemoryMap:
        """The node map after the last step."""
        node = self.session.node
        return resource_maps.memory_map(
            node.snapshot, node.rules.machine, node.leftovers(), self.session.pods
        )

    def replay_refused(self) -> list[tuple[Pod, Rejection]]:
        """Pods that run on the user's node and were rejected here."""
        decisions = (each for record in self.records for each in decisions_of(record))
        return [
            (each.pod, each.rejection)
            for each in decisions
            if each.rejection is not None and each.pod.uid in self.prepared.running
        ]

    def cpus(self) -> tuple[NodeCpus, ...]:
        """The CPUs after the last step; empty without exclusive CPUs."""
        return resource_maps.cpus_of_node(self.session.node)

    def devices(self) -> list[SimulationDevicesDocument]:
        return resource_maps.device_map(self.session.node.snapshot.device)


def exit_status(records: Iterable[Record]) -> int:
    """Return 0 if every decision was an admission, 2 if a restart failed, else 1."""
    status = 0
    for record in records:
        if isinstance(record, NotRestarted):
            return 2
        if any(not decision.admitted for decision in decisions_of(record)):
            status = 1
    return status


def decisions_of(record: Record) -> tuple[Decision, ...]:
    match record:
        case Asked(decision):
            return (decision,)
        case Restarted(decisions):
            return decisions
        case Removed() | NotRestarted():
            return ()
        case _:
            assert_never(record)


def show_start_error(
    refused: StartRefused, chosen: OutputFormat, state_dir: StateDirectory | None, release: Release
) -> None:
    """Print why the kubelet of this release would not start: its own text, then our sentences.

    If the limit is numalet's and not the kubelet's, there are only our sentences.
    """
    if chosen is not OutputFormat.TABLE:
        from numalet.insight.output import simulation_document

        output.print_document(simulation_document.not_started(refused, release), chosen)
    root_dir = kubelet_start.ROOT_DIR if state_dir is None else str(state_dir.path)
    if refused.stage is not StartStage.NUMALET:
        who = releases.kubelet(release.name)
        output.complain(Severity.ERROR, kubelet_start.complaint(who, refused, root_dir))
    findings = () if refused.is_undecided else (*refused.findings, *refused.further)
    output.show_findings(_placed(finding, state_dir) for finding in findings)


def _placed(finding: Finding, state_dir: StateDirectory | None) -> Finding:
    name = state_directory.FILE_OF_ROOM.get(finding.code.partition("/")[0])
    if state_dir is None or name is None or finding.where != NOWHERE:
        return finding
    return finding.at(Location(str(state_dir.path / name)))


def say_written(names: Sequence[str]) -> None:
    if names:
        output.say(f"written: {', '.join(names)}")


def write_pictures(result: SimulationResult, pictures: PictureFiles) -> None:
    """Write the node after the last step as a page, and as a drawing."""
    from numalet.cli import drawing_options
    from numalet.drawing import node_drawing
    from numalet.insight.maps import node_map
    from numalet.pages import file, simulation_page

    session = result.session
    chart = node_map.of_node(session.node, "Simulated node", session.pods)
    origin = drawing_options.origin(release=result.behaviour.release.name)
    decisions = [each for record in result.records for each in decisions_of(record)]
    pictures.write(
        html=lambda: file.file(
            "Simulated node",
            simulation_page.body(chart, decisions, session.machine, origin, _endings(result)),
        ),
        svg=lambda: node_drawing.draw(chart),
    )


def _endings(result: SimulationResult) -> list[str]:
    return [
        f"kubelet: {kubelet_start.text(each.refused)}"
        for each in result.records
        if isinstance(each, NotRestarted)
    ]


def print_document(result: SimulationResult, chosen: OutputFormat) -> None:
    from numalet.insight.output import simulation_document

    prepared = result.prepared
    document = simulation_document.simulation(
        result.records,
        result.map(),
        result.session.node.state_files(),
        result.behaviour,
        replay_refused=result.replay_refused(),
        nodes=result.cpus(),
        device_rows=result.devices(),
        assumed_running=prepared.assumed,
        forgotten=prepared.forgotten,
        ignored={cause.value: count for cause, count in prepared.ignored.items()},
    )
    output.print_document(document, chosen)
