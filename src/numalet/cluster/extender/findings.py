"""Findings on an extender: its address, and requests that cannot be answered."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class ExtenderBodyUnreadable(Finding):
    sentence = "cannot read the request: {problem}"
    problem: str
