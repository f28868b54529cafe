"""The page of tokens and states."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.testclient import TestClient

from numalet.dashboard import application
from numalet.dashboard.answers import ShownSources
from numalet.drawing import design


def test_the_page_has_every_state() -> None:
    shown = ShownSources(node=None, fleet=None, clock=lambda: datetime.now(UTC))
    answer = TestClient(Starlette(routes=application.design_routes(shown))).get("/design")
    assert answer.status_code == 200
    assert [name for name in design.STATES if f"<h3>{name}</h3>" not in answer.text] == []
    # The palette; the rows of NUMA nodes in two widths, and two charts of a history.
    others = 1 + 4
    assert answer.text.count("<svg") == others + len(design.STATES) + len(design.nodes())
    assert [name for name in design.nodes() if f"<h3>{name}</h3>" not in answer.text] == []
