"""An explanation shown: as a document here, as a story in ``explain_tables``.

Rich, which draws the story, is loaded only for it.
"""

from __future__ import annotations

from numalet.adapters.files.state_directory import StateDirectory
from numalet.cli import output, simulate_view
from numalet.cli.explain_result import Result
from numalet.cli.output import Format
from numalet.config.rules import StartRefused
from numalet.explain import document
from numalet.wording import kubelet_start


def show_start_error(
    refused: StartRefused, chosen: Format, state_dir: StateDirectory | None
) -> None:
    """Say why the kubelet would not start, as ``simulate`` says it."""
    if chosen is not Format.TABLE:
        text = kubelet_start.text(refused)
        output.print_document(document.not_started(text, refused.stage.value), chosen)
    simulate_view.show_start_error(refused, Format.TABLE, state_dir)


def show(result: Result, chosen: Format) -> None:
    """Print the explanation."""
    if chosen is Format.TABLE:
        from numalet.cli import explain_tables

        output.print_all(explain_tables.story(result))
        return
    found = document.explanation(result.case, result.told, result.tallies)
    output.print_document(found | {"assumed_running": result.running}, chosen)
