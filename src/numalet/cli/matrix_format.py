"""Output formats of ``numalet what-if``, in a module that imports little."""

from __future__ import annotations

from enum import StrEnum


class MatrixFormat(StrEnum):
    TABLE = "table"
    CSV = "csv"
    JSON = "json"
