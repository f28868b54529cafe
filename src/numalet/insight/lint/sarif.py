"""Findings as SARIF 2.1.0, the format of code hosts and editors.

Every occurring code is a *rule* of the run; every finding is a *result* with the file and line of
its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from numalet.core.model.findings import Location
from numalet.core.model.value import Value
from numalet.insight.lint.rows import FindingRow

VERSION: Final = "2.1.0"
SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"


class SarifRow(Value):
    """A finding, and the file that is used if it has none.

    ``combinations`` names its configurations and machines, if there are several.
    """

    row: FindingRow
    main_file: str = ""
    combinations: tuple[str, ...] = ()


def document(rows: Sequence[SarifRow], tool_version: str) -> dict[str, Any]:
    """Return the log: one run of this program with all results; paths are relative."""
    codes = list(dict.fromkeys(each.row.code for each in rows))
    # Reversed, so that the first row of a code describes its rule.
    by_code = {each.row.code: each.row for each in reversed(rows)}
    driver = {
        "name": "numalet",
        "semanticVersion": tool_version,
        "rules": [_rule(by_code[code]) for code in codes],
    }
    results = [_result(each, codes.index(each.row.code)) for each in rows]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(row: FindingRow) -> dict[str, Any]:
    words = row.code.partition("/")[2].split("-")
    described = {"fullDescription": {"text": row.rule}} if row.rule else {}
    return {
        "id": row.code,
        "name": "".join(word.capitalize() for word in words),
        **described,
        "defaultConfiguration": {"level": row.severity.value},
    }


def _result(each: SarifRow, index: int) -> dict[str, Any]:
    row = each.row
    result = {
        "ruleId": row.code,
        "ruleIndex": index,
        "level": row.severity.value,
        "message": {"text": message(row)},
        "locations": _locations(row.where, each.main_file),
    }
    if each.combinations:
        result["properties"] = {"combinations": list(each.combinations)}
    return result


def message(row: FindingRow) -> str:
    """Return all of a finding except its place, in one paragraph."""
    said = f" The kubelet says: {row.kubelet_text}." if row.kubelet_text else ""
    fix = f" Fix: {row.fix}." if row.fix else ""
    return f"{row.sentence.rstrip('.')}.{said}{fix}"


def _locations(where: Location, main_file: str) -> list[dict[str, Any]]:
    location: dict[str, Any] = {}
    file = where.document if is_file(where) else main_file
    if file:
        # Code hosts require a line of a file, so a finding about a flag or the machine is at the
        # first line of the main file, with a logical location.
        line = where.line if is_file(where) and where.line is not None else 1
        artifact = {"artifactLocation": {"uri": quote(file)}}
        location["physicalLocation"] = {**artifact, "region": {"startLine": line}}
    names = [name for name in (where.path, "" if is_file(where) else where.document) if name]
    if names:
        location["logicalLocations"] = [{"fullyQualifiedName": name} for name in names]
    return [location] if location else []


def is_file(where: Location) -> bool:
    return bool(where.document) and not where.document.startswith("--")
