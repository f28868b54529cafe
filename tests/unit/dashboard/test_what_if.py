"""The page What if: answers, links, and what is refused."""

from __future__ import annotations

import base64
import re
import threading
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlsplit

import anyio
import httpx
import pytest
from starlette.applications import Starlette

import numalet
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.managers.device.inventory import Device
from numalet.core.model.pod import ContainerKey
from numalet.core.node.node import Node
from numalet.dashboard import what_if, what_if_pages
from numalet.dashboard.answers import ShownSources
from numalet.dashboard.sources import HistoryPoint, NodeView, SourceKind
from numalet.dashboard.what_if import WhatIfAnswer, WhatIfQuestion, samples
from numalet.insight.maps import node_map
from numalet.wording import kubernetes_api as words
from values import shown_nodes

_AT = datetime(2026, 1, 1, tzinfo=UTC)
_CONFIG = KubeletConfig(
    cpu_manager_policy="static",
    topology_manager_policy="single-numa-node",
    reserved_system_cpus="0",
)


def _view() -> NodeView:
    node = numalet.start_node(
        _CONFIG,
        numalet.open_machine("2n4c2t", memory_per_node="8Gi"),
        devices={"example.org/gpu": (Device("a", (0,)),)},
    )
    assert isinstance(node, Node)
    return NodeView(
        title="node", kind=SourceKind.SIMULATED, revision=1, at=_AT,
        node=node, config=_CONFIG, chart=node_map.of_node(node, "node"),
    )  # fmt: skip


class _StillNode:
    """A source of one view."""

    def __init__(self) -> None:
        self._view = _view()

    def view(self) -> NodeView:
        return self._view

    async def changed(self) -> None:
        """Never."""

    def history(self) -> Sequence[HistoryPoint]:
        return ()

    def log_path(self, key: ContainerKey) -> Path | None:
        return None


def _client() -> httpx.AsyncClient:
    shown = ShownSources(node=_StillNode(), fleet=None, clock=lambda: _AT)
    app = Starlette(routes=list(what_if_pages.routes(shown)))
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://dashboard", follow_redirects=True
    )


def _manifest(cpus: int, name: str = "asked") -> str:
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name!r}}}\nspec:\n  containers:\n"
        "  - name: main\n    image: image\n"
        f"    resources: {{limits: {{cpu: {cpus}, memory: 1Gi}}}}\n"
    )


async def test_the_empty_form_has_samples_and_each_is_answered() -> None:
    async with _client() as client:
        page = await client.get("/what-if")
        assert page.status_code == 200
        for sample in samples(_view().chart):
            assert sample.title in page.text
            answer = await client.get(f"/what-if?sample={sample.name}")
            assert answer.status_code == 200
            wanted = "would be rejected" if sample.name == "larger" else "would be admitted"
            assert wanted in answer.text
    assert [each.name for each in samples(_view().chart)] == [
        *("half", "device", "larger", "burstable")
    ]


async def test_a_posted_manifest_becomes_a_link_that_answers_the_same() -> None:
    async with _client() as client:
        answer = await client.post("/what-if", data={"manifest": _manifest(2), "policy": ""})
        assert answer.status_code == 200
        assert "default/asked would be admitted" in answer.text
        assert 'data-pod="what-if-0"' in answer.text
        assert answer.url.query.startswith(b"m=")
        again = await client.get(str(answer.url))
        assert again.text == answer.text
        assert 'data-copies="link"' in again.text


async def test_a_refused_pod_has_hints_and_ways_out_that_are_drawn() -> None:
    async with _client() as client:
        answer = await client.post("/what-if", data={"manifest": _manifest(10)})
        assert "default/asked would be rejected" in answer.text
        assert "TopologyAffinityError" in answer.text
        assert "Hints for main" in answer.text
        assert answer.text.count("<svg") == 2  # The node, and the matrix of hints.
        assert 'data-pod="what-if-0"' not in answer.text
        way = "topology policy none, which aligns nothing"
        shown = await client.get(f"{answer.url}&way={quote(way)}")
        assert "what it would look like if: " + way in shown.text
        assert 'data-pod="what-if-0"' in shown.text
        gone = await client.get(f"{answer.url}&way=nothing")
        assert "not there any more" in gone.text


async def test_another_policy_is_asked_in_thought() -> None:
    async with _client() as client:
        data = {"manifest": _manifest(10), "policy": "best-effort"}
        answer = await client.post("/what-if", data=data)
        assert "default/asked would be admitted" in answer.text
        assert "policy=best-effort" in str(answer.url)
        assert (await client.get("/what-if?policy=odd")).status_code == 400
        assert (await client.get("/what-if?scope=odd")).status_code == 400


async def test_what_is_wrong_is_said_with_its_line() -> None:
    async with _client() as client:
        broken = await client.post("/what-if", data={"manifest": "kind: Pod\n\tbad: ["})
        assert broken.status_code == 422
        assert "manifest:2" in broken.text
        odd = _manifest(2) + "  nonsense: 1\n"
        warned = await client.post("/what-if", data={"manifest": odd})
        assert "manifest:5: $.spec" in warned.text
        none = await client.post("/what-if", data={"manifest": "kind: Service"})
        assert "contains no pod" in none.text


