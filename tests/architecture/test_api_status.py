"""What a code of an API server means is said once: ``io/kube_api/answers.py`` compares codes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from architecture import tree

ANSWERS = tree.SOURCE / "io" / "kube_api" / "answers.py"


def _compared(module: ast.Module) -> Iterator[int]:
    """Lines on which the code of a status is compared with anything."""
    for node in ast.walk(module):
        if isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                if isinstance(side, ast.Attribute) and side.attr == "code":
                    of = side.value
                    name = of.attr if isinstance(of, ast.Attribute) else getattr(of, "id", "")
                    if name == "status":
                        yield node.lineno


def test_comparisons_are_seen() -> None:
    seen = ast.parse(
        "a = refused.status.code in (403, 404)\nb = 409 != status.code\nc = x.code == 1"
    )
    assert list(_compared(seen)) == [1, 2]


def test_codes_of_api_servers_are_compared_in_one_place() -> None:
    elsewhere = [
        f"{tree.relative(path)}:{line}"
        for path in tree.modules()
        if path != ANSWERS
        for line in _compared(tree.parsed(path))
    ]
    assert elsewhere == []
