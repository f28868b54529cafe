"""Writes the tables of ``docs/reference/pod-manifests.md``.

``python -m numalet.io.documents.pods.pod_table.page FILE`` replaces each table between its marks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from numalet.io.documents.pods.pod_table.kinds import Field, FieldUse
from numalet.io.documents.pods.pod_table.table import TYPES

_PLACES: Final = {
    "ObjectMeta": "metadata.",
    "PodSpec": "spec.",
    "PodSecurityContext": "spec.securityContext.",
    "Container": "containers[].",
    "EnvVar": "containers[].env[].",
    "ContainerPort": "containers[].ports[].",
    "ResourceRequirements": "containers[].resources.",
    "SecurityContext": "containers[].securityContext.",
}
_MARK: Final = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def tables() -> Mapping[str, str]:
    """The tables in Markdown, by the use of their fields."""
    rows: dict[FieldUse, dict[str, list[str]]] = {use: {} for use in FieldUse}
    for path, field in _fields():
        if field.use is not None:
            rows[field.use].setdefault(_text(field), []).append(path)
    return {use.value: _table(rows[use]) for use in FieldUse}


def filled(page: str) -> str:
    by_mark = tables()
    return _MARK.sub(lambda mark: f"{mark[1]}{by_mark[mark[2]]}{mark[3]}", page)


def _fields() -> Iterator[tuple[str, Field]]:
    for kind, place in _PLACES.items():
        for name, field in TYPES[kind].fields.items():
            yield f"{place}{name}", field


def _text(field: Field) -> str:
    rule = f"Under the rule `{field.rule}` only; else ignored." if field.rule else ""
    return " ".join(part for part in (field.words, rule) if part)


def _table(paths_by_text: Mapping[str, list[str]]) -> str:
    rows = "".join(
        f"| {', '.join(f'`{path}`' for path in sorted(paths))} | {text} |\n"
        for text, paths in paths_by_text.items()
    )
    return f"| field | here |\n|---|---|\n{rows}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m numalet.io.documents.pods.pod_table.page FILE")
    page = Path(sys.argv[1])
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
