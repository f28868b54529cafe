"""Output of a simulation: its exit status, its pictures, and a kubelet that does not start.

This module does not import Rich, which draws the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from numalet.cli import output
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused, StartStage
from numalet.core.model.findings import NOWHERE, Finding, Location, Severity
from numalet.insight.simulate.session import Record, Session, decisions
from numalet.io.files import state_directory
from numalet.io.files.state_directory import StateDirectory
from numalet.wording import kubelet_start

if TYPE_CHECKING:
    from numalet.cli.drawing_options import PictureFiles


def exit_status(records: Sequence[Record]) -> int:
    """Return 0 if every decision was an admission, 2 if a restart failed, else 1."""
    results = [result for _, result in records]
    if any(isinstance(each, StartRefused) for each in results):
        return 2
    return int(any(not each.admitted for each in decisions(records)))


def show_start_error(
    refused: StartRefused, state_dir: StateDirectory | None, release: Release
) -> None:
    """Print why the kubelet of this release would not start: its own text, then our sentences.

    If the limit is numalet's and not the kubelet's, there are only our sentences.
    """
    root_dir = kubelet_start.ROOT_DIR if state_dir is None else str(state_dir.path)
    if refused.stage is not StartStage.NUMALET:
        text = kubelet_start.complaint(f"the kubelet v{release.name}", refused, root_dir)
        output.complain(Severity.ERROR, text)
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


def write_pictures(
    session: Session,
    records: Sequence[Record],
    causes: Mapping[int, str],
    pictures: PictureFiles,
) -> None:
    """Write the node after the last step as a page, and as a drawing.

    ``causes`` are those of rejections, by the identity of the decision.
    """
    from numalet.cli import drawing_options
    from numalet.core.model.value import replace
    from numalet.drawing import node_drawing
    from numalet.insight.maps import node_map, refusal
    from numalet.pages import bodies, templating

    chart = replace(
        node_map.of_node(session.node, "Simulated node", session.pods),
        refused=tuple(refusal.of_decisions(decisions(records), causes)),
    )
    chart = pictures.coloured(chart)
    origin = drawing_options.origin(release=session.node.rules.behaviour.release.name)
    endings = [
        f"kubelet: {kubelet_start.text(result)}"
        for _, result in records
        if isinstance(result, StartRefused)
    ]
    pictures.write(
        html=lambda: templating.html_file(
            "Simulated node",
            bodies.simulation_body(
                chart,
                decisions(records),
                session.machine,
                origin,
                causes,
                endings,
            ),
        ),
        svg=lambda: node_drawing.draw(chart),
    )