async def test_markup_is_text() -> None:
    async with _client() as client:
        text = "</textarea><script>alert(1)</script>"
        answer = await client.post("/what-if", data={"manifest": _manifest(2, text)})
        assert "<script>alert" not in answer.text
        assert "&lt;script&gt;alert" in answer.text


async def test_several_pods_ask_one_after_the_other() -> None:
    async with _client() as client:
        both = _manifest(7, "one") + "---\n" + _manifest(7, "two") + "---\n" + _manifest(7, "six")
        answer = await client.post("/what-if", data={"manifest": both})
        assert re.search("default/(six|two) would be rejected", answer.text)
        first = await client.get(f"{answer.url}&pod=0")
        assert "default/one would be admitted" in first.text
        many = "---\n".join(_manifest(1, f"p{at}") for at in range(101))
        assert "are too many" in (await client.post("/what-if", data={"manifest": many})).text


async def test_bounds_of_forms() -> None:
    async with _client() as client:
        large = await client.post("/what-if", data={"manifest": "x" * 10_000_000})
        assert large.status_code == 413
        assert words.TOO_LARGE.format(limit_bytes=words.LARGEST_BODY_BYTES) in large.text
        over = await client.post("/what-if", data={"manifest": "x" * (3 * 1024 * 1024 + 1)})
        assert over.status_code == 413
        odd = await client.post("/what-if", data={f"f{at}": "1" for at in range(20)})
        assert odd.status_code == 400
        # Too long for a link, and answered all the same.
        noise = "".join(chr(33 + at * at % 89) + str(at * 7919) for at in range(9000))
        padded = _manifest(2) + "# " + noise + "\n"
        kept = await client.post("/what-if", data={"manifest": padded})
        assert "would be admitted" in kept.text
        assert "too long for a link" in kept.text
        assert (await client.post("/what-if", data={"manifest": " "})).status_code == 200


async def test_links_that_are_no_questions() -> None:
    bomb = base64.urlsafe_b64encode(zlib.compress(b"x" * 10_000_000, 9)).decode()
    cut = base64.urlsafe_b64encode(zlib.compress(b"kind: Pod" * 9)[:-3]).decode()
    async with _client() as client:
        for coded in ("a" * 9_000, "a", "!!!!", bomb[:8_000], bomb[:7_999], cut, "AAAA"):
            answer = await client.get("/what-if", params={"m": coded})
            assert answer.status_code == 400
            assert "damaged or too long" in answer.text
        unknown = await client.get("/what-if?uid=none")
        assert "does not know this pod" in unknown.text


def test_a_link_comes_back_as_the_manifest() -> None:
    link = what_if.link_to_manifest("/ui", _manifest(2), "restricted", "pod")
    assert link is not None
    assert link.startswith("/ui/what-if?m=")
    assert link.endswith("&policy=restricted&scope=pod")
    coded = urlsplit(link).query.split("&")[0].removeprefix("m=")
    assert what_if.unpacked_manifest(coded) == _manifest(2)
    assert what_if.link_to_pod("/ui", "a b", "x&y") == "/ui/what-if?uid=a+b&way=x%26y"


async def test_two_are_worked_on_at_once_and_a_third_is_sent_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    may_end = threading.Event()
    begun = threading.Semaphore(0)

    def slow(_view: NodeView, _question: WhatIfQuestion) -> WhatIfAnswer:
        begun.release()
        assert may_end.wait(60)
        return WhatIfAnswer(problem="slow")

    monkeypatch.setattr(what_if, "answer", slow)
    link = what_if.link_to_manifest("", _manifest(2)) or ""
    async with _client() as client, anyio.create_task_group() as group:
        for _ in range(what_if_pages.MOST_AT_ONCE):
            group.start_soon(client.get, link)
        for _ in range(what_if_pages.MOST_AT_ONCE):
            await anyio.to_thread.run_sync(begun.acquire)
        third = await client.get(link)
        may_end.set()
        assert third.status_code == 429
        assert words.BUSY in third.text


def test_what_a_rejected_pod_leaves_behind_is_not_drawn() -> None:
    """The CPUs of this pod are allocated before the Memory Manager refuses it."""
    config, node = shown_nodes.started()
    pods = [shown_nodes.guaranteed("web-0", 2, 4 * shown_nodes.GIB)]
    view = shown_nodes.view_of(config, node, pods)
    answer = what_if.answer(view, WhatIfQuestion(text=_manifest(20).replace("1Gi", "50Gi")))
    (row,) = answer.rows
    assert row.message
    assert "50Gi" in row.cause
    assert answer.chart is not None
    assert [pod.uid for pod in answer.chart.pods] == ["uid-web-0"]


def test_the_node_is_untouched() -> None:
    view = _view()
    before = view.node.snapshot
    what_if.answer(view, WhatIfQuestion(text=_manifest(2), scope="pod"))
    assert view.node.snapshot is before


def test_a_fleet_alone_has_no_such_page() -> None:
    shown = ShownSources(node=None, fleet=None, clock=lambda: _AT)
    assert what_if_pages.routes(shown) == []
