"""Every code of a finding or reason: what it says, why it is a rule, and the fix."""

from __future__ import annotations

import itertools

from numalet.cli import code_index
from numalet.insight.lint import rows
from site_source import markdown


def made() -> str:
    """A section for each area of codes."""
    parts = []
    for area, group in itertools.groupby(
        code_index.classes().items(), lambda each: each[0].partition("/")[0]
    ):
        parts.append(f"## {area}\n")
        for code, kind in group:
            meaning = rows.meaning(kind)
            parts.append(f"### `{code}`\n\n{markdown.escaped(meaning.sentence)}\n")
            parts += [
                f"{label}: {markdown.escaped(text)}\n"
                for label, text in (("Rule", meaning.rule), ("Fix", meaning.fix))
                if text
            ]
    return "\n".join(parts)
