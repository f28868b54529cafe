"""What ``import numalet`` offers, by the docstrings: directives for Sphinx, name by name."""

from __future__ import annotations

import inspect

import numalet
from site_source import markdown


def made() -> str:
    """Values first, then classes, then functions, each by the alphabet."""
    sections: dict[str, list[str]] = {"Values": [], "Classes": [], "Functions": []}
    for name in sorted(numalet.__all__, key=str.lower):
        value = getattr(numalet, name)
        if inspect.isclass(value):
            sections["Classes"].append(f".. autoclass:: numalet.{name}")
        elif callable(value):
            sections["Functions"].append(f".. autofunction:: numalet.{name}")
        elif hasattr(value, "__origin__") or inspect.ismodule(value):
            sections["Values"].append(f".. py:data:: numalet.{name}")
        else:
            sections["Values"].append(f".. autodata:: numalet.{name}\n   :no-value:")
    blocks = {
        title: markdown.block("\n\n".join(lines), "{eval-rst}") for title, lines in sections.items()
    }
    return "\n".join(f"## {title}\n\n{block}" for title, block in blocks.items())
