"""Pictures in the documentation are what commands draw now."""

from __future__ import annotations

import pytest

from running import pictures


@pytest.mark.parametrize("name", sorted(pictures.COMMANDS))
def test_a_picture_is_what_the_command_draws(name: str) -> None:
    kept = pictures.FOLDER.joinpath(name).read_text(encoding="utf-8")
    assert kept == pictures.drawn(name), "make pictures"


def test_every_picture_is_made_by_a_command() -> None:
    assert {each.name for each in pictures.FOLDER.iterdir()} == {*pictures.COMMANDS}
