"""What ``numalet doctor cluster -o json`` prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from numalet.core.model.findings import Severity
from numalet.insight.lint.rows import FindingRow
from numalet.insight.output import check_document
from numalet.insight.output.check_document import CheckFindingDocument

SCHEMA: Final = "numalet.doctor/2"


class DoctorDocument(msgspec.Struct, kw_only=True):
    """What is wrong with a cluster. A number is null where the API server did not say."""

    schema: Literal["numalet.doctor/2"]
    server: str
    version: str
    nodes: int | None
    numa_nodes: int | None
    classes: int | None
    counts: dict[str, int]
    findings: list[CheckFindingDocument]


def of(
    server: str,
    version: str,
    *,
    nodes: int | None,
    numa_nodes: int | None,
    classes: int | None,
    rows: Sequence[FindingRow],
) -> DoctorDocument:
    return DoctorDocument(
        schema=SCHEMA,
        server=server,
        version=version,
        nodes=nodes,
        numa_nodes=numa_nodes,
        classes=classes,
        counts={each.value: sum(row.severity is each for row in rows) for each in Severity},
        findings=[check_document.of_row(row) for row in rows],
    )
