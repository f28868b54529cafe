"""Findings on an extender: its address, and requests that cannot be answered."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class ExtenderBodyUnreadable(Finding):
    sentence = "the request can not be read: {problem}"
    problem: str
