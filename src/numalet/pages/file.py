"""One self-contained HTML file without external resources."""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

from numalet.pages import templating

_STYLES: Final = ("tokens.css", "numalet.css", "parts.css")


def file(title: str, body: Any) -> str:
    """Return the file with this title; ``body`` is markup of a template or a drawing."""
    script = templating.static("lighting.js")
    # The Content-Security-Policy permits only this script, by its digest.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return templating.page(
        "file.html",
        title=title,
        body=body,
        style=templating.trusted("".join(map(templating.static, _STYLES))),
        script=templating.trusted(script),
        script_hash=f"sha256-{digest}",
    )
