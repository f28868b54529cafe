"""Every change reaches the page, on a small and on a large node.

How soon a change is seen, and how much work it is for the browser, is printed and decides nothing.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import pytest
from playwright.sync_api import CDPSession, Page, expect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import numalet
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.node.node import Node
from numalet.dashboard import node_views
from numalet.dashboard.application import application
from numalet.dashboard.node_views import ShownNode
from numalet.dashboard.sources import NodeView, PodRow, SourceKind
from running import dashboards
from running.browsers import Visit
from values.shown_nodes import AT, GIB, guaranteed

_CHANGES: Final = 20
_PATIENCE_SECONDS: Final = 60
_SEEN: Final = """() => {
  window.seen = {};
  new MutationObserver(() => {
    window.seen[document.querySelector("#standing .name").textContent] ??= Date.now() / 1000;
  }).observe(document.getElementById("standing"), {subtree: true, childList: true,
                                                   characterData: true});
}"""
"""Keeps the moment at which each title of the node came into the page."""


class _Noting:
    """An application that notes when it sends each event, by the clock of the server."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sent_at: dict[int, float] = {}
        self._news = threading.Condition()

    def sent_at(self, revision: int) -> float:
        """When the first event with this revision was sent, once it was."""
        with self._news:
            assert self._news.wait_for(lambda: revision in self._sent_at, _PATIENCE_SECONDS)
            return self._sent_at[revision]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noting(message: Message) -> None:
            body = message.get("body", b"")
            await send(message)
            if body.startswith(b"data:"):
                revision = int(body.rpartition(b":")[2].strip(b" }\n"))
                with self._news:
                    self._sent_at.setdefault(revision, time.time())
                    self._news.notify_all()

        await self._app(scope, receive, noting)


def test_each_change_reaches_the_page(page: Page) -> None:
    view = dashboards.node_view()
    source = dashboards.ChangingNode(view)
    noting = _Noting(application(source))
    events, pages = [], []
    with dashboards.listening(noting) as url:
        page.goto(f"{url}/node")
        expect(page.locator("#live")).to_have_text("live")
        page.evaluate(_SEEN)
        for number in range(_CHANGES):
            title = f"node-a {number}"
            changed_at = time.time()
            source.show(replace(view, revision=2 + number, title=title))
            page.wait_for_function("title => window.seen[title]", arg=title)
            events.append(noting.sent_at(2 + number) - changed_at)
            pages.append(page.evaluate("title => window.seen[title]", title) - changed_at)
    print(  # noqa: T201
        f"\nafter a change: event {statistics.median(events):.2f} s, at most {max(events):.2f} s;"
        f" page {statistics.median(pages):.2f} s, at most {max(pages):.2f} s"
    )
    assert len(pages) == _CHANGES


@dataclass(frozen=True)
class _Work:
    """What a page was to the main thread of a browser, in seconds."""

    script: float
    rendering: float

    @property
    def total(self) -> float:
        return self.script + self.rendering


def _work(session: CDPSession) -> _Work:
    answer: dict[str, Any] = session.send("Performance.getMetrics")
    of = {each["name"]: each["value"] for each in answer["metrics"]}
    # Whatever a task does beside scripts is style, layout, painting and parsing.
    return _Work(of["ScriptDuration"], of["TaskDuration"] - of["ScriptDuration"])


def _of_changes(page: Page, url: str, show: Callable[[int], str]) -> _Work:
    """The work of all changes, after the page is there."""
    page.goto(url)
    expect(page.locator("#live")).to_have_text("live")
    page.evaluate(_SEEN)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")
    before = _work(session)
    for number in range(_CHANGES):
        page.wait_for_function("title => window.seen[title]", arg=show(number))
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    after = _work(session)
    return _Work(after.script - before.script, after.rendering - before.rendering)


def _views(shape: str, count: int) -> Iterator[NodeView]:
    """A node with so many pods, and the same without each of the last ones in turn."""
    config = KubeletConfig(
        cpu_manager_policy="static", max_pods=2000, topology_manager_policy="none",
        kube_reserved={"cpu": "1", "memory": "1Gi"},
    )  # fmt: skip
    node = numalet.start_node(config, numalet.open_machine(shape, memory_per_node="64Gi"))
    assert isinstance(node, Node), node
    pods = [guaranteed(f"pod-{number}", 1, GIB, f"team-{number % 9}") for number in range(count)]
    for pod in pods:
        node, decision = node.admit(pod)
        assert decision.admitted
        node = node.pod_started(pod.uid)
    for number in range(_CHANGES):
        gone = pods[-1 - number] if pods else None
        left = node if gone is None else node.remove(gone.uid).release_stale()
        rows = [PodRow(pod=pod, status="Running", created_at=AT) for pod in pods if pod is not gone]
        shown = ShownNode(f"node-a {number}", SourceKind.SIMULATED)
        yield node_views.view(shown, 2 + number, AT, left, config, rows)


@cache
def _large_views() -> list[NodeView]:
    return [*_views("64n16c2t", 1001)]


@pytest.mark.parametrize("path", ["/node", "/pods"])
def test_each_change_of_a_large_node_reaches_the_page(
    visit: Callable[..., Visit], path: str
) -> None:
    """Sixty-four NUMA nodes and a thousand pods, against a node on which nothing is."""
    opened = visit(viewport={"width": 1280, "height": 800})
    opened.expected.append("ERR_")  # The server of the empty node goes.
    page, work = opened.page, {}
    for name, views in (("empty", [*_views("1n1c1t", 0)]), ("large", _large_views())):
        source = dashboards.ChangingNode(replace(views[0], revision=1, title="first"))

        def show(number: int, source: Any = source, views: Any = views) -> str:
            source.show(views[number])
            return str(views[number].title)

        with dashboards.listening(application(source)) as url:
            work[name] = _of_changes(page, url + path, show)
            # No task was left out: what the last change says is on the page.
            marks = page.locator("main [data-pod]").evaluate_all(
                "all => new Set(all.map(each => each.dataset.pod)).size"
            )
            assert marks == len(views[-1].rows)
    large, empty = work["large"], work["empty"]
    print(  # noqa: T201
        f"\n{path}, each of {_CHANGES} changes: scripts {1000 * large.script / _CHANGES:.0f} ms,"
        f" rendering {1000 * large.rendering / _CHANGES:.0f} ms;"
        f" {large.total / empty.total:.0f} times the work of an empty page"
    )
