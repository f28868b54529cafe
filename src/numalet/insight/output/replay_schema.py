"""The schema of ``numalet replay -o json``: counts by file, and first differences.

The command builds plain data; here its shape is written down once more as types, from which the
JSON Schema in ``docs/schemas`` is generated.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET

from numalet.insight.output import json_schema
from numalet.insight.output.json_schema import OutputDocument, Schema


class FailureDocument(OutputDocument):
    """A scenario that did not come out as recorded, and the first difference.

    ``line`` is null in a YAML file. A side that has nothing there is left out.
    """

    name: str
    line: int | None
    path: str
    expected: Any = UNSET
    actual: Any = UNSET


class ReplayFileDocument(OutputDocument):
    """One file; ``problems`` are sentences about what can not be used in it."""

    file: str
    passed: int
    failed: int
    skipped: int
    skipped_because: dict[str, int]
    failures: list[FailureDocument]
    problems: list[str]


class ReplayDocument(OutputDocument):
    """What became of recorded scenarios; the counts are over all files."""

    schema: Literal["numalet.replay/1"]
    files: list[ReplayFileDocument]
    passed: int
    failed: int
    skipped: int


def replay() -> Schema:
    """The JSON Schema of a replay."""
    return json_schema.of(ReplayDocument)
