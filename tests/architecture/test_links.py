"""Relative links between the pages lead somewhere, headings included."""

from __future__ import annotations

import re
from pathlib import Path

from architecture import tree

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = ("http://", "https://", "mailto:")


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, made as GitHub makes them."""
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(page))
    return {text.replace(" ", "-") for text in words}


def dead_links(page: Path) -> list[str]:
    """Targets of a page that are not there."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = (target for target in _LINK.findall(text) if not target.startswith(_ELSEWHERE))
    return [target for target in targets if not _is_there(page, target)]


def dead_headings(page: Path) -> list[str]:
    """Links of a page that name a heading which the page they lead to does not have."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    dead = []
    for target in _LINK.findall(text):
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if anchor and not target.startswith(_ELSEWHERE) and file.suffix == ".md":
            there = file.read_text(encoding="utf-8") if file.exists() else ""
            dead += [target] if anchor not in anchors(there) else []
    return dead


def _is_there(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists() or not (file == page or file.is_relative_to(tree.ROOT)):
        return False
    return not anchor or anchor in anchors(file.read_text(encoding="utf-8"))


def test_every_relative_link_resolves() -> None:
    assert {tree.relative(page): dead for page in tree.pages() if (dead := dead_links(page))} == {}


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    page = tree.DOCS / "differences.md"
    assert dead_links(page) == []
    broken = tmp_path / "page.md"
    broken.write_text("[a](b.md) [c](https://example.com) [d](#e)\n", encoding="utf-8")
    assert dead_links(broken) == ["b.md", "#e"]


def test_the_readme_names_the_two_commands() -> None:
    readme = (tree.ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


def test_every_make_target_of_the_pages_exists() -> None:
    makefile = (tree.ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    named = {
        (tree.relative(page), target)
        for page in tree.pages()
        for target in re.findall(r"`make ([a-z]+)`", page.read_text(encoding="utf-8"))
    }
    assert set() == {(page, target) for page, target in named if target not in targets}
