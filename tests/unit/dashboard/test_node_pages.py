"""The first screen, the table of pods and the page of a pod, over values."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from numalet.core.model.pod import ContainerKey
from numalet.core.workload.run import Exit, ExitReason
from numalet.dashboard import pod_pages
from numalet.dashboard.application import application, served
from numalet.dashboard.sources import Level, NodeView, Note
from values import shown_nodes
from values.shown_nodes import AT, GIB, SCRIPT, Shown, guaranteed


def _view() -> NodeView:
    """Two pods on the NUMA nodes, a third that no NUMA node has room for, and a script."""
    config, node = shown_nodes.started()
    pods = [
        guaranteed("web-0", 12, 8 * GIB),
        guaranteed("web-1", 6, 4 * GIB, "team"),
        guaranteed("big", 12, 4 * GIB, "team"),
    ]
    return shown_nodes.view_of(config, node, pods)


def _client(source: Shown) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application(source, clock=lambda: AT))
    return httpx.AsyncClient(transport=transport, base_url="http://dashboard")


def _rows(text: str) -> list[str]:
    return re.findall(r'<tr id="pod-uid-([^"]+)"', text)


async def test_the_first_screen_answers_in_its_order() -> None:
    async with _client(Shown(_view())) as client:
        text = (await client.get("/")).text
    headings = [
        text.index(f'<h2 id="{name}">') for name in ("room", "holders", "healthy", "rejected")
    ]
    assert [text.index('<ul class="strip">'), *headings] == sorted(
        [text.index('<ul class="strip">'), *headings]
    )
    assert "Something needs attention." in text
    assert "Do this." in text
    assert "NUMA node 1 has the most room" in text
    assert "The largest pod that fits on one NUMA node: 10 CPUs" in text
    assert 'href="/pods/team/big"' in text
    assert "TopologyAffinityError" in text
    # What is short, with figures, in place of what the policy says.
    assert "<strong>cpu:" in text or "CPUs short" in text
    assert "topology policy" not in text[text.index('<h2 id="rejected">') :]


async def test_the_first_screen_says_what_is_short_now_and_what_would_be_admitted() -> None:
    view = _view()
    source = Shown(view)
    async with _client(source) as client:
        before = (await client.get("/")).text
        source.show(replace(view, node=view.node.remove("uid-web-0").release_stale()))
        after = (await client.get("/")).text
    assert "2 CPUs short" in before
    assert "would admit this pod now" not in before
    assert "2 CPUs short" not in after
    assert "would admit this pod now" in after


async def test_a_pod_that_runs_has_the_hints_of_its_decision() -> None:
    async with _client(Shown(_view())) as client:
        text = (await client.get("/pods/team/web-1")).text
        table = (await client.get("/pods")).text
    assert "Why is it there?" in text
    assert "Where app could go" in text
    assert "What would have admitted it" not in text
    assert "shared" not in table


async def test_the_head_says_whose_page_it_is_and_which_pages_there_are() -> None:
    async with _client(Shown(_view())) as client:
        text = (await client.get("/pods")).text
    assert "policy restricted, scope container" in text
    assert "kubelet v1.3" in text
    assert "simulated" in text
    assert 'href="/pods" aria-current="page"' in text
    assert re.findall(r'<li><a href="(/[^"]*)"', text)[:3] == ["/", "/node", "/pods"]
    assert text.index("Skip to the content") < text.index("<header")


async def test_health_is_said_in_one_line() -> None:
    view = _view()
    calm = replace(view, rows=view.rows[:2])
    crashing = (
        replace(view.rows[0], status="CrashLoopBackOff"), replace(view.rows[1], status="Init:0/1")
    )  # fmt: skip
    for changed, words in (
        (replace(calm, notes=()), "The node is ready, and nothing needs attention."),
        (view, "The node is ready; 1 pod rejected, 1 note below."),
        (replace(view, notes=()), "warning</span> The node is ready; 1 pod rejected."),
        (replace(calm, rows=crashing), "1 pod crashed or failed, 1 pod waiting, 1 note below."),
        (replace(view, is_ready=False), "The node is not ready to admit pods; 1 note below."),
        (
            replace(view, notes=(*view.notes, Note(Level.BAD, "a/b", "Broken."))),
            "The node is ready; 1 pod rejected, 2 notes below.",
        ),
    ):
        async with _client(Shown(changed)) as client:
            assert words in (await client.get("/")).text


async def test_a_pod_that_crashes_is_on_the_first_screen_with_its_exit_code() -> None:
    view = _view()
    row = view.rows[0]
    (container,) = row.containers
    end = Exit(code=3, reason=ExitReason.ERROR, finished_at=view.at)
    ended = replace(container, last_exit=end, restarts=4)
    rows = (replace(row, status="CrashLoopBackOff", containers=(ended,)), *[
        replace(view.rows[1], status="Pending", pod=replace(row.pod, uid=f"u{at}"))
        for at in range(5)
    ])  # fmt: skip
    async with _client(Shown(replace(view, rows=rows))) as client:
        text = (await client.get("/")).text
        assert text.index("CrashLoopBackOff") < text.index("Pending")
        assert "app: exit code 3, Error, 4 restarts" in text
        assert "All 6 that do not run" in text
        listed = (await client.get("/pods?sort=trouble")).text
        assert '<option value="CrashLoopBackOff">' in listed
        page = await client.get(f"/pods/{row.pod.namespace}/{row.pod.name}")
        assert "CrashLoopBackOff" in (await client.get("/pods?status=CrashLoopBackOff")).text
    assert page.status_code == 200


@pytest.mark.parametrize(
    ("status", "level"),
    [
        ("Running", Level.GOOD), ("Terminating", Level.GOOD), ("Pending", Level.WARNING),
        ("Init:1/2", Level.WARNING), ("Init:Error", Level.BAD), ("Rejected", Level.BAD),
        ("ExitCode:3", Level.BAD),
    ],
)  # fmt: skip
def test_the_level_of_a_pod_is_that_of_its_status(status: str, level: Level) -> None:
    assert replace(_view().rows[0], status=status).level is level


async def test_a_pod_of_state_files_alone_has_no_namespace() -> None:
    view = _view()
    lost = replace(view.rows[0].pod, uid="42db31cc-1", name="42db31cc-1", namespace="")
    async with _client(Shown(replace(view, rows=(replace(view.rows[0], pod=lost),)))) as client:
        listed = (await client.get("/pods")).text
        assert 'href="/pods/-/42db31cc-1">unknown pod 42db31cc</a>' in listed
        assert "<h1" in (await client.get("/pods/-/42db31cc-1")).text


async def test_columns_that_no_pod_fills_are_left_out() -> None:
    view = _view()
    bare = [
        replace(row, created_at=None, containers=tuple(
            replace(each, restarts=None, actual_bytes=None) for each in row.containers
        ))
        for row in view.rows
    ]  # fmt: skip
    async with _client(Shown(replace(view, rows=tuple(bare)))) as client:
        text = (await client.get("/pods")).text
        pod = (await client.get("/pods/default/web-0")).text
    for name in ("Actual", "Misplaced", "Restarts", "Age"):
        assert name not in text.partition("<thead>")[2].partition("</thead>")[0]
    assert "Not as promised" not in pod


async def test_the_table_is_filtered_and_sorted_by_its_address() -> None:
    async with _client(Shown(_view())) as client:

        async def rows(query: str) -> list[str]:
            return _rows((await client.get(f"/pods?{query}")).text)

        assert await rows("") == ["web-0", "web-1", "big"]
        assert await rows("text=WEB") == ["web-0", "web-1"]
        assert await rows("namespace=team") == ["web-1", "big"]
        assert await rows("status=Rejected") == ["big"]
        assert await rows("node=1") == ["web-1"]
        assert await rows("qos=Burstable") == []
        assert await rows("sort=cpus") == ["big", "web-1", "web-0"]
        assert await rows("sort=cpus&order=down") == ["web-0", "web-1", "big"]
        assert await rows("sort=no-such-column") == ["web-0", "web-1", "big"]


async def test_a_sorted_column_says_so_and_turns_round() -> None:
    async with _client(Shown(_view())) as client:
        up = (await client.get("/pods?text=web&sort=age")).text
        down = (await client.get("/pods?text=web&sort=age&order=down")).text
    assert (
        'aria-sort="ascending" class="number"><a href="?text=web&amp;sort=age&amp;order=down"' in up
    )
    assert 'aria-sort="descending" class="number"><a href="?text=web&amp;sort=age"' in down


async def test_text_of_others_is_never_markup(tmp_path: Path) -> None:
    view = _view()
    rows = [
        replace(row, pod=replace(row.pod, name="<script>alert(1)"), why=SCRIPT, reason=SCRIPT)
        for row in view.rows[-1:]
    ]
    source = Shown(replace(view, title=SCRIPT, rows=(view.rows[0], *rows)))
    log = tmp_path / "log"
    log.write_text(SCRIPT)
    source.logs[ContainerKey("uid-web-0", "app")] = log
    async with _client(source) as client:
        for path in (
            "/",
            "/node",
            f"/pods?text={SCRIPT}&sort={SCRIPT}",
            "/pods",
            "/pods/default/web-0",
            "/pods/team/%3Cscript%3Ealert%281%29",
        ):
            answer = await client.get(path)
            assert "<script>" not in answer.text, path
            assert "alert(1)" in answer.text, path


async def test_the_page_of_a_pod_that_runs(tmp_path: Path) -> None:
    source = Shown(_view())
    log = tmp_path / "log"
    log.write_text("first\nlast\n")
    source.logs[ContainerKey("uid-web-1", "app")] = log
    async with _client(source) as client:
        text = (await client.get("/pods/team/web-1")).text
        events = (await client.get("/pods/default/web-0")).text
    assert "4Gi" in text
    assert "1Gi misplaced" in text
    assert 'data-show-pod="uid-web-1"' in text
    assert "first\nlast" in text
    assert "Failed" in events
    assert "Failed" not in text


async def test_a_rejected_pod_has_its_reason_and_ways_out_that_can_be_seen() -> None:
    async with _client(Shown(_view())) as client:
        text = (await client.get("/pods/team/big")).text
        assert "TopologyAffinityError" in text
        # First what is short, with figures; and who has it.
        said = text[text.index('<h2 id="why">') :]
        assert said.index("2 CPUs short") < said.index("topology policy")
        holders = said[said.index('id="in-the-way"') :]
        assert "default/web-0" in holders
        assert "team/web-1" in holders
        assert "NUMA 0 · 12 CPUs · 8Gi" in holders
        # The hints are drawn, and the merge with them.
        assert text.count("<svg") == 2
        assert "Where app could go" in text
        ways = re.findall(r'href="(/pods/team/big/ways-out/\d+)"', text)
        assert ways
        assert "delete default/web-0 first" in text
        # The pods that run stay where they are: no NUMA node has 12 CPUs left.
        assert "single-numa-node" not in text
        assert "topology policy best-effort, scope container" in text
        for way in ways:
            answer = await client.get(way)
            assert answer.status_code == 200, way
            assert 'data-pod="uid-big"' in answer.text
        assert (await client.get(f"/pods/team/big/ways-out/{len(ways) + 1}")).status_code == 404
        assert (await client.get("/pods/team/big/ways-out/0")).status_code == 404
        assert (await client.get("/pods/team/web-1/ways-out/1")).status_code == 404


async def test_a_rejected_pod_for_which_there_is_room_now() -> None:
    view = _view()
    source = Shown(view)
    async with _client(source) as client:
        assert "would admit this pod now" not in (await client.get("/pods/team/big")).text
        source.show(replace(view, node=view.node.remove("uid-web-0").release_stale()))
        assert "would admit this pod now" in (await client.get("/pods/team/big")).text


async def test_a_pod_that_is_not_there() -> None:
    async with _client(Shown(_view())) as client:
        assert (await client.get("/pods/team/other")).status_code == 404
        assert (await client.get("/pods/team/other/ways-out/1")).status_code == 404


async def test_numa_nodes_are_opened_by_the_address() -> None:
    config, node = shown_nodes.started(shape="4n80c2t")
    async with _client(Shown(shown_nodes.view_of(config, node, []))) as client:
        closed = (await client.get("/node")).text
        opened = (await client.get("/node?open=3,x,-1,99")).text
    assert 'data-cpu="' not in closed
    assert opened.count('data-cpu="') == 160


async def test_the_entrance_says_nothing_of_the_node() -> None:
    app = served(Shown(replace(_view(), title="secret-name"))).app
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        answer = await client.get("/pods")
    assert answer.status_code == 401
    assert "secret-name" not in answer.text


async def test_an_empty_node() -> None:
    config, node = shown_nodes.started()
    async with _client(Shown(shown_nodes.view_of(config, node, []))) as client:
        assert "No pod holds" in (await client.get("/")).text
        assert "There are no pods on this node." in (await client.get("/pods")).text
        assert "None yet" in (await client.get("/node")).text


async def test_of_many_numa_nodes_those_with_most_room_come_first() -> None:
    # One CPU of node 0 is reserved.
    config, node = shown_nodes.started("none", "12n4c1t")
    async with _client(Shown(shown_nodes.view_of(config, node, []))) as client:
        text = (await client.get("/")).text
    first, _, others = text.partition('<details id="other-rooms">')
    assert re.findall(r'<g id="room-(\d+)"', first) == [str(at) for at in range(1, 9)]
    assert re.findall(r'<g id="others-(\d+)"', others) == ["0", "9", "10", "11"]
    assert "4 more" in others


async def test_the_nodes_of_a_memory_group_say_that_no_pod_gets_memory_of_one_alone() -> None:
    config, node = shown_nodes.started("best-effort", "3n8c2t")
    wide = [guaranteed("wide", 2, 40 * GIB)]
    async with _client(Shown(shown_nodes.view_of(config, node, wide))) as client:
        text = (await client.get("/")).text
    assert text.count(">one group with ") == 2
    assert "NUMA node 2 has the most room" in text
    assert "of one of them alone" not in text


async def test_where_all_nodes_are_of_a_memory_group_the_one_with_most_room_says_so() -> None:
    config, node = shown_nodes.started("best-effort")
    wide = [guaranteed("wide", 2, 40 * GIB)]
    async with _client(Shown(shown_nodes.view_of(config, node, wide))) as client:
        text = (await client.get("/")).text
    assert "no pod gets memory of one of them alone" in text


async def test_the_drawing_of_a_node_can_be_narrow_and_stays_so_where_nodes_are_opened() -> None:
    config, node = shown_nodes.started(shape="4n80c2t")
    async with _client(Shown(shown_nodes.view_of(config, node, []))) as client:
        wide = (await client.get("/node?open=3")).text
        narrow = (await client.get("/node?open=3&width=narrow")).text
    assert 'href="?open=3&amp;width=narrow"' in wide
    assert 'href="?open=3&amp;width=wide"' in narrow
    assert 'viewBox="-1 -1 366 ' in narrow
    links = re.findall(r'<a [^>]*href="(\?open=[^"]*)"', narrow[narrow.index("<svg") :])
    assert links
    assert [each for each in links if not each.endswith("&amp;width=narrow")] == []


def test_a_thousand_pods_are_lines() -> None:
    view = _view()
    row = view.rows[0]
    many = tuple(
        replace(row, pod=replace(row.pod, uid=f"uid-{at}", name=f"p{at:04}")) for at in range(1000)
    )
    table = pod_pages.pod_table(
        replace(view, rows=many), pod_pages.Filter(sort="pod", order="down"), AT
    )
    assert [table.lines[0].row.pod.name, table.lines[-1].row.pod.name] == ["p0999", "p0000"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59, "59s"), (60, "1m"), (7200, "2h"), (86_400 * 3, "3d")]
)
def test_an_age_is_in_its_largest_unit(seconds: int, text: str) -> None:
    assert pod_pages.age(timedelta(seconds=seconds).total_seconds()) == text


def test_the_end_of_a_log_is_bounded(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"line %d \xff\n" % at for at in range(20_000)))
    text = pod_pages.log_tail(log)
    assert text is not None
    assert text.endswith("line 19999 \ufffd\n")
    assert len(text.splitlines()) == pod_pages.MOST_LOG_LINES
    assert pod_pages.log_tail(tmp_path / "none") is None


def test_the_head_of_a_line_of_a_log_is_its_time_and_no_format(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "2026-01-01T13:30:05.123456789+01:00 stdout F ready\n"
        "2026-01-01T12:30:06.1Z stderr P failed\n"
        "2026-99-99T12:30:06Z stdout F no time\nplain\n"
    )
    assert pod_pages.log_tail(log) == (
        "12:30:05 ready\n12:30:06 stderr: failed\n2026-99-99T12:30:06Z stdout F no time\nplain\n"
    )


async def test_a_cpu_is_found_by_the_address_of_the_drawing() -> None:
    async with _client(Shown(_view())) as client:
        text = (await client.get("/node?find=CPU+2&colours=namespace&open=1&width=narrow")).text
        plain = (await client.get("/node?colours=unknown")).text
    assert '<p role="status" id="found">CPU 2 is on NUMA node ' in text
    assert text.count('class="found"') == 1
    assert 'value="CPU 2"' in text
    assert '<option value="namespace" selected>' in text
    assert "?find=CPU+2&amp;colours=namespace&amp;open=1&amp;width=wide" in text
    assert 'class="found"' not in plain
    assert '<option value="pod" selected>' in plain


async def test_a_bar_is_hatched_for_what_is_reserved_and_filled_for_what_is_used() -> None:
    async with _client(Shown(_view())) as client:
        text = (await client.get("/")).text
    bars = re.findall(
        r'aria-label="([^"]*)"><span class="kept" style="width:[0-9.]+%"></span>'
        r'<span class="used" style="width:([0-9.]+)%"',
        text,
    )
    assert dict(bars)["CPUs: 13 of 31 free"] == "56.2"
    assert dict(bars)["Memory: 51Gi of 63Gi free"] == "18.8"
    # The legend has one of each, and words beside it.
    assert [wide for words, wide in bars if words in ("hatched", "filled", "empty")] == [
        "0.0", "100.0", "0.0",
    ]  # fmt: skip
    assert "<meter" not in text


async def test_the_pods_that_hold_most_have_the_letters_of_the_drawing() -> None:
    view = _view()
    config, node = shown_nodes.started(shape="2n40c1t")
    many = [guaranteed(f"pod-{at:02}", 1, GIB) for at in range(41)]
    async with _client(Shown(view)) as client:
        text = (await client.get("/")).text
        narrow = (await client.get("/?width=narrow")).text
    async with _client(Shown(shown_nodes.view_of(config, node, many))) as client:
        crowded = (await client.get("/")).text
    chips = re.findall(r'<li id="holder-uid-([^"]*)".*?color:var\(--on-hue-(\d)\)">(\w)<', text)
    assert chips == [("web-0", "1", "A"), ("web-1", "2", "B")]
    assert "NUMA 0 · CPUs " in text
    assert 'class="letter on-hue-1"' in text
    assert 'viewBox="-1 -1 366 ' in narrow
    assert "These are the 40 that hold most." in crowded
    assert "All 41 pods" in crowded
