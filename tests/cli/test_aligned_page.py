"""The page on CPUs and devices shows real commands with real output."""

from __future__ import annotations

import pytest

from cli import console_page

SHOWN = console_page.shown("cpus-and-devices.md")


@pytest.mark.slow
@pytest.mark.parametrize(("command", "expected"), SHOWN)
def test_a_command_prints_what_the_page_says(command: str, expected: str) -> None:
    folder = console_page.ROOT / "examples" / "aligned"

    assert expected == console_page.printed(command, folder)


def test_the_page_has_commands() -> None:
    assert len(SHOWN) > 6
