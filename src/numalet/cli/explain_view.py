"""Print an explanation: as a document, or as a story by ``explain_tables``.

Only the story imports Rich.
"""

from __future__ import annotations

from numalet.cli import output, simulate_view
from numalet.cli.output import OutputFormat
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused
from numalet.insight.output import explanation_document
from numalet.insight.output.explanation_types import Explanation
from numalet.io.files.state_directory import StateDirectory


def show_start_error(
    refused: StartRefused, chosen: OutputFormat, state_dir: StateDirectory | None, release: Release
) -> None:
    """Print why the kubelet would not start, like ``simulate``."""
    if chosen is not OutputFormat.TABLE:
        output.print_document(explanation_document.not_started(refused, release), chosen)
    simulate_view.show_start_error(refused, OutputFormat.TABLE, state_dir, release)


def show(explanation: Explanation, chosen: OutputFormat) -> None:
    if chosen is not OutputFormat.TABLE:
        output.print_document(explanation, chosen)
        return
    from numalet.cli import explain_tables

    output.print_all(explain_tables.story(explanation))
