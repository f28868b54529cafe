"""What the operating system complained of, as it is shown to users."""

from __future__ import annotations

from numalet.core.model.findings import BadInput


def text(error: OSError | BadInput) -> str:
    """The complaint; of a finding that was made of one, the one in it."""
    if isinstance(error, BadInput):
        finding = error.findings[0]
        return str(finding.fields.get("error", finding))
    return error.strerror or str(error)
