"""Notebooks as pages: their texts, their code, and what they showed when they were run last."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


def page(notebook: Path) -> str:
    """The notebook as a page of Markdown; pictures and tables are in it as they are."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _parts(cell)) + "\n"


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = output["data"]
        if "text/html" in data:
            yield f"````{{raw}} html\n{''.join(data['text/html'])}\n````"
        else:
            yield f"```text\n{''.join(data['text/plain'])}\n```"
