"""The messages of the page on troubleshooting are those of the kubelet, to the letter."""

from __future__ import annotations

import ast
import re

from architecture import tree

_PAGE = tree.DOCS / "how-to" / "troubleshooting.md"
_FIRST_CELL = re.compile(r"^\| `([^`]+)`", re.MULTILINE)


def _texts() -> str:
    """All string constants of the package."""
    return "\n".join(
        node.value
        for path in tree.modules()
        for node in ast.walk(tree.parsed(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def test_every_message_is_one_that_the_package_has() -> None:
    messages = _FIRST_CELL.findall(_PAGE.read_text(encoding="utf-8"))
    texts = _texts()
    parts = {part.strip() for message in messages for part in message.split("…")} - {""}

    assert len(messages) > 20
    assert {part for part in parts if part not in texts} == set()
