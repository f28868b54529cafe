"""Every document that is printed or read as JSON, with its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from site_source import markdown


def made(docs: Path) -> str:
    """A section for each schema of ``docs/schemas``, with a table for each of its types."""
    parts = []
    for file in sorted((docs / "schemas").glob("*.json")):
        schema = json.loads(file.read_text(encoding="utf-8"))
        parts.append(f"## {file.stem}\n\nThe schema: [{file.name}](../schemas/{file.name}).\n")
        types = schema.get("$defs") or {file.stem: schema}
        for name, each in types.items():
            parts += _type(name, each)
    return "\n".join(parts)


def _type(name: str, each: Mapping[str, Any]) -> Iterator[str]:
    yield f"**{markdown.escaped(name)}**\n"
    if text := each.get("description"):
        yield f"{markdown.escaped(text)}\n"
    fields = each.get("properties")
    if not fields:
        yield f"{_kind(each)}\n"
        return
    required = each.get("required", ())
    yield markdown.table(
        ("Field", "Type", "Meaning"),
        (
            [
                f"`{field}`" + ("" if field in required else ", may be missing"),
                _kind(kind),
                markdown.escaped(kind.get("description", "")),
            ]
            for field, kind in fields.items()
        ),
    )


def _kind(each: Mapping[str, Any]) -> str:
    """The type of a value in words."""
    if "$ref" in each:
        return each["$ref"].rpartition("/")[2].replace("_", "\\_")  # type: ignore[no-any-return]
    for choice in ("anyOf", "oneOf"):
        if choice in each:
            return " or ".join(_kind(one) for one in each[choice])
    if "enum" in each:
        return ", ".join(markdown.code(json.dumps(one)) for one in each["enum"])
    if "const" in each:
        return markdown.code(json.dumps(each["const"]))
    kind = each.get("type", "any value")
    if kind == "array":
        return f"list of {_kind(each.get('items') or {})}"
    if kind == "object" and isinstance(each.get("additionalProperties"), Mapping):
        return f"object of {_kind(each['additionalProperties'])}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
