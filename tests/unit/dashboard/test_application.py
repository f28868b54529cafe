"""The dashboard's application over a view: pages, files, and what is not there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx

import numalet
from numalet.core.config.kubelet_config import KubeletConfig
from numalet.core.model.pod import ContainerKey
from numalet.core.node.node import Node
from numalet.dashboard.answers import POLICY
from numalet.dashboard.application import application
from numalet.dashboard.sources import HistoryPoint, NodeView, SourceKind
from numalet.insight.maps import node_map

_AT = datetime(2026, 1, 1, tzinfo=UTC)


class _Still:
    """A source of one view that never changes."""

    def view(self) -> NodeView:
        config = KubeletConfig()
        node = numalet.start_node(config, numalet.open_machine("2n4c2t", memory_per_node="8Gi"))
        assert isinstance(node, Node)
        return NodeView(
            title="a<b", kind=SourceKind.SIMULATED, revision=1, at=_AT,
            node=node, config=config, chart=node_map.of_node(node, "a<b"),
        )  # fmt: skip

    async def changed(self) -> None:
        """Never."""

    def history(self) -> Sequence[HistoryPoint]:
        return ()

    def log_path(self, key: ContainerKey) -> Path | None:
        return None


def _client() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(application(_Still()))
    return httpx.AsyncClient(transport=transport, base_url="http://dashboard")


async def test_the_page_of_a_node() -> None:
    async with _client() as client:
        answer = await client.get("/node")
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"] == POLICY
        assert "<svg" in answer.text
        assert "a&lt;b" in answer.text


async def test_files_and_what_is_not_there() -> None:
    async with _client() as client:
        assert (
            (await client.get("/static/lighting.js"))
            .headers["content-type"]
            .startswith("text/javascript")
        )
        assert (await client.get("/static/tokens.css")).text.startswith(":root")
        assert (await client.get("/static/../sources.py")).status_code == 404
        assert (await client.get("/static/file.html")).status_code == 404


class _Broken(_Still):
    """A source whose history can not be read, by a bug."""

    def history(self) -> Sequence[HistoryPoint]:
        raise ZeroDivisionError("the <bug>")


async def test_a_bug_of_a_page_has_a_number_and_the_rest_goes_on() -> None:
    bugs: list[Exception] = []
    transport = httpx.ASGITransport(
        application(_Broken(), report_bug=bugs.append), raise_app_exceptions=False
    )
    async with httpx.AsyncClient(transport=transport, base_url="http://dashboard") as client:
        for count in (1, 2):
            answer = await client.get("/history")
            assert answer.status_code == 500
            assert answer.headers["content-security-policy"] == POLICY
            (note,) = bugs[-1].__notes__
            assert len(bugs) == count
            assert f"Its report is {note.removeprefix('report ')}:" in answer.text
            assert "ZeroDivision" not in answer.text
            assert "the &lt;bug" not in answer.text
        assert (await client.get("/node")).status_code == 200
        assert (await client.get("/pods")).status_code == 200
    assert bugs[0].__notes__ != bugs[1].__notes__
