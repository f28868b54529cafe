"""The project's own files, for the tests that look at them as text."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "numalet"
TESTS = ROOT / "tests"
DOCS = ROOT / "docs"

_OURS = ("src", "tests", "benchmarks", "docs", "examples")
_TOP = ("*.md", "*.toml", "Makefile", ".pre-commit-config.yaml")
_RECORDED = "data"
"""Folders of this name hold recorded facts, which say what they say."""


def relative(path: Path) -> str:
    """The path as it is written from the root of the project."""
    return path.relative_to(ROOT).as_posix()


def modules() -> list[Path]:
    """Every module of the package, in order."""
    return sorted(SOURCE.rglob("*.py"))


def pages() -> list[Path]:
    """Every Markdown page: those at the root, and the documentation."""
    return sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "tests").rglob("*.md")])


def texts() -> list[Path]:
    """Every text that people of the project write; recorded data is left out."""
    found = [path for pattern in _TOP for path in ROOT.glob(pattern)]
    for folder in _OURS:
        found += [path for path in (ROOT / folder).rglob("*") if _is_text(path)]
    return sorted(found)


def _is_text(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    kinds = {".py", ".md", ".yaml", ".yml", ".json", ".sh", ".toml"}
    return path.suffix in kinds and _RECORDED not in parts and "__pycache__" not in parts


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a module, read once."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def functions(path: Path) -> frozenset[str]:
    """Names of all functions and methods of a module."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(parsed(path)) if isinstance(node, kinds))
