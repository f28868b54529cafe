"""Pages on paper: what is on the screen is there as well, row by row."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page, expect

from numalet.cluster.following import StillFleet
from numalet.core.cluster.cluster import ClusterPod, Controller
from numalet.core.model.pod import ContainerKey
from numalet.dashboard import history_points
from numalet.dashboard.application import application
from running import browsers, dashboards
from running.browsers import Visit
from values import gpu_fleet, shown_nodes
from values.shown_nodes import GIB, guaranteed

_MARGIN: Final = "10mm"


def _printed(page: Page, folder: Path) -> str | None:
    """Check the layout on paper; the text of the PDF where a program reads it."""
    page.emulate_media(media="print")
    assert page.evaluate(browsers.CUT_OFF) == [], page.url
    assert page.evaluate(browsers.BROKEN) == [], page.url
    page.emulate_media(media="null")
    if shutil.which("pdftotext") is None:
        return None
    file = folder / "page.pdf"
    margin: Any = dict.fromkeys(("top", "right", "bottom", "left"), _MARGIN)
    page.pdf(path=file, format="A4", margin=margin)
    command = ["pdftotext", "-layout", str(file), "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_paper_says_when_it_was_printed_and_how_old_its_data_are(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    config, node = shown_nodes.started()
    source = dashboards.ChangingNode(shown_nodes.view_of(config, node, []))
    with dashboards.listening(application(source)) as url:
        opened = visit(viewport=browsers.PAPER)
        opened.expected.append("ERR_")  # The server stops at the end.
        page = opened.page
        page.goto(url)
        expect(page.locator("#live")).to_have_text("live")
        paper = page.locator("#paper")
        expect(paper).to_be_hidden()
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        when = r"\d{4}-\d\d-\d\d [\d:]{8} \(UTC\)"
        expect(paper).to_have_text(re.compile(rf"^As of {when}, live\. Printed {when}\.$"))
        expect(paper).to_be_visible()
        expect(page.locator("#live")).to_be_visible()
    # The server has stopped.
    expect(page.locator("#away")).to_be_visible(timeout=60_000)
    expect(page.locator("#live")).to_have_text(re.compile("stale|not live"))
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(paper).to_have_text(re.compile(rf"^As of {when}, (stale|not live)\. Printed {when}\.$"))
    as_of, printed = re.findall(when, paper.inner_text())
    # To the second, so both may read alike.
    assert as_of <= printed
    gone = page.evaluate("[...document.querySelectorAll('#away')].map(e => e.textContent)")
    assert re.search(r"at [\d:]{8} \(UTC\)|since [\d:]{8} \(UTC\)", gone[0])


def test_ninety_pods_are_ninety_on_paper(visit: Callable[..., Visit], tmp_path: Path) -> None:
    config, node = shown_nodes.started("none", "4n32c1t")
    pods = [guaranteed(f"pod-{number:02}", 1, GIB) for number in range(90)]
    view = shown_nodes.view_of(config, node, pods)
    source = dashboards.ChangingNode(view)
    log = tmp_path / "log"
    log.write_text("".join(f"line {number}\n" for number in range(90)))
    (container,) = pods[0].containers()
    source.log(ContainerKey(pods[0].uid, container.name), log)
    before = replace(view, rows=())
    source.keep([history_points.point(before, view, datetime.now(UTC) - timedelta(minutes=5))])
    page = visit(viewport=browsers.PAPER).page
    with dashboards.listening(application(source)) as url:
        for path, selector in (
            ("/pods", "table.pods tbody tr"),
            ("/history", "tr[data-at]"),
            ("/node", ".list li"),
            ("/pods/default/pod-00", ".log"),
            ("/", "#room"),
        ):
            page.goto(url + path)
            text = _printed(page, tmp_path)
            if path in ("/pods", "/node", "/history"):
                expect(page.locator(selector)).to_have_count(90)
                wanted = [pod.name for pod in pods]
                assert text is None or [name for name in wanted if name not in text] == []
            if path == "/pods" and text is not None:
                sheets = [sheet for sheet in text.split("\f") if "pod-" in sheet]
                assert len(sheets) > 1
                assert [sheet for sheet in sheets if "QoS" not in sheet] == []


def test_a_fleet_of_two_thousand_nodes_is_whole_on_paper(
    visit: Callable[..., Visit], tmp_path: Path
) -> None:
    names = [f"node-{number:04}.rack-{number % 40}.example.com" for number in range(2000)]
    cluster = gpu_fleet.cluster(
        [gpu_fleet.running(name, []) for name in names], [gpu_fleet.pod("waits", 4)]
    )
    page = visit(viewport=browsers.PAPER).page
    with dashboards.listening(application(None, StillFleet(cluster))) as url:
        for path in ("/fleet?pod=gpu:+4,+cpu:+32", f"/fleet/nodes/{names[0]}"):
            page.goto(url + path)
            _printed(page, tmp_path)


_NAMESPACE: Final = "team-payments-production"
_NODE: Final = f"ip-10-0-{{}}.{_NAMESPACE}.compute.internal"


def _called(name: str, namespace: str) -> tuple[dashboards.ChangingNode, StillFleet]:
    """A node and a fleet with pods of these names, in which ``{}`` is a number; some rejected."""
    config, node = shown_nodes.started("restricted", "4n32c2t")
    pods = [guaranteed(name.format(at), 1 + 7 * at, GIB, namespace) for at in range(6)]
    pods.append(guaranteed(name.format("many"), 200, GIB, namespace))
    view = shown_nodes.view_of(config, node, pods)
    source = dashboards.ChangingNode(view)
    before = replace(view, rows=())
    source.keep([history_points.point(before, view, datetime.now(UTC) - timedelta(minutes=5))])
    held = [gpu_fleet.running(_NODE.format(at), [gpu_fleet.pod(f"p{at}", 3)]) for at in range(6)]
    waiting = replace(gpu_fleet.pod("w", 4), name=name.format("w"), namespace=namespace)
    fleet = gpu_fleet.cluster(held, [waiting])
    rejected = ClusterPod(
        pod=replace(waiting, uid="r", phase="Failed", node_name=_NODE.format(0)),
        controller=Controller("Job", name.format("job")), reason="TopologyAffinityError",
    )  # fmt: skip
    return source, StillFleet(replace(fleet, pods={**fleet.pods, "r": rejected}))


def _visited(page: Page, source: dashboards.ChangingNode, fleet: StillFleet) -> Iterator[str]:
    """Open every kind of page with a table."""
    first, *_, last = source.view().rows
    with dashboards.listening(application(source, fleet)) as url:
        for path in (
            "/", "/node", "/pods", "/history", f"/pods/{first.title}", f"/pods/{last.title}",
            "/fleet?pod=gpu:+4,+cpu:+32", f"/fleet/nodes/{_NODE.format(0)}",
        ):  # fmt: skip
            page.goto(url + path)
            yield path


def test_words_and_ids_stay_whole_on_paper(visit: Callable[..., Visit], tmp_path: Path) -> None:
    page = visit(viewport=browsers.PAPER).page
    name = "checkout-recommendation-service-canary-{}-d4b9c8f6d-x2k4z"
    for _ in _visited(page, *_called(name, _NAMESPACE)):
        _printed(page, tmp_path)


def test_names_without_hyphens_are_not_cut_off_on_paper(visit: Callable[..., Visit]) -> None:
    page = visit(viewport=browsers.PAPER).page
    for path in _visited(page, *_called("x" * 60 + "{}", "y" * 63)):
        page.emulate_media(media="print")
        assert page.evaluate(browsers.CUT_OFF) == [], path
        page.emulate_media(media="null")
