"""An explanation shown: as a document here, as a story in ``explain_tables``.

Rich, which draws the story, is loaded only for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numalet.cli import output, simulate_view
from numalet.cli.output import OutputFormat
from numalet.core.config.rules import StartRefused
from numalet.insight.explain import document
from numalet.insight.output import explanation_schema
from numalet.io.files.state_directory import StateDirectory
from numalet.wording import kubelet_start


def show_start_error(
    refused: StartRefused, chosen: OutputFormat, state_dir: StateDirectory | None
) -> None:
    """Say why the kubelet would not start, as ``simulate`` says it."""
    if chosen is not OutputFormat.TABLE:
        text = kubelet_start.text(refused)
        output.print_document(document.not_started(text, refused.stage.value), chosen)
    simulate_view.show_start_error(refused, OutputFormat.TABLE, state_dir)


def show(found: Mapping[str, Any], chosen: OutputFormat) -> None:
    """Print an explanation, which is a document of ``numalet explain``."""
    if chosen is not OutputFormat.TABLE:
        output.print_document(found, chosen)
        return
    from numalet.cli import explain_tables

    output.print_all(explain_tables.story(explanation_schema.of(found)))
