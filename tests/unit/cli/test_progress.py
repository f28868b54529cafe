"""What a terminal shows of work that reports no steps."""

from __future__ import annotations

import io
import sys
import threading

import pytest

from numalet.cli import progress


class Watched(io.StringIO):
    """A stream that somebody watches."""

    def __init__(self) -> None:
        super().__init__()
        self.drawn = threading.Event()

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        self.drawn.set()


def test_the_time_is_shown_late_and_wiped_away(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()
    monkeypatch.setattr(sys, "stderr", watched)
    with progress.waiting("reading"):
        assert watched.drawn.wait(60)
    assert watched.getvalue().startswith("\r\x1b[Kreading (")
    assert watched.getvalue().endswith(" s)\r\x1b[K")


def test_work_that_is_done_at_once_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched()
    monkeypatch.setattr(sys, "stderr", watched)
    monkeypatch.setattr(progress, "_FIRST", 60.0)
    with progress.waiting("reading"):
        pass
    assert watched.getvalue() == ""


def test_where_nobody_watches_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    unwatched = io.StringIO()
    monkeypatch.setattr(sys, "stderr", unwatched)
    before = threading.active_count()
    with progress.waiting("reading"):
        assert threading.active_count() == before
    assert unwatched.getvalue() == ""
