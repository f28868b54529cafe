"""What no file of the project says, and what every module says."""

from __future__ import annotations

import ast
import re

from architecture import tree

# Put together from parts, so that this file does not hold what it looks for.
_UNFINISHED = re.compile(
    "|".join(["TO" + "DO", "FIX" + "ME", r"\bXX" + r"X\b", "NotImplemented" + "Error"])
)
_OUTSIDE = re.compile(
    "|".join(["/wo" + "rk/", r"\.\./sha" + "red", "/tmp/st" + "udio", "far" + "m-"])
)
_WORKPLACE = re.compile(r"\bissu[e] #?\d+\b", re.IGNORECASE)


def _lines_with(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{tree.relative(path)}:{number}: {line.strip()}"
        for path in tree.texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if pattern.search(line)
    ]


def test_nothing_is_left_unfinished() -> None:
    assert _lines_with(_UNFINISHED) == []


def test_nothing_names_a_place_outside_the_project() -> None:
    assert _lines_with(_OUTSIDE) == []


def test_nothing_refers_to_the_work_that_made_it() -> None:
    assert _lines_with(_WORKPLACE) == []


def test_every_module_says_why_it_exists() -> None:
    silent = [path for path in tree.modules() if ast.get_docstring(tree.parsed(path)) is None]
    assert [tree.relative(path) for path in silent] == []


def test_every_public_function_and_class_says_what_it_is() -> None:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    silent = [
        f"{tree.relative(path)}:{node.lineno} {node.name}"
        for path in tree.modules()
        for node in tree.parsed(path).body
        if isinstance(node, kinds)
        and not node.name.startswith("_")
        and ast.get_docstring(node) is None
    ]
    assert silent == []


def test_no_two_classes_share_a_name() -> None:
    places: dict[str, list[str]] = {}
    for module in tree.modules():
        for node in tree.parsed(module).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(tree.relative(module))
    generated = "_pb2.py"
    shared = {
        name: where
        for name, where in places.items()
        if len(where) > 1 and not all(each.endswith(generated) for each in where)
    }
    assert not shared
