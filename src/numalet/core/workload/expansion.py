"""``$(NAME)`` in a container's words: replaced by the value of an environment variable.

A name that is not defined stays as it is written, so a shell's own ``$(...)`` survives; ``$$``
stands for one ``$``. Kubernetes: the fields ``command``, ``args`` and ``env[].value`` of a
container, v1.32.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:(?P<dollar>\$)|\((?P<name>[^)]*)\))")


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with every reference to a defined variable replaced."""

    def value(match: re.Match[str]) -> str:
        return "$" if match["dollar"] else environment.get(match["name"], match[0])

    return _REFERENCE.sub(value, text)


def expanded_environment(variables: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The variables in their order; each may refer to those before it."""
    known: dict[str, str] = {}
    result: list[tuple[str, str]] = []
    for name, text in variables:
        known[name] = expanded(text, known)
        result.append((name, known[name]))
    return tuple(result)
