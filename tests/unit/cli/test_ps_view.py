"""The table of pods on terminals of several widths: its items are whole, and it fits."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Final

import pytest

from numalet.agent.servers.door import OwnershipMode
from numalet.cli import main, output, top_view
from numalet.cli.agent_client import AgentChoice
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


@pytest.mark.parametrize(
    ("standing", "how"),
    [
        (OwnershipMode.ENFORCING, "Give one to the agent with 'numalet apply -f FILE'."),
        (OwnershipMode.OBSERVING, "They come from the kubelet of this node"),
        (OwnershipMode.PINNING, "They come from the kubelet of this node"),
        (OwnershipMode.AUDITING, "They come from the kubelet of this node"),
    ],
)
def test_without_pods_it_says_how_pods_come(
    standing: OwnershipMode, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(output, "say", said.append)
    listed = {"items": [], "metadata": {"resourceVersion": "1"}}
    state: dict[str, Any] = {"standing": standing.value, "leftBehind": []}
    answers: dict[str, Any] = {"podplacements": listed, "nodestates": {"items": [state]}}

    def get(path: str) -> Any:
        return answers[path.rpartition("/")[2]]

    monkeypatch.setattr(AgentChoice, "client", lambda self: nullcontext(SimpleNamespace(get=get)))
    assert main.run(["ps"]) == 0
    (line,) = said
    assert line.startswith(f"No pods. {how}")
