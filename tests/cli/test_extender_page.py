"""The page on the extender has every option with its default, and every path that is served."""

from __future__ import annotations

import re
from typing import Any, Final

from cli import console_page
from numalet.cli import main
from numalet.cluster.extender import app
from running.extender_parts import at_work

_TEXT: Final = (console_page.ROOT / "docs" / "reference" / "extender.md").read_text(
    encoding="utf-8"
)
_ROWS: Final = re.findall(r"^\| (`-[^|]*(?:\\\|[^|]*)*) \| ([^|]*) \| .* \|$", _TEXT, re.MULTILINE)


def _options() -> dict[str, Any]:
    """The defaults of the options by name, without those that every command has."""
    command: Any = main.commands()
    given = command.commands["extender"].params
    return {each.opts[0]: each.default for each in given if each.opts[0] != "--help"}


def test_every_option_is_on_the_page_with_its_default() -> None:
    defaults = {name: text for names, text in _ROWS for name in re.findall(r"--[a-z-]+", names)}
    assert set(defaults) == set(_options())
    for name, default in _options().items():
        shown = getattr(default, "value", default)
        if isinstance(shown, bool):
            assert defaults[name] == "no"
        elif isinstance(shown, float):
            assert defaults[name] == f"`{shown:g}`"
        elif shown not in ("", None):
            assert defaults[name] == f"`{shown}`"


async def test_every_path_is_on_the_page() -> None:
    async with at_work() as extender:
        paths = {getattr(each, "path", "") for each in app.application(extender.state).routes}
    named = set(re.findall(r"^\| `(/[a-z]+)` \| (?:GET|POST) \|", _TEXT, re.MULTILINE))
    assert named == {*paths, "/bind"}
