"""Every test of a command sees 80 columns and no colour."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.commands import Runner
from numalet.io import kubelets


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same terminal wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def no_kubelet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kubelet runs, whatever other tests start at the same time."""
    monkeypatch.setattr(kubelets, "PROC", tmp_path / "no-proc")


@pytest.fixture
def numalet(capsys: pytest.CaptureFixture[str]) -> Runner:
    """Runs command lines in this process."""
    return Runner(capsys)
