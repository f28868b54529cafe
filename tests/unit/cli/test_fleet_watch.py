"""What ``--watch`` prints is drawn for the output that it comes to."""

from __future__ import annotations

import sys

import pytest
from rich.text import Text

from numalet.cli import output
from numalet.cli.fleet_watch import WatchedAnswer
from numalet.cluster.following import FollowedView
from numalet.core.cluster.cluster import Cluster
from numalet.insight.usecases.clusters import OpenedCluster

WORDS = " ".join(["word"] * 40)


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same terminal wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "70")
    monkeypatch.setenv("NO_COLOR", "1")


def _answer(_cluster: Cluster) -> int:
    output.print_all([output.one_line(WORDS), Text("end")])
    return 0


@pytest.mark.parametrize(("is_screen", "longest"), [(True, 70), (False, len(WORDS))])
async def test_lines_are_as_wide_as_the_output(
    is_screen: bool,
    longest: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_screen, raising=False)
    view = FollowedView(opened=OpenedCluster(Cluster(nodes={}), {}), age_seconds=0.0, problems=())
    await WatchedAnswer(_answer, is_table=True).receive(view)
    lines = capsys.readouterr().out.splitlines()
    assert "end" in lines
    assert longest - 5 < max(map(len, lines)) <= longest + len("\x1b[H\x1b[2J")
