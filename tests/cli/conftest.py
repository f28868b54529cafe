"""Every test of a command sees 80 columns and no colour."""

from __future__ import annotations

import pytest

from cli.commands import Runner


@pytest.fixture(autouse=True)
def plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same terminal wherever the tests run."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def numalet(capsys: pytest.CaptureFixture[str]) -> Runner:
    """Runs command lines in this process."""
    return Runner(capsys)
