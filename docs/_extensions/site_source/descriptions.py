"""What search engines and previews of links show of a page: how its first paragraph begins."""

from __future__ import annotations

import json
import re
from typing import Final

_MOST_CHARACTERS: Final = 160
_ASIDE: Final = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)$", re.MULTILINE | re.DOTALL)
_NO_PROSE: Final = ("#", "|", "<", "- ", "* ", "[", "    ")
_LINK: Final = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")


def described(text: str) -> str:
    """The text of a page with its description before it; a page without prose stays as it is."""
    description = of_page(text)
    if not description:
        return text
    head = f"---\nmyst:\n  html_meta:\n    description: {json.dumps(description)}\n---\n\n"
    return head + text


def of_page(text: str) -> str:
    """The first paragraph without markup, at most 160 characters; empty if there is none."""
    for paragraph in _ASIDE.sub("", text).split("\n\n"):
        if paragraph.strip() and not paragraph.lstrip("\n").startswith(_NO_PROSE):
            return _shortened(re.sub(r"[`*\\]", "", _LINK.sub(r"\1", paragraph)))
    return ""


def _shortened(paragraph: str) -> str:
    words = " ".join(paragraph.split()).rstrip(":")
    if len(words) <= _MOST_CHARACTERS:
        return words
    return words[: _MOST_CHARACTERS - 2].rpartition(" ")[0].rstrip(",;:") + " …"
