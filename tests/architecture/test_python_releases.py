"""Patterns that one of the Python releases we support gets wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from architecture import tree

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp, ast.ClassDef)
_INLINED = (ast.ListComp, ast.SetComp, ast.DictComp)


def _clashes(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Names that one comprehension binds and another one in the same scope reads as globals.

    CPython gh-118513: until 3.12.3 the second one raises ``UnboundLocalError``.
    """
    globals_ = {name for node in module.body for name in _defined(node)}
    for scope in ast.walk(module):
        if isinstance(scope, _SCOPES):
            used = [each for child in ast.iter_child_nodes(scope) for each in _used(child, None)]
            bound = {name for name, line in used if line is None}
            for name, line in used:
                if line is not None and name in bound and name in globals_:
                    yield line, name


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [each.asname or each.name for each in node.names]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    return [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]


def _used(node: ast.AST, bound: frozenset[str] | None) -> Iterator[tuple[str, int | None]]:
    """Names in a scope's comprehensions: bound ones without a line, free ones with their line.

    ``bound`` are the names of the comprehensions around the node, None where there are none.
    """
    if isinstance(node, _SCOPES):
        return
    if isinstance(node, ast.Name) and bound is not None and node.id not in bound:
        yield node.id, node.lineno
    if not isinstance(node, _INLINED):
        for child in ast.iter_child_nodes(node):
            yield from _used(child, bound)
        return
    targets = (each for part in node.generators for each in ast.walk(part.target))
    own = frozenset(each.id for each in targets if isinstance(each, ast.Name))
    yield from ((name, None) for name in own)
    # The first iterable belongs to what is around the comprehension.
    first = node.generators[0].iter
    yield from _used(first, bound)
    for child in ast.iter_child_nodes(node):
        for each in (
            ast.iter_child_nodes(child) if isinstance(child, ast.comprehension) else [child]
        ):
            if each is not first:
                yield from _used(each, (bound or frozenset()) | own)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("a = [pod for pod in pods]\n    return {e: pod(e) for e in a}", ["pod"]),
        ("return [{pod(e) for e in a} for a in [[pod for pod in pods]]]", ["pod"]),
        ("a = [pod for pod in pods]\n    return pod(a)", []),
        ("a = [pod for pod in pods]\n    return [e for e in pod(a)]", []),
        ("a = list(pod for pod in pods)\n    return {e: pod(e) for e in a}", []),
        ("a = [pod for pod in pods]\n    return [pod for pod in a if pod]", []),
        ("return [[pod for e in pod] for pod in pods]", []),
    ],
)
def test_the_pattern_is_found(body: str, names: list[str]) -> None:
    module = ast.parse(f"def pod(): ...\ndef tree(pods):\n    {body}\n")
    assert [name for _, name in _clashes(module)] == names


def test_no_comprehension_reads_a_global_that_another_one_binds() -> None:
    found = [
        f"{tree.relative(path)}:{line} {name}"
        for path in tree.modules()
        for line, name in _clashes(tree.parsed(path))
    ]
    assert found == []
