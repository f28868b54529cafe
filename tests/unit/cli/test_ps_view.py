"""The table of pods on terminals of several widths: its items are whole, and it fits."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from numalet.cli import top_view
from numalet.cli.ps_view import PodTable

NOW: Final = datetime(2026, 11, 28, tzinfo=UTC)
CPUS: Final = "13-24,38,40,42,125-136,150-152"
NAME: Final = "notebook-with-a-very-long-name-7f9c4d-x2x9z"


def _pod(name: str, status: str, cpus: str = "", memory: int = 0) -> dict[str, Any]:
    created = "2026-11-27T00:00:00Z"
    return {
        "metadata": {"name": name, "namespace": "ml", "uid": "u", "creationTimestamp": created},
        "ready": "1/1",
        "status": status,
        "numaNodes": [0],
        "cpus": cpus,
        "containers": [],
        "memory": {"memory": memory} if memory else {},
        "aligned": True,
        "misplacedBytes": 0,
    }


PODS: Final = (
    _pod(NAME, "CrashLoopBackOff", CPUS, 16 << 30) | {"unpromised": "it lost its CPUs"},
    _pod("too-large", "UnexpectedAdmissionError"),
)


@pytest.fixture(params=[40, 60, 80])
def columns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The width of a terminal without colours."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def test_ps_fits_and_breaks_no_item(columns: int) -> None:
    shown = PodTable(PODS, NOW).text(PODS)
    assert max(map(len, shown.splitlines())) <= columns
    words = shown.replace(",", " ").split()
    assert not set(CPUS.split(",")) - set(words)
    assert "UnexpectedAdmissionError" in words
    # Side by side where there is room for it, else one cell below the other.
    assert (words.count("STATUS") == 1) == (columns == 80)


def test_a_uid_that_is_wider_than_its_place_is_below_its_name(columns: int) -> None:
    uid = "42db31cc-aaaa-bbbb-cccc-0123456789ab"
    pods = [{**each, "metadata": {**each["metadata"], "uid": uid}} for each in PODS]
    shown = PodTable(pods, NOW, is_wide=True).text(pods)
    assert max(map(len, shown.splitlines())) <= columns
    assert shown.split().count(uid) == 2


def test_a_screen_of_top_fits(columns: int) -> None:
    screen = top_view.screen("node7\n", PODS, top_view.View(), 40, NOW)
    assert max(map(len, screen.lines)) <= columns
    assert len(screen.lines) == 40
    assert " ".join(screen.lines).split()[-2:] == ["/", "filter"]
