"""Findings on a breaker's audit."""

from __future__ import annotations

from numalet.core.model.findings import Finding


class BreakerAuditUnwritable(Finding):
    sentence = "the audit can not be written to {file}: {problem}"
    mend = "name another file with --audit FILE, or leave it out for the standard output"
    file: str
    problem: str
