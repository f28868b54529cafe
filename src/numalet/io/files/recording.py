"""A file of recorded scenarios, one JSON document per line, to which one more is added.

The file is read when the work begins, so that an unusable one is known before anything else is
written; and it is replaced as a whole, so that a reader never sees half a line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from numalet.core.model.findings import BadInput, Location
from numalet.core.model.value import Value
from numalet.io.documents import yaml_source
from numalet.io.files import atomic
from numalet.io.findings.files import FilesRecordName

SUFFIX: Final = ".jsonl"


class Recording(Value):
    """The file, and the text that was in it."""

    path: Path
    text: str

    def append(self, document: Mapping[str, Any]) -> None:
        """Add one document. Raises ``BadInput`` if the file can not be written."""
        before = self.text if self.text.endswith("\n") or not self.text else f"{self.text}\n"
        atomic.write_text(self.path, f"{before}{json.dumps(document)}\n")


def read(path: Path) -> Recording:
    """The recording in a file, empty if there is none yet.

    Raises:
        BadInput: it has another kind of name, or can not be read.
    """
    if path.suffix != SUFFIX:
        where = Location("--record")
        raise BadInput([FilesRecordName(path=str(path), where=where)])
    return Recording(path, yaml_source.read_text(path) if path.exists() else "")
