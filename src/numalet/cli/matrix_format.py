"""Output formats of ``numalet what-if``, in a module that imports little."""

from __future__ import annotations

from enum import StrEnum


class MatrixFormat(StrEnum):
    """Output formats of a matrix."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
