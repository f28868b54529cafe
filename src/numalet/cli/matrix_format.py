"""The forms in which ``numalet what-if`` prints; known before anything heavy is loaded."""

from __future__ import annotations

from enum import StrEnum


class MatrixFormat(StrEnum):
    """How a matrix is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
