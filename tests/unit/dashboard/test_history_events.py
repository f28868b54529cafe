"""The history: what happened to pods, amounts by resource, and the page of both."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import httpx
from starlette.applications import Starlette

from numalet.core.model.pod import Pod
from numalet.core.snapshot.placement import Placement
from numalet.core.workload.run import Exit, ExitReason
from numalet.dashboard import history_pages, history_points, node_views, why
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import (
    ELSEWHERE,
    Happened,
    HistoryEvent,
    HistoryPoint,
    NodeView,
    PodRow,
)
from running.dashboards import ChangingNode
from values import node_charts, shown_nodes
from values.shown_nodes import AT as _AT


def _view(*rows: PodRow) -> NodeView:
    config, node = shown_nodes.started()
    return replace(shown_nodes.view_of(config, node, []), rows=rows)


def _point(seconds: float) -> HistoryPoint:
    return HistoryPoint(_AT + timedelta(seconds=seconds), 0, {}, {}, {}, 0)


def _client(points: Sequence[HistoryPoint], *rows: PodRow) -> httpx.AsyncClient:
    source = ChangingNode(_view(*rows))
    source.keep(points)
    shown = ShownSources(node=source, fleet=None, clock=lambda: _AT + timedelta(minutes=30))
    app = Starlette(routes=list(history_pages.routes(shown)))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://dashboard")


def _exit(seconds: float, code: int = 3, reason: ExitReason = ExitReason.ERROR) -> Exit:
    return Exit(code=code, reason=reason, finished_at=_AT + timedelta(seconds=seconds))


def _row(
    name: str, status: str, restarts: int = 0, last: Exit | None = None, began: float | None = None
) -> PodRow:
    started_at = None if began is None else _AT + timedelta(seconds=began)
    container = node_views.container(
        "app", Placement(frozenset(), (), {}), "", restarts, last, started_at
    )
    return PodRow(pod=Pod(uid=name, name=name), status=status, containers=(container,))


def _happened(before: NodeView, after: NodeView) -> list[tuple[str, str, str]]:
    events = history_points.point(before, after, _AT).events
    return [(each.what.value, each.pod, each.words) for each in events]


def test_an_event_says_what_became_of_a_pod() -> None:
    refused = PodRow(
        pod=Pod(uid="c", name="c"), status="Rejected", reason="Odd", message="m", why="why"
    )
    before = _view(
        _row("crashes", "Running"), _row("again", "CrashLoopBackOff", 1), _row("job", "Running"),
        _row("gone", "Running"), _row("still", "Error"),
        replace(refused, pod=Pod(uid="x", name="x")),
    )  # fmt: skip
    after = _view(
        _row("crashes", "CrashLoopBackOff", last=_exit(-9)),
        _row("again", "Running", 2, _exit(-9)),
        _row("job", "Completed"),
        _row("still", "CrashLoopBackOff"),
        _row("new", "Running", 5),
        refused,
    )
    assert _happened(before, after) == [
        ("crashed", "default/crashes", "app: exit code 3, Error"),
        ("crashed", "default/again", "app: exit code 3, Error"),
        ("restarted", "default/again", "app: after a crash; 2 restarts"),
        ("ended", "default/job", "Completed"),
        ("admitted", "default/new", ""),
        ("rejected", "default/c", "Odd: why"),
        ("removed", "default/gone", ""),
    ]
    assert _happened(after, after) == []


def test_a_pod_that_is_tried_again_is_admitted_and_one_that_crashes_at_once_has_crashed() -> None:
    refused = replace(_row("a", "Rejected"), reason="Odd", message="m")
    assert _happened(_view(refused), _view(_row("a", "Error"))) == [
        ("admitted", "default/a", ""), ("crashed", "default/a", "Error"),
    ]  # fmt: skip
    assert _happened(_view(_row("a", "Running")), _view(refused)) == [
        ("rejected", "default/a", "Odd: m")
    ]
    assert _happened(_view(_row("a", "Running")), _view(_row("a", "Running", 1))) == [
        ("restarted", "default/a", "app: has ended; 1 restart")
    ]


def _timed(before: NodeView, after: NodeView) -> list[tuple[float, str, str]]:
    events = history_points.point(before, after, _AT + timedelta(seconds=60)).events
    return [((each.at - _AT).total_seconds(), each.what.value, each.words) for each in events]


def test_a_crash_that_no_view_showed_has_its_own_time_and_exit_code() -> None:
    before, old = _view(_row("a", "Running", 1, _exit(-5))), _row("a", "Running", 1, _exit(-5))
    after = _view(_row("a", "Running", 3, _exit(7.25), began=7.5))
    assert _timed(before, after) == [
        (7.25, "crashed", "app: exit code 3, Error"),
        (7.5, "restarted", "app: after a crash; 3 restarts"),
    ]
    assert _timed(before, _view(old)) == []
    # A view that was made between the crash and its record is no reason to lose the crash.
    late = _row("a", "Running", 2, _exit(-0.01), began=1)
    assert _timed(before, _view(late)) == [
        (60, "crashed", "app: exit code 3, Error"),
        (1, "restarted", "app: after a crash; 2 restarts"),
    ]
    # A container that waits to be started again has no start but that of the attempt that ended.
    waits = replace(_exit(7), started_at=_AT + timedelta(seconds=2))
    assert _timed(before, _view(_row("a", "CrashLoopBackOff", 2, waits))) == [
        (7, "crashed", "app: exit code 3, Error"),
        (2, "restarted", "app: after a crash; 2 restarts"),
    ]
    # What has completed did not crash.
    done = _exit(9, 0, ExitReason.COMPLETED)
    assert _timed(before, _view(_row("a", "Running", 2, done, began=9))) == [
        (9, "restarted", "app: exit code 0, Completed; 2 restarts")
    ]
    assert _timed(before, _view(_row("a", "Completed", 1, done))) == [
        (9, "ended", "Completed; app: exit code 0, Completed")
    ]


def test_a_pod_that_came_and_crashed_between_two_views_says_both_when_they_were() -> None:
    came = replace(_row("a", "Running", 1, _exit(4), 5), created_at=_AT + timedelta(seconds=3))
    refused = PodRow(
        pod=Pod(uid="r", name="r"), status="Rejected", reason="Odd", message="m",
        created_at=_AT + timedelta(seconds=2),
    )  # fmt: skip
    assert _timed(_view(), _view(came, refused)) == [
        (3, "admitted", ""),
        (4, "crashed", "app: exit code 3, Error"),
        (5, "restarted", "app: after a crash; 1 restart"),
        (2, "rejected", "Odd: m"),
    ]
    # A pod that the server of the dashboard finds at its start has a past that is not news.
    old = replace(_row("a", "Running", 1, _exit(-4), -3), created_at=_AT - timedelta(days=1))
    assert _timed(_view(), _view(old)) == [(60, "admitted", "")]


def test_a_point_has_cpus_memory_and_devices() -> None:
    config, node = shown_nodes.started()
    empty = shown_nodes.view_of(config, node, [])
    view = shown_nodes.view_of(config, node, [shown_nodes.guaranteed("web", 4, 2**30)])
    made = history_points.point(empty, view, _AT)
    assert (made.used[0, "cpu"], made.free[0, "cpu"]) == (4000, 11000)
    assert (made.used[0, "memory"], made.free[1, "memory"]) == (2**30, 32 * 2**30)
    assert made.events[0].words.startswith("CPUs ")
    devices = history_points.point(view, replace(view, chart=node_charts.held()), _AT)
    gpus = {key: (devices.used[key], devices.free[key]) for key in devices.used if "gpu" in key[1]}
    assert gpus == {(0, "nvidia.com/gpu"): (1, 1), (1, "nvidia.com/gpu"): (0, 1)}
    assert devices.free[ELSEWHERE, "example.com/nic"] == 2


async def test_the_page_lists_events_the_last_first_with_a_link_where_the_pod_is() -> None:
    pods = ("default/here", "default/gone", "unknown pod 42db31cc")
    points = [
        replace(_point(at), events=(HistoryEvent(_point(at).at, Happened.REJECTED, pod, "Odd: x"),))
        for at, pod in enumerate(pods)
    ]
    async with _client(points, _row("here", "Running")) as client:
        text = (await client.get("/history")).text
    assert re.findall(r'<tr data-key="[^"]*" data-at="([0-9.]+)">', text) == [
        str((_AT + timedelta(seconds=at)).timestamp()) for at in (2, 1, 0)
    ]
    assert re.findall(r'<a href="(/pods/[^"]*)"', text) == ["/pods/default/here"]
    assert "<span>2026-01-01</span> <span>12:00:02 (UTC)" in text
    assert "Odd: x" in text


async def test_many_figures_are_summed_over_the_numa_nodes_and_equal_ones_are_one_step() -> None:
    used = {(node, name): 1000 for node in range(8) for name in ("cpu", "memory")}
    points = [replace(_point(60 * at), used=used, free=used) for at in range(4)]
    points.append(replace(points[0], at=_AT + timedelta(minutes=20), used={}))
    points[1] = replace(points[1], used={})
    async with _client([replace(each, misplaced_bytes=0) for each in points]) as client:
        text = (await client.get("/history")).text
    steps = dict(re.findall(r'data-series="([^"]*)" data-steps="([^"]*)"', text))
    assert [*steps] == ["CPUs", "memory"]
    start = int(_AT.timestamp())
    assert steps["CPUs"] == (
        f"{start} 8 of 8;{start + 60} not known;{start + 120} 8 of 8;{start + 360} not known"
    )


def _asked(*pods: Pod) -> NodeView:
    """The view after these pods asked for admission, one each second."""
    view = shown_nodes.view_of(*shown_nodes.started("single-numa-node"), pods)
    rows = (
        replace(row, created_at=_AT + timedelta(seconds=at)) for at, row in enumerate(view.rows)
    )
    return replace(view, rows=tuple(rows))


def _causes(before: NodeView, after: NodeView) -> list[str]:
    return [row.cause for row in why.with_causes(before, after).rows]


def test_a_new_refusal_says_what_was_needed_where_that_is_still_known() -> None:
    first, large = (
        shown_nodes.guaranteed("a", 10, 1 << 30),
        shown_nodes.guaranteed("b", 20, 1 << 30),
    )
    last = shown_nodes.guaranteed("c", 4, 1 << 30)
    held, refused, both = _asked(first), _asked(first, large), _asked(first, large, last)
    cause = "app needs 20 CPUs on one NUMA node; the best node has 16 free (node 1)"
    assert _causes(held, refused)[1].startswith(cause)
    assert _causes(_asked(), refused)[1].startswith(cause)
    assert _happened(held, why.with_causes(held, refused))[0][2].startswith(
        f"TopologyAffinityError: {cause}"
    )
    # It is not new; a pod was admitted later; the pod that left the CPUs was there when it asked.
    assert _causes(refused, refused)[1] == ""
    assert _causes(held, both)[1] == ""
    assert _causes(_asked(last), refused)[1] == ""
    # Nobody knows when the pods were decided on.
    untimed = replace(refused, rows=tuple(replace(row, created_at=None) for row in refused.rows))
    assert _causes(held, untimed)[1] == _causes(_asked(), untimed)[1] == ""
