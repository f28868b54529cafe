"""The history: points, the file they are kept in, what goes wrong with it, and the page."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

import numalet
from numalet.core.config.kubelet_config import KubeletConfig, ReservedMemory
from numalet.core.model.pod import ContainerKey, Pod
from numalet.core.model.quantity import Quantity
from numalet.core.node.node import Node
from numalet.dashboard import history_pages, history_points
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.history import SCHEMA, NodeHistory
from numalet.dashboard.remembering import RememberingNode, remembering
from numalet.dashboard.sources import (
    Happened,
    HistoryEvent,
    HistoryPoint,
    NodeView,
    PodRow,
    SourceKind,
)
from numalet.insight.maps import node_map
from numalet.insight.maps.node_map import Unheld

_AT = datetime(2026, 1, 1, 12, tzinfo=UTC)
_LIMIT_SECONDS = 60


def _point(seconds: float, admitted: int = 0, **refused: int) -> HistoryPoint:
    return HistoryPoint(
        at=_AT + timedelta(seconds=seconds),
        admitted=admitted,
        rejected_by_reason=refused,
        used={(0, "memory"): 2**30, (1, "hugepages-2Mi"): 0},
        free={(0, "memory"): 2**31, (1, "hugepages-2Mi"): 2**21},
        misplaced_bytes=4096,
    )


def _view(*rows: PodRow) -> NodeView:
    config = KubeletConfig(
        memory_manager_policy="Static",
        kube_reserved={"memory": "1Gi"},
        eviction_hard={},
        reserved_memory=(ReservedMemory(0, {"memory": Quantity.parse("1Gi")}),),
    )
    node = numalet.start_node(config, numalet.open_machine("2n4c2t", memory_per_node="8Gi"))
    assert isinstance(node, Node)
    return NodeView(
        title="node", kind=SourceKind.SIMULATED, revision=1, at=_AT, node=node, config=config,
        chart=node_map.of_node(node, "node"), rows=rows,
    )  # fmt: skip


class _ChangingNode:
    """A source whose view is set by the test."""

    def __init__(self) -> None:
        self.shown = _view()
        self.kept: Sequence[HistoryPoint] = ()
        self.event = asyncio.Event()

    def view(self) -> NodeView:
        return self.shown

    async def changed(self) -> None:
        await self.event.wait()

    def change(self, view: NodeView) -> None:
        self.shown, waited_for, self.event = view, self.event, asyncio.Event()
        waited_for.set()

    def history(self) -> Sequence[HistoryPoint]:
        return self.kept

    def log_path(self, key: ContainerKey) -> Path | None:
        return None


def test_a_point_counts_what_the_view_before_had_not() -> None:
    old = PodRow(pod=Pod(uid="a", name="a"), status="Running")
    new = PodRow(pod=Pod(uid="b", name="b"), status="Pending")
    refused = PodRow(pod=Pod(uid="c", name="c"), status="Rejected", reason="UnexpectedAdmission")
    before, after = _view(old), _view(old, new, refused)
    made = history_points.point(before, after, _AT)
    assert (made.admitted, made.rejected_by_reason) == (1, {"UnexpectedAdmission": 1})
    assert set(made.free) == {(0, "memory"), (1, "memory")}
    still = history_points.point(after, after, _AT)
    assert history_points.differs(still, made)
    assert not history_points.differs(made, still)


def test_points_come_back_from_their_text() -> None:
    event = HistoryEvent(_AT, Happened.REJECTED, "ns/pod", "Odd: why")
    made = replace(_point(0, 2, TopologyAffinityError=3), events=(event,))
    text = history_points.written(made)
    assert history_points.read(made.at, text) == made
    # Points of earlier versions.
    assert history_points.read(made.at, text.replace('"rejected"', '"refused"')) == made
    figures = json.loads(text)
    del figures["events"]
    assert history_points.read(made.at, json.dumps(figures)) == replace(made, events=())
    for text in ("", "[]", "{}", '{"admitted": 1, "refused": 2}'):
        with pytest.raises(ValueError, match="no point"):
            history_points.read(_AT, text)


def test_old_points_are_thinned_and_lose_no_count() -> None:
    points = [_point(10 * at, 1, Odd=1) for at in range(60)]
    kept = history_points.thinned(points, _AT + timedelta(hours=3))
    assert len(kept) == 10
    event = HistoryEvent(_AT, Happened.ENDED, "ns/pod")
    both = [replace(each, events=(event,)) for each in points[:2]]
    assert history_points.thinned(both, _AT + timedelta(hours=3))[0].events == (event, event)
    assert sum(each.admitted for each in kept) == 60
    assert history_points.sums(kept) == {"Odd": 60}
    assert kept[-1].at == points[-1].at
    assert history_points.thinned(points, _AT + timedelta(hours=1)) == points
    assert history_points.thinned(points, _AT + timedelta(days=3)) == []


def test_the_file_is_private_and_survives(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    first = NodeHistory(path)
    first.open()
    for at in range(5):
        first.add(_point(at, at))
    first.add(_point(2))  # A clock that went back.
    first.close()
    assert path.stat().st_mode & 0o777 == 0o600
    second = NodeHistory(path)
    second.open()
    assert second.points() == first.points()
    assert [each.admitted for each in second.points()] == [0, 1, 2, 3, 4]
    second.add(_point(3 * 3600))
    second.close()


def test_in_memory() -> None:
    kept = NodeHistory(None)
    kept.open()
    kept.add(_point(0))
    assert list(kept.points()) == [_point(0)]
    kept.close()


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "history.sqlite"
    path.write_bytes(content)
    kept = NodeHistory(path)
    kept.open()
    kept.add(_point(0))
    assert (kept.problem, len(kept.points())) == ("", 1)
    assert kept.set_aside is not None
    assert Path(kept.set_aside.path).read_bytes() == content
    kept.close()


def test_a_file_of_another_schema_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    base = sqlite3.connect(path)
    base.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    base.close()
    kept = NodeHistory(path)
    kept.open()
    assert kept.set_aside is not None
    kept.close()


def test_it_stays_within_its_size(tmp_path: Path) -> None:
    path, most_bytes = tmp_path / "history.sqlite", 64 * 1024
    kept = NodeHistory(path, most_bytes)
    kept.open()
    for at in range(750):
        kept.add(_point(at))
        assert kept.problem == ""
    assert path.stat().st_size <= most_bytes
    assert kept.points()[-1] == _point(749)
    assert len(kept.points()) < 750
    kept.close()


def test_where_nothing_can_be_written_it_says_so_and_goes_on_later(tmp_path: Path) -> None:
    folder = tmp_path / "root"
    kept = NodeHistory(folder / "history.sqlite")
    kept.open()
    kept.add(_point(0))
    assert "unable to open" in kept.problem or "No such file" in kept.problem
    assert list(kept.points()) == []
    folder.mkdir()
    kept.add(_point(1))
    assert (kept.problem, list(kept.points())) == ("", [_point(1)])
    kept.close()


def test_a_second_writer_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    kept = NodeHistory(path)
    kept.open()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    kept.add(_point(0))
    assert "locked" in kept.problem
    other.execute("ROLLBACK")
    other.close()
    kept.add(_point(1))
    assert kept.problem == ""
    kept.close()


_FULL = """
import resource, signal, sys
from pathlib import Path
sys.path[:0] = [{here!r}]
from test_history import NodeHistory, _point
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
kept = NodeHistory(Path({path!r}))
kept.open()
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, hard))
at = 0
while not kept.problem and at < 2_000:
    kept.add(_point(at))
    at += 1
