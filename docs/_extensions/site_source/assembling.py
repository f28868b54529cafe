"""Copies the pages to where the site is built from, fills marks, and leads links there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from os.path import relpath
from pathlib import Path
from typing import Final

from site_source import (
    api,
    commands,
    descriptions,
    exit_status,
    findings,
    metrics,
    notebooks,
    schemas,
)

_PROJECT: Final = "project"
"""Where pages of the root of the project are, such as ARCHITECTURE.md."""
_FILES: Final = "files"
"""Where other files are that a page links to."""
_SHOWN: Final = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
_PARTS: Final = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)$)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(\]\()([^)\s:#]+)((?:#[^)\s]*)?\))")
_MARK: Final = re.compile(r"<!-- made: (\w+) -->\n")


def assemble(docs: Path, target: Path) -> None:
    """Write the source of the site into ``target``, whatever is there already."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(docs, target, ignore=shutil.ignore_patterns("_extensions", "conf.py"))
    root = docs.resolve().parent
    (target / _PROJECT).mkdir()
    makers: Mapping[str, Callable[[], str]] = {
        "api": api.made,
        "commands": commands.made,
        "exit_status": exit_status.made,
        "findings": findings.made,
        "metrics": lambda: metrics.made(docs),
        "schemas": lambda: schemas.made(docs),
    }
    for page in sorted(docs.rglob("*.md")):
        text = _MARK.sub(lambda mark: makers[mark[1]](), page.read_text(encoding="utf-8"))
        place = target / page.relative_to(docs)
        place.write_text(_led(text, page.resolve(), place, root, target), encoding="utf-8")
    for notebook in sorted(docs.rglob("*.ipynb")):
        place = target / notebook.relative_to(docs).with_suffix(".md")
        place.write_text(notebooks.page(notebook), encoding="utf-8")
    for name in _SHOWN:
        page, place = root / name, target / _PROJECT / name
        text = page.read_text(encoding="utf-8")
        place.write_text(_led(text, page, place, root, target), encoding="utf-8")
    folder = target / "reference" / "commands"
    folder.mkdir()
    for name, text in commands.pages().items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    for page in sorted(target.rglob("*.md")):
        page.write_text(descriptions.described(page.read_text(encoding="utf-8")), encoding="utf-8")


def _led(text: str, page: Path, place: Path, root: Path, target: Path) -> str:
    """The text of a page with its links leading to where the site has their files."""
    parts = _PARTS.split(text)
    return "".join(
        part
        if at % 2
        else _LINK.sub(
            lambda link: link[1] + _place_of(link[2], page, place, root, target) + link[3], part
        )
        for at, part in enumerate(parts)
    )


def _place_of(link: str, page: Path, place: Path, root: Path, target: Path) -> str:
    file = (page.parent / link).resolve()
    if not file.exists():
        # It leads to a page that is made.
        return link
    inside = file.relative_to(root)
    if file.is_dir():
        there = _index_of(inside, root, target)
    elif inside.parts[0] == "docs":
        there = target.joinpath(*inside.parts[1:])
    elif inside.as_posix() in _SHOWN:
        there = target / _PROJECT / inside
    elif inside.as_posix() == "README.md":
        there = target / "index.md"
    else:
        there = target / _FILES / inside
        there.parent.mkdir(parents=True, exist_ok=True)
        # A page that is no page of the site is a text to download.
        there = there.with_suffix(".md.txt") if there.suffix == ".md" else there
        shutil.copyfile(file, there)
    return relpath(there, place.parent)


def _index_of(folder: Path, root: Path, target: Path) -> Path:
    """What stands for a folder: a list of the names of its files."""
    listed = sorted(path.name for path in (root / folder).glob("*"))
    there = target / _FILES / f"{'-'.join(folder.parts)}.txt"
    there.parent.mkdir(parents=True, exist_ok=True)
    there.write_text("\n".join([f"{folder.as_posix()}/", *listed]) + "\n", encoding="utf-8")
    return there
