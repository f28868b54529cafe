"""Two releases compared, on the terminal or for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from numalet.cli import check_view, output
from numalet.core.config.releases.release import Release
from numalet.core.config.rules import StartRefused
from numalet.core.model.findings import Severity
from numalet.wording import kubelet_start, numbers

if TYPE_CHECKING:
    from rich.console import RenderableType

    from numalet.insight.usecases.upgrading import Upgrade

_HEADINGS = {
    Severity.ERROR: "What would go wrong",
    Severity.WARNING: "What would change for pods",
    Severity.NOTE: "What else changes",
}


def print_changes(upgrade: Upgrade, *, shows_all: bool) -> None:
    output.print_all(_drawn(upgrade, shows_all))


def print_document(upgrade: Upgrade, chosen: str) -> None:
    """Print the document that ``numalet.upgrade/2`` describes."""
    from numalet.insight.output import upgrade_document

    rows = (*upgrade.rows, *upgrade.other_rows)
    output.print_document(upgrade_document.of(upgrade.compared, rows), chosen)


def _drawn(upgrade: Upgrade, shows_all: bool) -> Iterator[RenderableType]:
    compared = upgrade.compared
    yield from _start(compared.before, compared.refused_before)
    yield from _start(compared.after, compared.refused_after)
    rules_said: set[str] = set()
    for severity, heading in _HEADINGS.items():
        rows = [row for row in upgrade.rows if row.severity is severity]
        if rows:
            yield ""
            yield check_view.text(heading, "bold underline", 0)
            yield from check_view.blocks(rows, rules_said, "")
    if upgrade.other_rows and shows_all:
        yield ""
        yield check_view.text("What does not affect these inputs", "bold underline", 0)
        yield from check_view.blocks(upgrade.other_rows, rules_said, "")
    elif upgrade.other_rows:
        more = numbers.counted(len(upgrade.other_rows), "more note")
        yield ""
        yield check_view.text(
            f"{more} on rules and gates that do not affect this configuration, machine and pods;"
            " --all shows them.",
            "",
            0,
        )
    yield ""
    yield check_view.text(_summary(upgrade), "", 0)


def _start(release: Release, refused: StartRefused | None) -> Iterator[RenderableType]:
    verb = "starts" if refused is None else "does not start. It says:"
    if refused is not None and refused.is_undecided:
        yield check_view.text(kubelet_start.complaint(f"v{release.name}", refused), "", 0)
        return
    yield check_view.text(f"A kubelet v{release.name} {verb}", "", 0)
    if refused is not None:
        yield check_view.text(kubelet_start.text(refused), "bold", 2)


def _summary(upgrade: Upgrade) -> str:
    compared = upgrade.compared
    between = f"From v{compared.before.name} to v{compared.after.name}"
    rows = (*upgrade.rows, *upgrade.other_rows)
    if not rows:
        return f"{between} nothing changes; {numbers.counted(upgrade.pod_count, 'pod')} given."
    counts = ", ".join(
        numbers.counted(sum(row.severity is each for row in rows), each.value) for each in Severity
    )
    return f"{between}: {counts}; {numbers.counted(upgrade.pod_count, 'pod')} given."
