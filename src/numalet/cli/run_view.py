"""Why a command is rejected: the cause, the allocations, the NUMA nodes, changes that help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from numalet.cli import explain_nodes, explain_tables, output
from numalet.insight.explain.explanation_types import Explanation
from numalet.insight.output import run_document

if TYPE_CHECKING:
    from rich.console import RenderableType


def story(explanation: Explanation, command: str, *, by_agent: bool) -> Iterator[RenderableType]:
    """Yield the parts of the story; ``command`` is the user's text."""
    named = run_document.for_command(explanation)
    yield output.one_line(f"No place for {command}: {named.cause}", "bold red")
    for line in (
        run_document.kept_for_others(explanation),
        *run_document.missing_pages(explanation),
    ):
        if line:
            yield output.one_line(f"  {line}")
    yield Text("")
    yield from explain_nodes.drawing(explanation)
    for subject in named.subjects:
        yield from explain_tables.where_it_could_go(named, subject)
    found = list(dict.fromkeys(run_document.offers(explanation, by_agent=by_agent)))
    yield Text("")
    yield Text("Changes that make it fit" if found else "No change that was tried makes it fit.")
    for offer in found:
        yield _line(f"* {offer}")
    if any(each.ended_early for each in explanation.would_admit):
        yield _line("The search stopped early; there may be more.")


def _line(text: str) -> Padding:
    return Padding(Text(output.printable(text)), (0, 0, 0, 2))