print(bool(kept.problem))
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
kept.add(_point(at + 1))
print(kept.problem == "" and len(kept.points()) > 1)
"""


def _python(program: str, path: Path) -> list[str]:
    here = str(Path(__file__).parent)
    return [sys.executable, "-c", program.format(here=here, path=str(path))]


def test_a_full_disk_stops_the_history_until_there_is_room(tmp_path: Path) -> None:
    done = subprocess.run(
        _python(_FULL, tmp_path / "history.sqlite"),
        capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["True", "True"]


_ENDLESS = """
import itertools, sys
from pathlib import Path
sys.path[:0] = [{here!r}]
from test_history import NodeHistory, _point
kept = NodeHistory(Path({path!r}))
kept.open()
begun = len(kept.points())
for at in itertools.count(begun):
    kept.add(_point(at))
    print(at, kept.problem, flush=True)
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_what_it_had_said(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    for _ in range(5):
        writer = subprocess.Popen(_python(_ENDLESS, path), stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        said = [writer.stdout.readline() for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
        writer.communicate(timeout=_LIMIT_SECONDS)
        kept = NodeHistory(path)
        kept.open()
        assert (kept.set_aside, kept.problem) == (None, "")
        seconds = [(each.at - _AT).total_seconds() for each in kept.points()]
        assert seconds == list(range(len(seconds)))
        assert len(seconds) > int(said[-1].split()[0])
        kept.close()


def test_threads_that_still_write_while_it_is_closed(tmp_path: Path) -> None:
    for round_number in range(20):
        history = NodeHistory(tmp_path / f"{round_number}.sqlite")
        history.open()
        begun = threading.Barrier(3)

        def write(to: NodeHistory = history, begun: threading.Barrier = begun) -> None:
            begun.wait(_LIMIT_SECONDS)
            for seconds in range(200):
                to.add(_point(seconds))

        threads = [threading.Thread(target=write) for _ in range(2)]
        for each in threads:
            each.start()
        begun.wait(_LIMIT_SECONDS)
        history.close()
        kept = history.points()
        for each in threads:
            each.join()
        history.add(_point(1000))
        assert (history.points(), history.problem) == (kept, "")


async def test_a_source_remembers_each_change(tmp_path: Path) -> None:
    source = _ChangingNode()
    seconds = iter(range(10_000))

    def clock() -> datetime:
        return _AT + timedelta(seconds=next(seconds))

    async with (
        asyncio.timeout(_LIMIT_SECONDS),
        remembering(source, tmp_path / "h.sqlite", clock, 0.01, 0.0) as node,
    ):
        refused = PodRow(pod=Pod(uid="c", name="c"), status="Rejected", reason="Odd")
        source.change(_view(refused))
        while not any("Odd" in each.rejected_by_reason for each in node.history()):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert node.view() is source.shown
        assert node.log_path(ContainerKey("c", "c")) is None
        waiting = asyncio.create_task(node.changed())
        await asyncio.sleep(0)
        source.change(_view())
        await waiting


async def test_the_pods_of_a_simulated_node_are_in_its_first_point(tmp_path: Path) -> None:
    source = _ChangingNode()
    refused = PodRow(pod=Pod(uid="c", name="c"), status="Rejected", reason="Odd")
    source.shown = _view(PodRow(pod=Pod(uid="a", name="a"), status="Running"), refused)
    async with (
        asyncio.timeout(_LIMIT_SECONDS),
        remembering(source, tmp_path / "h.sqlite", lambda: _AT, 0.01, 0.0) as node,
    ):
        while not node.history():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        (first,) = node.history()
    assert (first.admitted, first.rejected_by_reason) == (1, {"Odd": 1})
    assert [(each.what.value, each.pod) for each in first.events] == [
        ("began", ""), ("admitted", "default/a"), ("rejected", "default/c"),
    ]  # fmt: skip


def test_a_node_without_the_memory_manager_has_no_amounts_per_numa_node() -> None:
    view = replace(_view(), chart=replace(_view().chart, memory=Unheld.SHARED))
    made = history_points.point(view, view, _AT)
    assert (dict(made.used), dict(made.free)) == ({}, {})


def test_a_history_that_stopped_is_a_note_of_the_view() -> None:
    node = RememberingNode(_ChangingNode(), NodeHistory(None))
    node.kept.problem = "full"
    noted = node.view()
    assert noted.notes[-1].code == "dashboard/history-stopped"
    assert noted.notes[-1].text == "the history is not kept: full"
    assert node.view() is noted


def test_a_file_that_was_set_aside_is_a_note_of_the_view(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    path.write_text("no database" * 1000)
    node = RememberingNode(_ChangingNode(), NodeHistory(path))
    node.kept.open()
    (note,) = node.view().notes
    assert note.code == "dashboard/history-set-aside"
    assert f"{path}.damaged" in note.text
    node.kept.close()


@pytest.mark.parametrize(
    ("at_ms", "figures"),
    [
        (0, '{"admitted": Infinity, "refused": {}, "reserved": {}, "free": {}, "misplaced": 0}'),
        (0, '{"admitted": NaN, "refused": {}, "reserved": {}, "free": {}, "misplaced": 0}'),
        (0, "[" * 100_000),
        (0, "{}"),
        (2**62, '{"admitted": 0, "refused": {}, "reserved": {}, "free": {}, "misplaced": 0}'),
    ],
)
def test_a_point_that_is_none_sets_the_file_aside(tmp_path: Path, at_ms: int, figures: str) -> None:
    path = tmp_path / "history.sqlite"
    kept = NodeHistory(path)
    kept.open()
    kept.close()
    base = sqlite3.connect(path, isolation_level=None)
    base.execute("INSERT INTO points VALUES (?, ?)", (at_ms, figures))
    base.close()
    again = NodeHistory(path)
    again.open()
    assert (again.set_aside is not None, again.problem, list(again.points())) == (True, "", [])
    again.close()


async def test_a_bug_in_the_history_ends_nothing_else(tmp_path: Path) -> None:
    source, bugs = _ChangingNode(), list[Exception]()
    broken = True

    def clock() -> datetime:
        if broken:
            raise RuntimeError("odd")
        return _AT

    async with (
        asyncio.timeout(_LIMIT_SECONDS),
        remembering(source, tmp_path / "h.sqlite", clock, 0.01, 0.0, bugs.append) as node,
    ):
        while not node.kept.problem:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert node.view().notes[-1].code == "dashboard/history-stopped"
        broken = False
        while not node.history():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        assert node.view() is source.shown
    assert [str(each) for each in bugs] == ["odd"]


def _client(points: Sequence[HistoryPoint]) -> httpx.AsyncClient:
    source = _ChangingNode()
    source.kept = points
    shown = ShownSources(
        node=source, fleet=None, clock=lambda: _AT + timedelta(minutes=30), path=""
    )
    app = Starlette(routes=list(history_pages.routes(shown)))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://dashboard")


async def test_the_page_has_charts_and_the_events_of_its_hours() -> None:
    points = [
        replace(each, events=(HistoryEvent(each.at, Happened.ENDED, "ns/pod"),))
        for each in (_point(-7200), _point(0, 2, TopologyAffinityError=1), _point(1500))
    ]
    async with _client(points) as client:
        page = await client.get("/history")
        assert page.text.count("<svg") == 2
        assert "TopologyAffinityError 1" in page.text
        assert "<span>2026-01-01</span> <span>12:25:00 (UTC)" in page.text
        assert "<span>10:00:00 (UTC)" not in page.text
        assert "<span>10:00:00 (UTC)" in (await client.get("/history?hours=6")).text
        assert (await client.get("/history?hours=x")).status_code == 200


@pytest.mark.parametrize(
    ("since_s", "shown_s"), [((-7200, -1800, 0), 3600), ((600, 900), 1200), ((1790,), 300)]
)
async def test_the_charts_of_a_young_server_begin_with_it(
    since_s: Sequence[int], shown_s: int
) -> None:
    points = [*map(_point, since_s)]
    async with _client(points) as client:
        page = (await client.get("/history")).text
    start, end = (int(re.findall(rf'data-{name}="([0-9]+)"', page)[0]) for name in ("start", "end"))
    assert end - start == shown_s


async def test_the_page_without_points_says_so() -> None:
    async with _client(()) as client:
        assert "Nothing was kept in the last hour" in (await client.get("/history")).text
    shown = ShownSources(node=None, fleet=None, clock=lambda: replace(_point(0)).at)
    assert history_pages.routes(shown) == []
