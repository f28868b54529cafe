"""Appends to a file of recorded scenarios, one JSON document per line.

It is read first, so that an unusable file is reported before anything is written, and replaced as a
whole, so that readers never see half a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from numalet.core.model import input_error
from numalet.core.model.findings import Location
from numalet.core.model.value import Value
from numalet.io.documents.text import yaml_source
from numalet.io.files import atomic

SUFFIX: Final = ".jsonl"


class Recording(Value):
    path: Path
    text: str

    def append(self, document: Mapping[str, Any]) -> None:
        """Append one document. Raises ``BadInput`` if the file is not writable."""
        before = self.text if self.text.endswith("\n") or not self.text else f"{self.text}\n"
        atomic.write_text(self.path, f"{before}{json.dumps(document)}\n")


def read(path: Path) -> Recording:
    """A missing file is empty. Raises ``BadInput`` for another suffix or an unreadable file."""
    if path.suffix != SUFFIX:
        where = Location("--record")
        raise input_error.Invalid(
            f"invalid file name {str(path)!r}", expected="a name that ends with .jsonl", where=where
        ).bad_input()
    return Recording(path, yaml_source.read_text(path) if path.exists() else "")
