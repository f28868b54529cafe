"""Where the sources use the codes of findings and reasons, and with which fields.

A code is a text such as ``memory/no-node-fits``. It is used in one of three ways: as the class
attribute ``code`` of a reason, as the first argument of ``Finding(...)``, or as the first
argument of a collector's ``add(...)``. The fields of a use are known when they are written out
there: the attributes of the reason, the keys of a dictionary display, the keyword arguments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from architecture import tree

CODE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*/[a-z0-9]+(?:-[a-z0-9]+)*")


class Use(NamedTuple):
    """One use of a code; ``fields`` is None where they can not be read off the source."""

    code: str
    fields: frozenset[str] | None
    place: str


@cache
def uses() -> list[Use]:
    """Every use of a code outside the room of sentences."""
    found: list[Use] = []
    for module in tree.modules():
        if "wording" not in module.parts:
            found += _uses_of(module)
    return found


def texts() -> frozenset[str]:
    """Every text of this form outside the room of sentences, used as a code or not."""
    return frozenset(
        node.value
        for module in tree.modules()
        if "wording" not in module.parts
        for node in ast.walk(tree.parsed(module))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value)
    )


def beginnings() -> frozenset[str]:
    """How codes begin that are put together: ``f"machine/archive-{what}"``."""
    return frozenset(
        node.values[0].value
        for module in tree.modules()
        for node in ast.walk(tree.parsed(module))
        if isinstance(node, ast.JoinedStr)
        and isinstance(node.values[0], ast.Constant)
        and isinstance(node.values[0].value, str)
        and re.fullmatch(r"[a-z-]+/[a-z-]*", node.values[0].value)
    )


def _uses_of(module: Path) -> Iterator[Use]:
    for node in ast.walk(tree.parsed(module)):
        place = f"{tree.relative(module)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.ClassDef) and (code := _class_code(node)) is not None:
            yield Use(code, _attributes(node), place)
        elif isinstance(node, ast.Call) and (code := _called_code(node)) is not None:
            yield Use(code, _arguments(node), place)


def _class_code(reason: ast.ClassDef) -> str | None:
    for statement in reason.body:
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and statement.target.id == "code"
        ):
            return _text(statement.value)
    return None


def _attributes(reason: ast.ClassDef) -> frozenset[str]:
    return frozenset(
        statement.target.id
        for statement in reason.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    )


def _called_code(call: ast.Call) -> str | None:
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in ("add", "Finding") or not call.args:
        return None
    text = _text(call.args[0])
    return text if text is not None and CODE.fullmatch(text) else None


def _arguments(call: ast.Call) -> frozenset[str] | None:
    """Fields of ``Finding(code, {...})`` or ``add(code, where, a=...)``."""
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    if getattr(call.func, "id", "") != "Finding":
        return frozenset(keyword.arg for keyword in call.keywords if keyword.arg)
    if len(call.args) < 2:
        return None if call.keywords else frozenset()
    fields = call.args[1]
    if not isinstance(fields, ast.Dict):
        return None
    keys = [_text(key) for key in fields.keys]
    return None if None in keys else frozenset(key for key in keys if key is not None)


def _text(node: ast.expr | None) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None
