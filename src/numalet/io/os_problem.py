"""Errors of the operating system as texts for users."""

from __future__ import annotations

from numalet.core.model.findings import BadInput


def text(error: OSError | BadInput) -> str:
    """The error's text; for a finding made from an error, the error in it."""
    if isinstance(error, BadInput):
        finding = error.findings[0]
        return str(finding.fields.get("error", finding))
    return error.strerror or str(error)
