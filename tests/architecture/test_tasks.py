"""Nothing is left at work: whatever begins a task waits for its end.

A request that is under way when its event loop ends is thrown away in the middle of its steps; what
it had begun is complained about later, in whatever happens to run then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from architecture import tree

BEGIN = {"create_task", "ensure_future"}
NOT_IN_SOURCE = {"gather", "wait_for"}
"""The one leaves tasks behind when one fails, the other begins a task of its own."""
FORGETS_ON_PURPOSE = tree.TESTS / "unit" / "harness" / "test_forgotten_exceptions.py"


def complaints(module: ast.Module, forbidden: set[str]) -> Iterator[str]:
    """What may outlive who began it: a line each."""
    awaited = {
        name for node in ast.walk(module) if isinstance(node, ast.Await) for name in _names(node)
    }
    kept_in = {
        name: _last_name(node.func.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("add", "append")
        and node.args
        for name in _names(node.args[0])
    }
    held = {
        call: name
        for node in ast.walk(module)
        for call in _loose(node)
        for name in [_holder(node)]
        if name is not None
    }
    for call in (node for node in ast.walk(module) if isinstance(node, ast.Call)):
        if _is_of_asyncio(call.func, forbidden):
            yield f"{call.lineno}: asyncio.{_last_name(call.func)}"
        name = held.get(call, "")
        if _begins(call) and name not in awaited and kept_in.get(name, "") not in awaited:
            yield f"{call.lineno}: a task that nothing waits for"


def _holder(node: ast.AST) -> str | None:
    """The name that a statement gives to what it makes; "await" where it is awaited at once."""
    match node:
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target):
            return _last_name(target)
        case ast.Await():
            return next(iter(_names(node)), None)
        case _:
            return None


def _loose(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.Await):
        yield from (each for each in ast.walk(node) if _begins(each))


def _begins(node: ast.AST) -> bool:
    """Whether it begins a task that belongs to no group."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    of = _last_name(node.func.value)
    return node.func.attr in BEGIN and (of in ("asyncio", "get_running_loop") or "loop" in of)


def _is_of_asyncio(function: ast.expr, names: set[str]) -> bool:
    return (
        isinstance(function, ast.Attribute)
        and function.attr in names
        and _last_name(function.value) == "asyncio"
    )


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last_name(inner)
        case _:
            return ""


def _names(node: ast.AST) -> set[str]:
    """Every name in it."""
    named = (each for each in ast.walk(node) if isinstance(each, ast.Name | ast.Attribute))
    return {_last_name(each) for each in named}


def _found(paths: Iterable[Path], forbidden: set[str]) -> list[str]:
    return [
        f"{tree.relative(path)}:{each}"
        for path in paths
        if path != FORGETS_ON_PURPOSE and "asyncio" in path.read_text(encoding="utf-8")
        for each in complaints(tree.parsed(path), forbidden)
    ]


def test_no_task_of_the_package_outlives_who_began_it() -> None:
    assert _found(tree.modules(), NOT_IN_SOURCE) == []


def test_no_task_of_a_test_outlives_who_began_it() -> None:
    assert _found(sorted(tree.TESTS.rglob("*.py")), {"gather"}) == []


@pytest.mark.parametrize(
    "text",
    [
        "asyncio.create_task(work())",
        "task = asyncio.create_task(work())",
        "self.task = asyncio.ensure_future(work())\nself.task.cancel()",
        "asyncio.get_running_loop().create_task(work())",
        "self.loop.create_task(work())",
        "await asyncio.gather(one(), two())",
    ],
)
def test_what_may_be_left_is_found(text: str) -> None:
    assert list(complaints(ast.parse(text), {"gather"})) != []


@pytest.mark.parametrize(
    "text",
    [
        "group.create_task(work())",
        "task = asyncio.create_task(work())\nawait task",
        "self.task = loop.create_task(work())\nawait ended(self.task)",
        "task = asyncio.create_task(work())\nspawned.add(task)\nawait ended(*spawned)",
        "calls[key] = asyncio.create_task(work())\nawait ended(*calls.values())",
        "await unless_dead(asyncio.ensure_future(work()))",
    ],
)
def test_what_is_waited_for_is_not(text: str) -> None:
    assert list(complaints(ast.parse(text), {"gather"})) == []
