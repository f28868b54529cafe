"""Files and functions stay small enough to be read at one go."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from architecture import tree

FILE_LINES = 400
FUNCTION_LINES = 60


def _lines_of_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of what a function does.

    A docstring may explain as long as it needs, and the parameters of a command of the command
    line are a table of its options.
    """
    documented = ast.get_docstring(function, clean=False) is not None
    statements = function.body[1:] if documented else function.body
    if not statements:
        return 0
    assert function.end_lineno is not None
    return function.end_lineno - statements[0].lineno + 1


def _too_long(module: Path) -> list[str]:
    return [
        f"{tree.relative(module)}:{node.lineno} {node.name} has {_lines_of_body(node)}"
        for node in ast.walk(tree.parsed(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and _lines_of_body(node) > FUNCTION_LINES
    ]


def test_no_module_is_longer_than_four_hundred_lines() -> None:
    lengths = {
        tree.relative(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in tree.modules()
    }
    assert {name: lines for name, lines in lengths.items() if lines > FILE_LINES} == {}


def test_no_function_is_longer_than_sixty_lines() -> None:
    assert [finding for module in tree.modules() for finding in _too_long(module)] == []


@pytest.mark.parametrize("docstring", ['    """Long.\n' + "\n" * 50 + '    """\n', ""])
def test_a_docstring_does_not_count_as_length(docstring: str) -> None:
    source = f"def f() -> None:\n{docstring}    pass\n"
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert _lines_of_body(function) == 1


def test_every_line_of_a_body_counts() -> None:
    body = "    pass\n\n" * 3
    function = ast.parse(f'def f(\n    a: int,\n) -> None:\n    """Doc."""\n{body}').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert _lines_of_body(function) == 5
