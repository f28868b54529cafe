"""The example notebook runs, and what the documentation shows of it is what it shows now."""

from __future__ import annotations

from typing import Any

import pytest

from running import notebooks


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return notebooks.process(tmp_path_factory.mktemp("notebook") / "run.ipynb")


@pytest.mark.slow
def test_the_notebook_shows_what_the_documentation_shows(ran: Any) -> None:
    kept = notebooks.kept()
    assert [*map(_shown, ran.cells)] == [*map(_shown, kept.cells)], "make pictures"


def test_every_class_with_a_picture_is_in_it(ran: Any) -> None:
    shown = [part for cell in ran.cells for part in cell.get("outputs", ())]
    assert all("text/html" in part["data"] for part in shown)
    words = " ".join(part["data"]["text/plain"] for part in shown)
    for name in (
        "Machine of",
        "<Node:",
        "<Decision on",
        "Changes(",
        "<Fleet: nodes 200",
        "<Answer",
    ):
        assert name in words
    pictures = [part["data"]["text/html"] for part in shown if "<svg" in part["data"]["text/html"]]
    assert len(pictures) == 6
    # The fleet and its answers show each of the 200 nodes; the pod fits on some, others are traps.
    fleet = [each for each in pictures if ' heat"' in each]
    assert [each.count("data-node=") for each in fleet] == [200] * 4
    assert "; the pod fits; " in fleet[2]
    assert "; trap; " in fleet[2]


def _shown(cell: Any) -> tuple[str, list[dict[str, str]]]:
    return cell.source, [dict(part["data"]) for part in cell.get("outputs", ())]
